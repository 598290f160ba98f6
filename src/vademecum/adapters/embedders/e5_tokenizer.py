"""Which tokens does multilingual-e5-small see in a text, and where does each end?

A Unigram tokenizer over text in which each space is written as the mark U+2581. No piece has the
mark inside, so the best split of a text is the best split of its words one by one: cutting a long
text at spaces changes nothing, and prefix and text may be tokenised apart.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from vademecum.adapters.embedders.e5_pieces import UNKNOWN, PieceTable
from vademecum.errors import ModelFileDamaged

BOS, PAD, EOS = range(3)

# A special piece is renamed with a NUL before it. Normalised text has no NUL, so no document can
# spell a special token: "<s>" in a text is the plain pieces "<", "s", ">".
_SPECIAL: Final = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_HIDDEN: Final = "\0"
_PART_LIMIT: Final = 2000
# After so many characters the large tokenizer, four times as quick, has earned its loading.
_WORTH_LOADING: Final = 150_000
_GROUP: Final = 64  # parts a call: it uses all cores and lets other threads run
_COMMON: Final = 8.0
_LEAST_WEIGHT: Final = 0.05
_SURROGATES: Final = range(0xD800, 0xE000)
_CODE_POINTS: Final = 0x110000
_MARK: Final = "\u2581"
_SPACES = re.compile(" {2,}")


class E5Tokenizer:
    """Count, place and number the tokens of texts; safe to use from several threads.

    The large tokenizer is loaded by the first long text, or after many; until then `short` splits
    them.
    """

    def __init__(
        self,
        *,
        load_core: Callable[[], Tokenizer],
        short: PieceTable | None,
        replacements: Mapping[int, str],
    ) -> None:
        """Take a source of the tokenizer and the normalisation of single code points."""
        lone = dict.fromkeys(_SURROGATES, replacements.get(0xFFFD, "\ufffd"))
        self._load_core = load_core
        self._core: Tokenizer | None = None
        self._loading = Lock()
        self._split_slowly = 0
        self._short = short
        self._table = {**replacements, **lone, 0: ""}
        self._lengths = np.ones(_CODE_POINTS, np.uint8)
        self._lengths[list(self._table)] = [len(text) for text in self._table.values()]

    @classmethod
    def load(
        cls, tokenizer: Path, *, pieces: Path | None, replacements: Path | None
    ) -> "E5Tokenizer":
        """Read the small files; without them the tokenizer does all the work itself.

        Raises: ModelFileDamaged, also later, when a long text loads the tokenizer.
        """
        try:
            short = PieceTable.load(pieces) if pieces else None
            table = json.loads(replacements.read_text(encoding="utf-8")) if replacements else {}
        except (OSError, ValueError) as error:
            raise ModelFileDamaged(f"The files of the tokenizer cannot be read: {error}") from error
        return cls(
            load_core=partial(read_core, tokenizer, plain=replacements is not None),
            short=short,
            replacements={int(code): text for code, text in table.items()},
        )

    def ids(self, text: str, limit: int | None = None) -> list[int]:
        """Return the ids of the text alone, or the first `limit` of them."""
        parts = self._parts(self._normalised(text))
        return list(islice((token for ids, _ in parts for token in ids), limit))

    def weights(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how much each token says, shape (t,), more than 0: rare ones say more. All are 1
        where another maker's files hold no table of pieces.

        Minus log p of the piece, less what the most common words have. It ranks as well as counting
        in the collection would, and no document of anybody changes it (measured, see ADR 9).
        """
        if self._short is None:
            return np.ones(len(ids), np.float32)
        said: NDArray[np.float32] = np.maximum(
            self._short.information(ids) - _COMMON, _LEAST_WEIGHT
        )
        return said

    def count(self, text: str) -> int:
        """Return the number of tokens of the text alone, without prefix and special tokens."""
        return sum(len(ids) for ids, _ in self._parts(self._normalised(text)))

    def ends(self, text: str) -> list[int]:
        """Return each token's end, as an offset in code points of `text`, never decreasing.

        White space after the last token belongs to none.
        """
        normalised, sources = self._aligned(text)
        found = [end for _, ends in self._parts(normalised) for end in ends]
        if not found:
            return []
        # A token's last normalised character leads back to the text; an end of 0 is that of the
        # mark put before the first word.
        last = np.maximum(np.array(found), 1) - 1
        ends: list[int] = np.maximum.accumulate(sources[last]).tolist()
        return ends

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

    def _parts(self, normalised: str) -> Iterator[tuple[list[int], list[int]]]:
        """Yield ids and ends in the normalised text, part by part."""
        few = len(normalised) <= _PART_LIMIT and self._split_slowly < _WORTH_LOADING
        if self._short and self._core is None and few:
            self._split_slowly += len(normalised)
            marked = f" {normalised}" if normalised else ""
            ids, ends = self._short.split(marked.replace(" ", _MARK))
            yield ids, [end - 1 for end in ends]
            return
        core = self._loaded_core()
        parts = _cut(normalised)
        while group := list(islice(parts, _GROUP)):
            texts = [part for _, part in group]
            encodings = core.encode_batch(texts, add_special_tokens=False)
            for (start, _), encoding in zip(group, encodings, strict=True):
                yield encoding.ids, [start + end for _, end in encoding.offsets]

    def _loaded_core(self) -> Tokenizer:
        with self._loading:
            if self._core is None:
                self._core = self._load_core()
            return self._core


def hide_special(pieces: list[str]) -> list[str]:
    """Return the pieces with the special ones renamed so that no text can spell them."""
    return [_HIDDEN + piece if piece in _SPECIAL else piece for piece in pieces]


def write_tokenizer(pieces: list[str], scores: list[float], path: Path) -> None:
    """Write a `tokenizers` file: Unigram, a mark for each space, `<s> text </s>`."""
    from tokenizers import models, pre_tokenizers, processors

    core = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=UNKNOWN))
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    core.save(str(path), pretty=False)


def read_core(path: Path, *, plain: bool) -> Tokenizer:
    """Read a tokenizer file, `plain` where it is one of ours."""
    try:
        return Tokenizer.from_file(str(path)) if plain else _without_special_tokens(path)
    except Exception as error:  # tokenizers has no error class of its own
        raise ModelFileDamaged(f"{path} cannot be read: {error}") from error


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


def _cut(text: str) -> Iterator[tuple[int, str]]:
    """Cut before spaces, or anywhere in a word that is too long; yield (start, part)."""
    start = 0
    while start < len(text):
        stop = start + _PART_LIMIT
        if stop < len(text):
            space = text.rfind(" ", start + 1, stop)
            stop = space if space > start else stop
        yield start, text[start:stop]
        start = stop
