"""Which tokens does multilingual-e5-small see in a text, and where does each end?

A Unigram tokenizer over text in which each space is written as the mark U+2581. No piece has the
mark inside, so the best split of a text is the best split of its words one by one: cutting a long
text at spaces changes nothing, and prefix and text may be tokenised apart.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from vademecum.errors import ModelFileDamaged

BOS, PAD, EOS, UNKNOWN = range(4)

# A special piece is renamed with a NUL before it. Normalised text has no NUL, so no document can
# spell a special token: "<s>" in a text is the plain pieces "<", "s", ">".
_SPECIAL: Final = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_HIDDEN: Final = "\0"
_PIECE_LIMIT: Final = 2000
_SURROGATES: Final = range(0xD800, 0xE000)
_CODE_POINTS: Final = 0x110000
_SPACES = re.compile(" {2,}")


class E5Tokenizer:
    """Count, place and number the tokens of texts; safe to use from several threads."""

    def __init__(self, core: Tokenizer, replacements: Mapping[int, str]) -> None:
        """Take a tokenizer without special tokens and the normalisation of single code points."""
        lone = dict.fromkeys(_SURROGATES, replacements.get(0xFFFD, "\ufffd"))
        self._core = core
        self._table = {**replacements, **lone, 0: ""}
        self._lengths = np.ones(_CODE_POINTS, np.int64)
        self._lengths[list(self._table)] = [len(text) for text in self._table.values()]

    @classmethod
    def load(cls, tokenizer: Path, replacements: Path | None) -> "E5Tokenizer":
        """Read the files; without `replacements` the tokenizer's own normaliser does that work.

        Raises: ModelFileDamaged.
        """
        try:
            if replacements is None:
                return cls(_without_special_tokens(tokenizer), {})
            table = json.loads(replacements.read_text(encoding="utf-8"))
            core = Tokenizer.from_file(str(tokenizer))
        except (OSError, ValueError, KeyError) as error:
            raise ModelFileDamaged(f"{tokenizer.name} cannot be read: {error}") from error
        return cls(core, {int(code): text for code, text in table.items()})

    def ids(self, text: str, limit: int | None = None) -> list[int]:
        """Return the ids of the text alone, or the first `limit` of them."""
        encodings = self._encodings(self._normalised(text))
        return list(islice((token for _, part in encodings for token in part.ids), limit))

    def count(self, text: str) -> int:
        """Return the number of tokens of the text alone, without prefix and special tokens."""
        return sum(len(part) for _, part in self._encodings(self._normalised(text)))

    def ends(self, text: str) -> list[int]:
        """Return each token's end, as an offset in code points of `text`, never decreasing.

        White space after the last token belongs to none.
        """
        normalised, sources = self._aligned(text)
        found: list[int] = []
        for start, part in self._encodings(normalised):
            found.extend(start + end for _, end in part.offsets)
        if not found:
            return []
        # The last normalised character of a token leads back to the text; an end of 0 is a mark
        # put before the first word.
        last = np.maximum(np.array(found), 1) - 1
        return np.maximum.accumulate(sources[last]).tolist()  # type: ignore[no-any-return]

    def _normalised(self, text: str) -> str:
        return _SPACES.sub(" ", text.translate(self._table)).strip(" ")

    def _aligned(self, text: str) -> tuple[str, NDArray[np.int64]]:
        """Return the normalised text and, for each of its characters, its source's end."""
        codes = _codes(text)
        sources = np.repeat(np.arange(1, len(codes) + 1), self._lengths[codes])
        mapped = _codes(text.translate(self._table))
        space = mapped == ord(" ")
        # The first space of a run stays, none at either edge.
        kept = ~space | ~np.concatenate([[True], space[:-1]])
        kept[len(mapped) - _trailing(space) :] = False
        return mapped[kept].tobytes().decode("utf-32-le"), sources[kept]

    def _encodings(self, normalised: str) -> Iterator[tuple[int, Encoding]]:
        for start, piece in _pieces(normalised):
            yield start, self._core.encode(piece, add_special_tokens=False)


def write_tokenizer(pieces: list[str], scores: list[float], path: Path) -> None:
    """Write a `tokenizers` file: Unigram, a mark for each space, `<s> text </s>`."""
    from tokenizers import models, pre_tokenizers, processors

    names = [_HIDDEN + piece if piece in _SPECIAL else piece for piece in pieces]
    core = Tokenizer(models.Unigram(list(zip(names, scores, strict=True)), unk_id=UNKNOWN))
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    core.save(str(path), pretty=False)


def _without_special_tokens(path: Path) -> Tokenizer:
    """Read another maker's file of the same tokenizer, so that no text can spell a special token.

    Raises: ValueError when its special tokens have other ids.
    """
    described: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    vocabulary = described["model"]["vocab"]
    for number, name in enumerate(_SPECIAL[:4]):
        if vocabulary[number][0].removeprefix(_HIDDEN) != name:
            raise ValueError(f"token {number} is not {name}")
    special = {token["content"] for token in described["added_tokens"]}
    for entry in vocabulary:
        if entry[0] in special:
            entry[0] = _HIDDEN + entry[0]
    described.update(added_tokens=[], post_processor=None)
    return Tokenizer.from_str(json.dumps(described))


def _trailing(space: NDArray[np.bool_]) -> int:
    """Return how many True values the end of `space` has."""
    other = np.flatnonzero(~space)
    return len(space) - 1 - int(other[-1]) if len(other) else len(space)


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Cut before spaces, or anywhere in a word that is too long; yield (start, piece)."""
    start = 0
    while start < len(text):
        stop = start + _PIECE_LIMIT
        if stop < len(text):
            space = text.rfind(" ", start + 1, stop)
            stop = space if space > start else stop
        yield start, text[start:stop]
        start = stop
