"""How does a cross-encoder that lies in a file score texts for a query?"""

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from vademecum.adapters.embedders.e5_tokenizer import read_core
from vademecum.adapters.embedders.local_e5 import RUN_ERRORS, open_session
from vademecum.adapters.providers import sendable
from vademecum.errors import ModelFileMissing, ModelUnusable

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer

GRAPH, TOKENIZER = "model.onnx", "tokenizer.json"
_MOST_TOKENS: Final = 512
# Hardly a word has so many letters a token: what is behind is not even divided.
_MOST_LETTERS: Final = 16 * _MOST_TOKENS
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")


class CrossEncoder:
    """Reranker over one onnxruntime session. Close it with `aclose` when done.

    Each pair is computed by itself, so that a text has one score whatever is beside it, and who
    stops waiting stops the work after the pair that is under way.
    """

    def __init__(
        self, *, session: "onnxruntime.InferenceSession", tokenizer: "Tokenizer", name: str
    ) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._name = name
        self._names = tuple(given.name for given in session.get_inputs())
        self._lane = ThreadPoolExecutor(1, thread_name_prefix="reranker")

    @classmethod
    def load(cls, path: Path, *, threads: int | None = None) -> "CrossEncoder":
        """Open an ONNX file with the `tokenizer.json` beside it, or a folder with `model.onnx`; by
        default all physical cores compute a pair. One pair is scored to see that it can.

        Raises: ModelFileMissing, ModelFileDamaged, ModelUnusable.
        """
        graph = path / GRAPH if path.is_dir() else path
        words = graph.with_name(TOKENIZER)
        for needed in (graph, words):
            if not needed.is_file():
                raise ModelFileMissing(
                    f"{needed} is not there",
                    hint=f"models.reranker = file:PATH needs a graph and its {TOKENIZER}",
                )
        digest = hashlib.sha256(graph.read_bytes()).hexdigest()[:12]
        found = cls(
            session=open_session(graph, threads or 0),
            tokenizer=_limited(read_core(words, plain=True)),
            name=f"file:{path}@{digest}",
        )
        try:
            found.check()
        except ModelUnusable:
            found.close()
            raise
        return found

    @property
    def name(self) -> str:
        """See `Reranker.name`. The path, with the beginning of the graph's sha256."""
        return self._name

    def check(self) -> None:
        """Raise ModelUnusable where the graph wants what a tokenizer does not give, or gives other
        than one number a pair: two would not say which of them is the score."""
        if unknown := [name for name in self._names if name not in _INPUTS]:
            raise ModelUnusable(
                f"{self._name} wants the input {unknown[0]}",
                hint=f"A cross-encoder takes {', '.join(_INPUTS)}",
            )
        self._score("question", "text")

    def close(self) -> None:
        """Wait for the pair that is being computed, drop what is queued."""
        self._lane.shutdown(cancel_futures=True)

    async def aclose(self) -> None:
        await asyncio.to_thread(self.close)

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """See `Reranker.scores`. Pairs are computed one after the other; those of several calls
        take turns."""
        loop = asyncio.get_running_loop()
        found: list[float | None] = []
        for text in texts:
            readable = bool(query.strip() and text.strip())
            found.append(
                await loop.run_in_executor(self._lane, self._score, query, text)
                if readable
                else None
            )
        return found

    def _score(self, query: str, text: str) -> float:
        pair = self._tokenizer.encode(
            sendable(query[:_MOST_LETTERS]), sendable(text[:_MOST_LETTERS])
        )
        given = dict(zip(_INPUTS, (pair.ids, pair.attention_mask, pair.type_ids), strict=True))
        feeds = {name: np.array([given[name]], np.int64) for name in self._names}
        try:
            output = np.asarray(self._session.run(None, feeds)[0], np.float64).reshape(-1)
        except (*RUN_ERRORS, ValueError, TypeError) as error:
            raise ModelUnusable(
                f"{self._name} cannot score a pair: {type(error).__name__}",
                hint="Check that its tokenizer.json is the graph's own",
            ) from None
        if len(output) != 1:
            raise ModelUnusable(
                f"{self._name} gives {len(output)} numbers a pair, not one score",
                hint="Use a cross-encoder with one output",
            )
        if not np.isfinite(output[0]):
            raise ModelUnusable(
                f"{self._name} gave a score that is no finite number", hint="Try another graph"
            )
        return float(output[0])


def _limited(tokenizer: "Tokenizer") -> "Tokenizer":
    """Return the tokenizer so that a pair fits, the longer of the two cut first, and so that no
    text can spell a special token."""
    own = tokenizer.truncation
    most = min(_MOST_TOKENS, own["max_length"]) if own else _MOST_TOKENS
    tokenizer.enable_truncation(most, strategy="longest_first")
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer
