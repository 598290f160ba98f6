"""Which lines make a heading, a paragraph or a list item, and what goes on over a page's end?"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

import regex

from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.pdf.columns import Item
from vademecum.adapters.parsers.pdf.lines import Line
from vademecum.adapters.parsers.pdf.outline import Outline, level_of
from vademecum.adapters.parsers.pdf.tables import Table
from vademecum.adapters.parsers.pdf.words import REAL_HYPHEN, hyphenated, joined, with_real_hyphen
from vademecum.model.document import BlockKind

_HEADING_LETTERS = 120
_HEADING_LINES = 5
_NEAR = 12  # lines that show how wide a column is
_LARGER = 1.12
_USUAL_PITCH = 1.35  # of the type size, from baseline to baseline, where a page does not tell
_WIDER = 1.25  # than the usual pitch: a new paragraph
_PITCHES = (1.0, 2.4)
_FEWEST_STEPS = 3
_SAME_SIZE = 0.5
_MIXED_SIZES = 1.4
_SAME_PLACE = 6.0  # points
_SHORT_LINE = 0.25  # of its column: a paragraph may end with it
_BULLET = regex.compile(r"([•·▪◦●○■□➢✓–—*-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(?=\S)")
_DOT_LEADERS = regex.compile(r"(?:\s*\.){6,}\s*")
_ENDED = regex.compile(r"[.!?:;…。।][\"'”’»)\]]*$")
_LETTERS = regex.compile(r"\p{L}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """What becomes one block; `level` is that of the outline, 0 where it names none."""

    kind: BlockKind
    text: str
    size: float
    bold: bool = False
    level: int = 0
    table: Table | None = None


def body_size(pages: Sequence[Sequence[Item]]) -> float:
    """Return the size in which most letters are set, in points."""
    letters: Counter[float] = Counter()
    for page in pages:
        for item in page:
            if isinstance(item, Line) and item.size > 0:
                letters[item.size] += len(item.text)
    return letters.most_common(1)[0][0] if letters else 0.0


def compose(composer: Composer, pages: Sequence[Sequence[Item]], outline: Outline) -> None:
    """Put a document's pages together; a sentence that goes on over a page's end is one block."""
    body = body_size(pages)
    pages = _with_real_hyphens(pages)
    pieces = [
        list(_pieces(page, body, outline.get(number, {}))) for number, page in enumerate(pages)
    ]
    levels = _levels([piece for page in pieces for piece in page])
    held: list[_Piece] = []  # one piece, or what it is made of on pages that follow each other
    for page in pieces:
        rest = page
        if held and page and _goes_on(held[-1], page[0]):
            held.append(page[0])
            rest = page[1:]
        else:
            if held and page and _is_rest_of(held[-1], page[0]):
                rest = [_without_header(page[0]), *page[1:]]
            _put(composer, held, levels)
            held = []
            composer.page()
        for piece in rest:
            _put(composer, held, levels)
            held = [piece]
    _put(composer, held, levels)


def _with_real_hyphens(pages: Sequence[Sequence[Item]]) -> list[list[Item]]:
    """Make the hyphen at a line's end stay where the document has the word with it elsewhere."""
    texts = [item.text for page in pages for item in page if isinstance(item, Line)]
    if not any(text.endswith("-") for text in texts):
        return [list(page) for page in pages]
    known = hyphenated(texts)
    return [
        [
            replace(item, text=with_real_hyphen(item.text, after.text, known))
            if isinstance(item, Line) and isinstance(after, Line) and item.text.endswith("-")
            else item
            for item, after in zip_longest(page, page[1:])
        ]
        for page in map(list, pages)
    ]


def _levels(pieces: Sequence[_Piece]) -> dict[float, int]:
    """Return the level of headings by their size: the outline's where it names one of that size,
    else one below the next larger."""
    named: dict[float, Counter[int]] = {}
    for piece in pieces:
        if piece.level:
            named.setdefault(piece.size, Counter())[piece.level] += 1
    levels: dict[float, int] = {}
    level = 0
    for size in sorted({piece.size for piece in pieces if piece.kind == "heading"}, reverse=True):
        level = named[size].most_common(1)[0][0] if size in named else level + 1
        levels[size] = level
    return levels


def _put(composer: Composer, held: Sequence[_Piece], levels: Mapping[float, int]) -> None:
    if not held:
        return
    piece = held[0]
    if len(held) > 1:
        parts = [piece.text]
        for following in held[1:]:
            whole = joined(parts[-1], following.text)
            parts[-1:] = [whole[: len(whole) - len(following.text)], following.text]
        composer.paragraph_over_pages(parts)
    elif piece.table is not None:
        composer.table(piece.table.rows, header_rows=piece.table.header_rows)
    elif piece.kind == "heading":
        composer.heading(piece.text, piece.level or levels[piece.size])
    elif piece.kind == "list":
        marked = _BULLET.match(piece.text)
        marker = marked.group(1) if marked else "-"
        composer.item(piece.text[marked.end() if marked else 0 :], marker=marker)
    else:
        composer.paragraph(piece.text)


def _goes_on(piece: _Piece, following: _Piece) -> bool:
    """Tell whether the first paragraph of a page is the rest of the last one of the page before:
    the same type, no end mark, and a small letter after it."""
    return (
        piece.kind == following.kind == "paragraph"
        and abs(piece.size - following.size) < _SAME_SIZE
        and piece.bold == following.bold
        and not _ENDED.search(piece.text)
        and following.text[:1].islower()
    )


