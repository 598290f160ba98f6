"""Chunks that end where a text goes over to something else, as an embedder sees its sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vademecum.adapters.chunkers.blocks import ITEM, anywhere, fits, header_of, inside, sections
from vademecum.adapters.chunkers.cut import (
    MOST_CHARACTERS_A_TOKEN,
    PARTING,
    Headings,
    Ruler,
    is_boundary,
    next_cluster,
    skip_blanks,
    trimmed,
    whole,
)
from vademecum.adapters.chunkers.structure import FEWEST_TOKENS
from vademecum.model.chunk import Span
from vademecum.model.document import Block, ParsedDocument
from vademecum.model.embedding import FloatArray
from vademecum.ports.embedder import Tokenizer
from vademecum.text.sentences import sentence_spans

DEFAULT_TOKENS = 200
# Shorter sentences go together with what follows: alone their vectors say little.
_FEWEST = 10
# What one chunk more must gain. Of stretches that have nothing to do with one another each is worth
# 1 alone and all together 1; so below 1 everything would stand alone, above it what is unlike
# stays together until a difference pays for the border.
_BORDER = 1.25
# The mean of few vectors says more of these than of the model, so it is taken away in part:
# n / (n + this) of it.
_MEAN_SHARE = 10
# Vectors of one text differ by about this much from batch to batch; the fuller chunk wins within.
_SAME = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    """A stretch that is never cut: a sentence, a row, an item, a block of code, or a part of one
    that is too large. `header` are the column names that a chunk repeats which begins here."""

    start: int
    end: int
    tokens: int
    header: str
    header_tokens: int


class SemanticChunker:
    """Divide what stands below the same headings between its sentences (rows, items, blocks of
    code), so that each chunk speaks of one thing and has at most `tokens` tokens.

    Of all ways to divide it, that one with the largest sum over chunks of |s|^2 / n - b, where s is
    the sum of the n centred unit vectors of a chunk and b the price of a border: the n vectors of a
    chunk lie the closer together the larger |s|^2 / n is (it is n less their squared distances
    from their mean, so this is the segmentation of least squares, as in Fisher 1958, "On grouping
    for maximum homogeneity"). Without vectors chunks are as full as they can be.
    """

    def __init__(
        self,
        tokens: int = DEFAULT_TOKENS,
        vectors: Mapping[str, FloatArray] | None = None,
        *,
        notes: tuple[str, ...] = (),
    ) -> None:
        if tokens < FEWEST_TOKENS:
            raise ValueError(f"a chunk needs at least {FEWEST_TOKENS} tokens, not {tokens}")
        self._tokens = tokens
        self._vectors = vectors or {}
        self._notes = notes

    @property
    def fingerprint(self) -> str:
        return f"semantic-1/{self._tokens}"

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def wanted(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[str]:
        """See `VectorChunker.wanted`: what chunks are made of, in order, each text once."""
        text = document.text
        every = self._units(document, Ruler(text, tokenizer))
        return list(dict.fromkeys(text[one.start : one.end] for units in every for one in units))

    def knowing(self, vectors: Mapping[str, FloatArray]) -> "SemanticChunker":
        """See `VectorChunker.knowing`."""
        return SemanticChunker(self._tokens, vectors, notes=self._notes)

    def split(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[Span]:
        """See `Chunker.split`."""
        ruler, headings = Ruler(document.text, tokenizer), Headings(document)
        every = list(self._units(document, ruler))
        mean = self._mean(document.text, every)
        return [
            Span(
                start=run[0].start,
                end=run[-1].end,
                heading_path=headings.of(run[0].start, run[-1].end),
                header=run[0].header,
            )
            for units in every
            for run in self._divided(units, mean, ruler)
        ]

    def _units(self, document: ParsedDocument, ruler: Ruler) -> Iterator[list[_Unit]]:
        for section in sections(whole(document)):
            yield list(self._joined(section, ruler))

    def _joined(self, section: Sequence[Block], ruler: Ruler) -> Iterator[_Unit]:
        """Yield the units of a section: what is short, and each heading, with what follows it."""
        fewest = min(_FEWEST, self._tokens // 2)
        held: _Unit | None = None
        opens = False  # `held` ends with a heading
        for block in section:
            for unit in self._of_block(block, ruler):
                both = None
                if held is not None:
                    short = held.tokens < fewest and held.end - held.start < 2 * self._tokens
                    both = self._together(held, unit, ruler) if short or opens else None
                    if both is None:
                        yield held
                held, opens = both or unit, block.kind == "heading"
        if held is not None:
            yield held

    def _together(self, one: _Unit, other: _Unit, ruler: Ruler) -> _Unit | None:
        size = one.tokens + other.tokens
        if not _parted(one, other, ruler.text):
            size = ruler.count(ruler.text[one.start : other.end])
        if one.header_tokens + size > self._tokens:
            return None
        return replace(one, end=other.end, tokens=size)

    def _of_block(self, block: Block, ruler: Ruler) -> Iterator[_Unit]:
        """Yield the units of one block; one that does not fit is cut into parts."""
        text = ruler.text
        header, cost = "", 0
        if block.header_end > block.start:
            header, cost = header_of(block, ruler, self._tokens)
        start = block.start
        for place in (*_ends(text, block), block.end):
            if place <= start:
                continue  # within the blanks that were skipped, which are not skipped again
            end = trimmed(text, start, place)
            while start < end:
                # Also what is cut off behind the column names repeats them.
                below = start >= block.header_end > block.start
                room = self._tokens - cost if below else self._tokens
                stop, size = end, room + 1
                if end - start <= MOST_CHARACTERS_A_TOKEN * room:
                    size = ruler.count(text[start:end])
                if size > room:
                    stop = _part(ruler, block, start, end, room)
                    size = ruler.counted(start, stop)
                yield _Unit(
                    start=start,
                    end=stop,
                    tokens=size,
                    header=header if below else "",
                    header_tokens=cost if below else 0,
                )
                start = skip_blanks(text, stop, end)
            start = skip_blanks(text, place, block.end)

    def _mean(self, text: str, every: Sequence[Sequence[_Unit]]) -> FloatArray | None:
        """Return what all vectors of the document have in common, None where there are none."""
        count = 0
        total: NDArray[np.float64] | None = None
        for units in every:
            for one in units:
                vector = self._vectors.get(text[one.start : one.end])
                if vector is not None:
                    count += 1
                    total = vector.astype(np.float64) if total is None else total + vector
        if total is None:
            return None
        # The sum over n, of which n / (n + _MEAN_SHARE).
        return (total / (count + _MEAN_SHARE)).astype(np.float32)

    def _divided(
        self, units: Sequence[_Unit], mean: FloatArray | None, ruler: Ruler
    ) -> Iterator[Sequence[_Unit]]:
        """Yield the runs of units that become a chunk each."""
        lasts = _lasts(units, self._tokens)
        chosen = lasts
        if mean is not None and len(units) > 1:
            chosen = _best_lasts(self._centred(units, mean, ruler.text), lasts)
        first = 0
        while first < len(units):
            last = chosen[first]
            # What no blank parts may have more tokens together than apart.
            while last > first and not self._fit(units[first : last + 1], ruler):
                last -= 1
            yield units[first : last + 1]
            first = last + 1

    def _centred(self, units: Sequence[_Unit], mean: FloatArray, text: str) -> FloatArray:
        """Return a row a unit, shape (n, d), of norm 1, or of 0 where it has no vector."""
        rows = np.zeros((len(units), len(mean)), np.float32)
        for at, one in enumerate(units):
            vector = self._vectors.get(text[one.start : one.end])
            if vector is not None:
                rows[at] = vector - mean
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        centred: FloatArray = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > _SAME)
        return centred

    def _fit(self, run: Sequence[_Unit], ruler: Ruler) -> bool:
        """Return whether units that fit by the sum of their tokens do so as one text."""
        if all(_parted(one, other, ruler.text) for one, other in pairwise(run)):
            return True
        room = self._tokens - run[0].header_tokens
        return fits(ruler, run[0].start, run[-1].end, room)


def _parted(one: _Unit, other: _Unit, text: str) -> bool:
    """Tell whether the tokens of two units are those of each: between them lie blanks that part
    words for every tokenizer (see `Tokenizer`), and no other, which may be a token itself."""
    between = text[one.end : other.start]
    return bool(between) and not between.strip(PARTING)


def _lasts(units: Sequence[_Unit], tokens: int) -> list[int]:
    """Return for each unit the last one that a chunk which begins with it can hold."""
    lasts: list[int] = []
    last, held = -1, 0
    for first, unit in enumerate(units):
        if last < first:
            last, held = first, unit.tokens
        room = tokens - unit.header_tokens
        # A header takes room away, so the next chunk may hold less than this one.
        while last > first and held > room:
            held -= units[last].tokens
            last -= 1
        while (
            last + 1 < len(units)
            and held + units[last + 1].tokens <= room
            and units[last + 1].end - unit.start <= MOST_CHARACTERS_A_TOKEN * room
        ):
            last += 1
            held += units[last].tokens
        lasts.append(last)
        held -= unit.tokens
    return lasts


def _best_lasts(rows: FloatArray, lasts: Sequence[int]) -> list[int]:
    """Return for each unit the last one of the chunk that begins with it, where the rest is divided
    best (dynamic programming from the end). `rows`, shape (n, d), are the units' vectors."""
    count = len(lasts)
    worth = np.zeros(count + 1)
    chosen = [0] * count
    for first in range(count - 1, -1, -1):
        sums = np.cumsum(rows[first : lasts[first] + 1], axis=0, dtype=np.float64)
        sizes = np.arange(1, len(sums) + 1)
        values = (sums**2).sum(axis=1) / sizes - _BORDER + worth[first + 1 : first + 1 + len(sums)]
        best = int(np.flatnonzero(values >= values.max() - _SAME)[-1])
        chosen[first], worth[first] = first + best, values[best]
    return chosen


def _ends(text: str, block: Block) -> Iterator[int]:
    """Yield where the parts of a block end, but for the last: no letter cluster is cut there."""
    if block.kind in ("heading", "code"):
        return
    if block.kind == "table":
        # Column names stay with the first row.
        place = text.find("\n", max(block.start, block.header_end + 1), block.end)
        while place >= 0:
            yield place
            place = text.find("\n", place + 1, block.end)
        return
    if block.kind == "list":
        yield from (found.start() for found in ITEM.finditer(text, block.start + 1, block.end))
        return
    before = block.start
    for _, end in sentence_spans(text[block.start : block.end])[:-1]:
        place = block.start + end
        # Most end between two ASCII characters, where nothing joins them (\r\n is no end).
        if not text[place - 1 : place + 1].isascii():
            place = next_cluster(text, before, place, block.end)
        before = place
        yield before


def _part(ruler: Ruler, block: Block, start: int, stop: int, tokens: int) -> int:
    """Return where the next part ends of what does not fit. Of prose it is half a chunk, so that
    others have room beside it."""
    text = ruler.text
    cut = partial(_cut, text, block, start, stop)
    end = start
    if block.kind not in ("table", "code"):
        end = ruler.end(start, stop, tokens // 2, cut)
    if end == start or not is_boundary(text, start, end):
        end = ruler.end(start, stop, tokens, cut)
    return trimmed(text, start, end)


def _cut(text: str, block: Block, start: int, stop: int, limit: int) -> int:
    """Return where to end a part, of at most `limit`, of what does not fit."""
    if limit >= stop:
        return stop
    return inside(text, block, start, limit) or anywhere(text, block, start, limit) or limit
