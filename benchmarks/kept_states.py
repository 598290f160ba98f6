"""How is a text that was embedded before not embedded again, in the next run of a benchmark?"""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from vademecum.adapters.embedders.e5_convert import ModelFiles
from vademecum.adapters.embedders.e5_tokenizer import E5Tokenizer
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.model.embedding import FloatArray

Ids = NDArray[np.int64]


class Session(Protocol):
    """What `LocalE5` asks of onnxruntime."""

    def get_inputs(self) -> Sequence[Any]: ...

    def get_outputs(self) -> Sequence[Any]: ...

    def run(self, names: None, feeds: Mapping[str, Ids], /) -> Sequence[FloatArray]: ...


class KeptSession:
    """A session that keeps the states of each row of tokens in a file, in half precision.

    A row that it has seen, in this run or an earlier one, is read and not computed: about 800
    bytes a token. Everything behind the graph (pooling, means, signs, weights) is the product's
    own work each time. `computed` counts the rows that were not in the file.
    """

    def __init__(self, session: Session, path: Path, *, revision: str) -> None:
        self._session = session
        self._revision = revision.encode()
        self._lock = Lock()
        self._rows = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = NORMAL")
        self._rows.execute("CREATE TABLE IF NOT EXISTS states (key BLOB PRIMARY KEY, states BLOB)")
        self.computed = 0

    def get_inputs(self) -> Sequence[Any]:
        return self._session.get_inputs()

    def get_outputs(self) -> Sequence[Any]:
        return self._session.get_outputs()

    def run(self, names: None, feeds: Mapping[str, Ids], /) -> list[FloatArray]:
        """Return the last states, shape (rows, longest, d); 0 behind a row's end."""
        lengths = feeds["attention_mask"].sum(axis=1)
        keys = [
            hashlib.blake2b(row[:length].tobytes(), digest_size=16, key=self._revision).digest()
            for row, length in zip(feeds["input_ids"], lengths, strict=True)
        ]
        rows = [self._read(key) for key in keys]
        missing = [i for i, row in enumerate(rows) if row is None]
        if missing:
            fresh = self._session.run(names, feeds)[0]
            for i in missing:
                rows[i] = own = fresh[i, : lengths[i]].astype(np.float16)
                self._write(keys[i], own)
            self.computed += len(missing)
        dimension = self.get_outputs()[0].shape[-1]
        result = np.zeros((len(keys), int(lengths.max()), dimension), np.float32)
        for i, row in enumerate(rows):
            assert row is not None  # read, or computed above
            result[i, : lengths[i]] = row.reshape(-1, dimension)
        return [result]

    def close(self) -> None:
        self._rows.close()

    def _read(self, key: bytes) -> NDArray[np.float16] | None:
        with self._lock:
            found = self._rows.execute("SELECT states FROM states WHERE key = ?", (key,)).fetchone()
        return None if found is None else np.frombuffer(found[0], np.float16)

    def _write(self, key: bytes, states: NDArray[np.float16]) -> None:
        with self._lock:
            self._rows.execute(
                "INSERT OR IGNORE INTO states VALUES (?, ?)", (key, states.tobytes())
            )


def open_kept(files: ModelFiles, folder: Path, *, threads: int) -> tuple[LocalE5, KeptSession]:
    """Return the product's embedder over a session that keeps its states in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(files.graph, options, providers=["CPUExecutionProvider"])
    kept = KeptSession(session, folder / "states.sqlite", revision=files.revision)
    tokenizer = E5Tokenizer.load(
        files.tokenizer, pieces=files.pieces, replacements=files.replacements
    )
    model = LocalE5(session=kept, tokenizer=tokenizer, revision=files.revision, threads=threads)
    return model, kept