def _is_rest_of(piece: _Piece, following: _Piece) -> bool:
    """Tell whether a page begins with the rows of a table that ends the page before, of the same
    columns, which are not named anew."""
    first, second = piece.table, following.table
    return (
        first is not None
        and second is not None
        and len(first.rows[0]) == len(second.rows[0])
        and abs(first.box.x0 - second.box.x0) < _SAME_PLACE
        and abs(first.box.x1 - second.box.x1) < _SAME_PLACE
        and first.rows[:1] != second.rows[:1]
    )


def _without_header(piece: _Piece) -> _Piece:
    table = piece.table
    return replace(piece, table=replace(table, header_rows=0)) if table else piece


def _pieces(items: Sequence[Item], body: float, names: Mapping[str, int]) -> Iterator[_Piece]:
    """Yield the tables, headings, list items and paragraphs of one page, their lines joined."""
    pitches = _pitches([item for item in items if isinstance(item, Line)])
    held: list[Line] = []
    for item in items:
        if held and (isinstance(item, Table) or not _continues(held, item, body, pitches, names)):
            yield _piece(held, body, names)
            held = []
        if isinstance(item, Table):
            yield _Piece(kind="table", text="", size=0.0, table=item)
        else:
            held.append(item)
    if held:
        yield _piece(held, body, names)


def _pitches(lines: Sequence[Line]) -> dict[float, float]:
    """Return for each type size the most frequent step from baseline to baseline, in sizes."""
    low, high = _PITCHES
    steps: dict[float, Counter[float]] = {}
    for before, after in pairwise(lines):
        if after.size > 0 and abs(after.size - before.size) < _SAME_SIZE:
            step = round((after.baseline - before.baseline) / after.size, 1)
            if low <= step <= high:
                steps.setdefault(after.size, Counter())[step] += 1
    pitches = {}
    for size, counted in steps.items():
        most, count = counted.most_common(1)[0]
        pitches[size] = most if count >= _FEWEST_STEPS else max(most, _USUAL_PITCH)
    return pitches


def _continues(
    held: Sequence[Line],
    line: Line,
    body: float,
    pitches: Mapping[float, float],
    names: Mapping[str, int],
) -> bool:
    last = held[-1]
    heading = _is_heading(held, body)
    if _is_of_another_kind(held, line, body, heading=heading):
        return False
    if names and (level_of(line.text, names) or (heading and level_of(_joined(held), names))):
        return False
    step = line.baseline - last.baseline
    size = max(line.size, 1.0)
    pitch = max(pitches.get(line.size, _USUAL_PITCH), _USUAL_PITCH if heading else 1.0)
    if line.turned:
        return True
    if step < -0.5 * size:  # the next column
        return not heading and not _ENDED.search(last.text)
    if step > _WIDER * pitch * size:
        return False
    return heading or step < 0.5 * size or not _begins_anew(held, line)


def _is_of_another_kind(held: Sequence[Line], line: Line, body: float, *, heading: bool) -> bool:
    last = held[-1]
    if last.turned != line.turned:
        return True
    if abs(last.size - line.size) > _SAME_SIZE and (heading or not _is_mixed(last, line, body)):
        return True
    if last.bold != line.bold and (heading or _is_heading([line], body)):
        return True
    return bool(_BULLET.match(line.text) or _has_leaders(last.text))


def _is_mixed(last: Line, line: Line, body: float) -> bool:
    """Tell whether a sentence goes on in a line that holds small capitals or a note's number."""
    low, high = sorted((last.size, line.size))
    return (
        high < _MIXED_SIZES * low
        and high <= _LARGER * body
        and not _ENDED.search(last.text)
        and abs(last.box.x0 - line.box.x0) < 2.5 * high
        and 0 < line.baseline - last.baseline < _USUAL_PITCH * high
    )


def _has_leaders(text: str) -> bool:
    return "..." in text.replace(" ", "") and bool(_DOT_LEADERS.search(text))


def _begins_anew(held: Sequence[Line], line: Line) -> bool:
    """Tell whether a line begins a paragraph: the one before has ended, and either this one is
    indented or that one is short."""
    last = held[-1]
    if not _ENDED.search(last.text):
        return False
    if line.box.x0 - last.box.x0 > 0.8 * line.size and (len(held) > 1 or last.box.x0 < line.box.x0):
        return True
    right = max(other.box.x1 for other in (*held[-_NEAR:], line))
    left = min(other.box.x0 for other in (*held[-_NEAR:], line))
    return last.box.x1 < right - _SHORT_LINE * (right - left)


def _is_heading(held: Sequence[Line], body: float) -> bool:
    if len(held) > _HEADING_LINES or sum(len(line.text) for line in held) > _HEADING_LETTERS:
        return False
    if held[0].text[:1].islower() or not any(_LETTERS.search(line.text) for line in held):
        return False
    if held[0].size > body * _LARGER:
        return True
    return all(line.bold for line in held) and not held[-1].text.endswith((".", ":", ",", ";"))


def _joined(held: Sequence[Line]) -> str:
    text = held[0].text
    for before, line in pairwise(held):
        # The rows of a table without rulings stay rows.
        rows = before.parts > 1 and line.parts > 1
        text = f"{text}\n{line.text}" if rows else joined(text, line.text)
    return text.removesuffix(REAL_HYPHEN)


def _piece(held: Sequence[Line], body: float, names: Mapping[str, int]) -> _Piece:
    text = _joined(held)
    if _has_leaders(text):
        text = _DOT_LEADERS.sub(" … ", text).strip()
    level = level_of(text, names) if len(text) <= 2 * _HEADING_LETTERS else 0
    kind: BlockKind = "paragraph"
    if level or (_is_heading(held, body) and "\n" not in text):
        kind = "heading"
    elif _BULLET.match(held[0].text):
        kind = "list"
    return _Piece(kind=kind, text=text, size=held[0].size, bold=held[0].bold, level=level)
