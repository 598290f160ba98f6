"""How far does a number of tokens reach in a text, and where may it be cut?"""

from bisect import bisect_right
from collections.abc import Callable, Iterator

import regex

from vademecum.model.document import Block, ParsedDocument
from vademecum.ports.embedder import Tokenizer
from vademecum.text.sentences import sentence_spans

# A chunk ends after this many characters a token at the latest: blanks and letters that a
# tokenizer does not know cost nothing or little, and could make a chunk of a million of them.
MOST_CHARACTERS_A_TOKEN = 32
# Each tokenizer parts its words here, so that what comes after changes nothing before.
PARTING = " \n\t"
_LOOK_BACK = 128
_LOOK_AHEAD = 64
_CLUSTER = regex.compile(r"\X")
# What `str.isspace` means, so that no other code takes a chunk's end for a blank.
_BLANK = regex.compile(r"[\s\x1c-\x1f]")
_BLANK_BACKWARDS = regex.compile(r"(?r)[\s\x1c-\x1f]")
_INK = regex.compile(r"[^\s\x1c-\x1f]")
# Between two such characters there is always a boundary, whatever stands around them.
_SURE = regex.compile(r"(?r)\p{GCB=Other}(?=\p{GCB=Other})")


class Ruler:
    """Measure a text in an embedder's tokens from any place, a window at a time.

    The whole text is tokenised about once, however it is cut: time grows with its length.
    """

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.text = text
        self._tokenizer = tokenizer
        self._characters_a_token = 5.0
        self._start = 0
        self._ends: list[int] = []

    def count(self, text: str) -> int:
        return self._tokenizer.count(text)

    def end(self, start: int, stop: int, tokens: int, cut: Callable[[int], int]) -> int:
        """Return where a chunk from `start` ends: the last place that `cut` offers and that keeps
        it within `tokens`. `cut` maps a limit to a place in (start, limit]. A single code point
        may have more tokens than that."""
        limit = self._reach(start, stop, tokens)
        while True:
            end = cut(limit)
            if end - start <= 1 or end >= len(self.text) or self.text[end] in PARTING:
                return end
            # Cut inside a word, its first half may have more tokens than it had in the whole.
            found = self._tokenizer.count(self.text[start:end])
            if found <= tokens:
                return end
            limit = max(start + 1, min(end - 1, start + (end - start) * tokens // found))

    def before(self, end: int, tokens: int) -> int:
        """Return where the last `tokens` tokens begin that end at or before `end`, in the window
        that was last measured."""
        last = bisect_right(self._ends, end - self._start)
        return self._start + self._ends[last - tokens - 1] if last > tokens else self._start

    def counted(self, start: int, end: int) -> int:
        """Return the tokens of a stretch; where it begins the window that was last measured, and
        ends at a blank, they are known already."""
        if start == self._start and end < len(self.text) and self.text[end] in PARTING:
            return bisect_right(self._ends, end - start)
        return self.count(self.text[start:end])

    def _reach(self, start: int, stop: int, tokens: int) -> int:
        """Return the furthest end of a stretch from `start` with at most `tokens` tokens."""
        stop = min(stop, start + MOST_CHARACTERS_A_TOKEN * tokens)
        size = int(self._characters_a_token * tokens) + 16
        while True:
            window = min(stop, start + size)
            ends = self._tokenizer.ends(self.text[start:window])
            if len(ends) > tokens or window == stop:
                break
            size *= 2
        self._start, self._ends = start, ends
        if len(ends) <= tokens:
            return stop
        # A letter may have several tokens; they stay together.
        fitting = tokens if ends[tokens] > ends[tokens - 1] else ends.index(ends[tokens])
        reached = ends[fitting - 1] if fitting else 1
        self._characters_a_token = max(1.0, 1.15 * reached / tokens)
        return start + max(1, reached)


def last_line(text: str, start: int, limit: int) -> int | None:
    """Return the last line end in (start, limit]."""
    found = text.rfind("\n", start + 1, limit + 1)
    return found if found > start else None


def last_blank(text: str, start: int, limit: int) -> int | None:
    """Return the last place in (start, limit] before white space."""
    while found := _BLANK_BACKWARDS.search(text, start + 1, limit + 1):
        if is_boundary(text, start, found.start()):
            return found.start()
        limit = found.start() - 1
    return None


def last_sentence(text: str, start: int, limit: int, stop: int) -> int | None:
    """Return the last end of a sentence in (start, limit] of the stretch that ends at `stop`."""
    reach = min(stop, limit + _LOOK_AHEAD)
    back = _LOOK_BACK
    while True:
        begin = max(start, limit - back)
        spans = sentence_spans(text[begin:reach])
        ends = [begin + end for _, end in spans]
        if reach < stop and ends:
            ends.pop()  # where the stretch was cut off, no sentence needs to end
        for end in reversed(ends):
            if start < end <= limit and is_boundary(text, start, end):
                return end
        if begin == start:
            return None
        back *= 4


def last_cluster(text: str, start: int, limit: int) -> int | None:
    """Return the last place in (start, limit] between two letter clusters; there is none where a
    single cluster is longer."""
    found = _last_boundary(text, start, limit)
    return found if found > start else None


def next_cluster(text: str, start: int, place: int, stop: int) -> int:
    """Return the first place in [place, stop] between two letter clusters; at `start` there is
    such a place."""
    before = _last_boundary(text, start, place)
    if before == place:
        return place
    cluster = _CLUSTER.match(text, before, stop)
    return cluster.end() if cluster else place


def first_blank(text: str, start: int, place: int, limit: int) -> int | None:
    """Return the first place in [place, limit) before white space; at `start`, at or before it, no
    letter cluster is cut."""
    while found := _BLANK.search(text, place, limit):
        if is_boundary(text, start, found.start()):
            return found.start()
        place = found.start() + 1
    return None


def is_boundary(text: str, start: int, place: int) -> bool:
    """Return whether no letter cluster is cut at `place`; at `start` none is."""
    return _last_boundary(text, start, place) == place


def skip_blanks(text: str, start: int, stop: int) -> int:
    """Return where the first character in [start, stop) that is not blank begins; a mark that
    stands on a blank takes it along."""
    ink = _INK.search(text, start, stop)
    if ink is None:
        return stop
    place = ink.start()
    if place > start and not text[place].isascii():
        base = _CLUSTER.match(text, place - 1)
        return place - 1 if base and base.end() > place else place
    return place


def trimmed(text: str, start: int, end: int) -> int:
    """Return the end of text[start:end] without the blanks at its end."""
    return start + len(text[start:end].rstrip())


def _last_boundary(text: str, start: int, place: int) -> int:
    """Return the last place in [start, place] between two clusters, `start` being one."""
    if place >= len(text):
        return place
    sure = _SURE.search(text, start, min(len(text), place + 1)) if place > start else None
    at = sure.end() if sure else start
    while at < place:
        cluster = _CLUSTER.match(text, at, place + 1)
        if cluster is None or cluster.end() > place:
            return at
        at = cluster.end()
    return at


class Headings:
    """Tell below which headings a stretch of a document stands."""

    def __init__(self, document: ParsedDocument) -> None:
        self._blocks = document.blocks
        self._starts = [block.start for block in document.blocks]

    def of(self, start: int, end: int) -> tuple[str, ...]:
        """Return the headings that all of text[start:end] stands below, outermost first."""
        first = max(0, bisect_right(self._starts, start) - 1)
        last = bisect_right(self._starts, end - 1)
        paths = [block.heading_path for block in self._blocks[first:last]]
        if not paths:
            return ()
        one, other = min(paths), max(paths)  # what these two share, all share
        pairs = enumerate(zip(one, other, strict=False))
        return one[: next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))]


def whole(document: ParsedDocument) -> Iterator[Block]:
    """Yield the blocks without the blanks at their ends, and as paragraphs what lies between."""
    text, place = document.text, 0
    path: tuple[str, ...] = ()
    for block in document.blocks:
        if text[place : block.start].strip():
            yield from _piece(text, place, block.start, path)
        place, path = block.end, block.heading_path
        inner = text[block.start : block.end]
        if inner.strip() == inner:
            yield block
        else:
            yield from _piece(text, block.start, block.end, path, block)
    yield from _piece(text, place, len(text), path)


def _piece(
    text: str, start: int, stop: int, path: tuple[str, ...], block: Block | None = None
) -> Iterator[Block]:
    start = skip_blanks(text, start, stop)
    end = trimmed(text, start, stop)
    if start < end:
        yield Block(
            kind=block.kind if block else "paragraph",
            start=start,
            end=end,
            level=block.level if block else 0,
            heading_path=path,
            header_end=block.header_end if block else 0,
        )
