"""Which lines are the rows of a table that has no rulings around its cells?

Only rows of numbers that stand under each other are taken: what else stands in columns may as well
be text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import regex

from vademecum.adapters.parsers.pdf.drawn import Edge
from vademecum.adapters.parsers.pdf.frame import Box, union
from vademecum.adapters.parsers.pdf.lines import Glyph, Line, Reader, Word, words_of
from vademecum.adapters.parsers.pdf.tables import Table
from vademecum.adapters.parsers.pdf.words import joined, tidy

_FIGURE = regex.compile(
    r"[(<>~≥≤±+-]*(?:\p{Sc}|[A-Z]{1,3}\p{Sc})?[+-]?\d[\d.,\u2009'’/:-]*(?:%|\p{Sc}|[a-z*†‡])?\)?|[†‡–—-]{1,3}|\.{2,3}|n/?a"
)
_LEADERS = regex.compile(r"(?:\s*\.){4,}$")
_YEAR = regex.compile(r"(?:19|20)\d\d(?:[-–/]\d{2,4})?")
_FEWEST_ROWS = 4
_FEWEST_FIGURES = 2
_MOST_BETWEEN = 3  # rows of another kind that may follow each other among rows of figures
_MOST_HEADER_ROWS = 7
_HIGHEST_HEADER = 150.0  # points
_LONGEST_TITLE = 0.6  # of the table's width
_SAME_ROW = 0.25  # of the type size, between baselines
_FARTHEST = 3.2  # of the type size, from row to row
_NARROWEST_GAP = 0.4  # of the type size, between columns
_FIGURE_SHARE = 0.6
_SLACK = 2.0  # points
_RULE_BELOW = 1.4  # of the type size, under a name that spans columns
_PHRASE_GAP = 0.62  # of the type size: a wider blank is none between words
_MOST_COLUMNS = 40


class Row(NamedTuple):
    """A printed row: the numbers of its lines, words from the left, and where it stands."""

    lines: tuple[int, ...]
    words: tuple[Word, ...]
    baseline: float
    size: float

    @property
    def is_of_figures(self) -> bool:
        texts = [word.text for word in self.words]
        return len(texts) > _FEWEST_FIGURES - 1 and all(
            _FIGURE.fullmatch(text) for text in texts[-_FEWEST_FIGURES:]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loose:
    """A table, and the numbers of the lines that it is made of."""

    table: Table
    lines: frozenset[int]


def loose_tables(
    reader: Reader, lines: Sequence[Line], rules: Sequence[Edge], taken: Sequence[Box]
) -> list[Loose]:
    """Return the tables among a page's lines. `rules` are its horizontal rulings, `taken` the
    places of other tables."""
    places = _places_of_figures(lines)
    if len(places) < _FEWEST_ROWS:
        return []
    top, bottom = min(places) - _HIGHEST_HEADER, max(places) + 1
    rows = _rows(reader, [line for line in lines if top <= line.baseline <= bottom], taken)
    found = []
    for start, end in _runs(rows):
        loose = _table(rows, start, end, rules)
        if loose is not None:
            found.append(loose)
    return found


def _places_of_figures(lines: Sequence[Line]) -> list[float]:
    """Return, without looking at single words, where rows stand that seem to end in figures."""
    levels: dict[int, list[Line]] = {}
    for line in lines:
        if line.text[-1:].isalpha():  # a row of figures has few of those, if any
            continue
        levels.setdefault(round(line.baseline / 2), []).append(line)
    places = []
    for level in levels.values():
        level.sort(key=lambda line: line.box.x0)
        last = " ".join(line.text for line in level[-_FEWEST_FIGURES:]).rsplit(None, 2)
        if len(last) >= _FEWEST_FIGURES and all(
            _FIGURE.fullmatch(word) for word in last[-_FEWEST_FIGURES:]
        ):
            places.append(level[0].baseline)
    return places


def _rows(reader: Reader, lines: Sequence[Line], taken: Sequence[Box]) -> list[Row]:
    """Return the rows of a page, from its top."""
    by_number: dict[int, list[Line]] = {}
    for line in lines:
        if not line.turned:
            by_number.setdefault(line.row, []).append(line)
    rows = []
    for number, parts in by_number.items():
        glyphs = [
            glyph
            for glyph in reader.glyphs(*reader.page.raw_lines[number])
            if not any(_is_in(glyph, box) for box in taken)
        ]
        words = words_of(glyphs, reader.page.text, parts[0].size)
        # What the library takes for one line may be two, where one ends in a hyphen.
        levels: dict[float, list[Line]] = {}
        for part in parts:
            near = next((at for at in levels if abs(at - part.baseline) < part.size / 2), None)
            levels.setdefault(part.baseline if near is None else near, []).append(part)
        held: dict[float, list[Word]] = {}
        for word in words:
            held.setdefault(_nearest(levels, word.box.bottom), []).append(word)
        rows += [
            Row(tuple(part.index for part in levels[at]), tuple(row), at, max(parts[0].size, 1.0))
            for at, row in held.items()
        ]
    return _merged(sorted(rows, key=lambda row: row.baseline))


def _nearest(levels: Iterable[float], place: float) -> float:
    return min(levels, key=lambda level: abs(level - place))


def _merged(rows: Sequence[Row]) -> list[Row]:
    """Make one row of those that stand beside each other."""
    merged: list[Row] = []
    for row in rows:
        last = merged[-1] if merged else None
        if last is not None and row.baseline - last.baseline < _SAME_ROW * row.size:
            words = sorted((*last.words, *row.words), key=lambda word: word.box.x0)
            merged[-1] = last._replace(lines=last.lines + row.lines, words=tuple(words))
        else:
            merged.append(row)
    return merged


def _is_in(glyph: Glyph, box: Box) -> bool:
    return box.holds((glyph.box.x0 + glyph.box.x1) / 2, (glyph.box.top + glyph.box.bottom) / 2)


def _runs(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Return stretches of rows that begin and end with figures and hold many such rows."""
    runs = []
    start = last = None
    count = 0
    for place, row in enumerate(rows):
        if last is not None and start is not None:
            apart = place - last > _MOST_BETWEEN + 1 or any(
                after.baseline - before.baseline > _FARTHEST * max(after.size, before.size)
                for before, after in pairwise(rows[last : place + 1])
            )
            if apart and row.is_of_figures:
                runs.append((start, last + 1, count))
                start = last = None
        if row.is_of_figures:
            start = place if start is None else start
            count = count + 1 if last is not None else 1
            last = place
    if start is not None and last is not None:
        runs.append((start, last + 1, count))
    return [(start, end) for start, end, count in runs if count >= _FEWEST_ROWS]


def _table(rows: Sequence[Row], start: int, end: int, rules: Sequence[Edge]) -> Loose | None:
    body = rows[start:end]
    columns = _columns(body)
    if columns is None or not all(_fits(row, columns) for row in body):
        return None
    heads = _header(rows[:start], body[0], columns, rules)
    header = _header_cells(heads, columns, rules)
    cells = [_cells(row, columns) for row in body]
    if all(_YEAR.fullmatch(text) for text in cells[0][1:] if text) and sum(map(bool, cells[0])) > 1:
        header.append(cells.pop(0))
    used = [*heads, *body]
    return Loose(
        table=Table(
            box=union([word.box for row in used for word in row.words]),
            rows=(*header, *cells),
            header_rows=len(header),
            index=min(word.place for row in used for word in row.words),
        ),
        lines=frozenset(line for row in used for line in row.lines),
    )


def _columns(body: Sequence[Row]) -> list[tuple[float, float]] | None:
    """Return the columns' left and right ends: the first for names, the others of figures."""
    figures = [row for row in body if row.is_of_figures]
    gap = _NARROWEST_GAP * max(row.size for row in figures)
    spans: list[tuple[float, float]] = []
    for x0, x1 in sorted((word.box.x0, word.box.x1) for row in figures for word in row.words):
        if spans and x0 - spans[-1][1] < gap:
            spans[-1] = spans[-1][0], max(spans[-1][1], x1)
        else:
            spans.append((x0, x1))
    while len(spans) > _FEWEST_FIGURES and _figure_share(figures, spans[1]) < _FIGURE_SHARE:
        spans[:2] = [(spans[0][0], spans[1][1])]
    if not _FEWEST_FIGURES < len(spans) <= _MOST_COLUMNS:
        return None
    if any(_figure_share(figures, span) < _FIGURE_SHARE for span in spans[1:]):
        return None
    marks = [word.text for row in figures for word in row.words if _FIGURE.fullmatch(word.text)]
    if sum(any(map(str.isdigit, mark)) for mark in marks) < _FIGURE_SHARE * len(marks):
        return None
    return spans


def _figure_share(rows: Sequence[Row], span: tuple[float, float]) -> float:
    words = [
        word
        for row in rows
        for word in row.words
        if span[0] <= (word.box.x0 + word.box.x1) / 2 <= span[1]
    ]
    return sum(bool(_FIGURE.fullmatch(word.text)) for word in words) / max(1, len(words))


def _fits(row: Row, columns: Sequence[tuple[float, float]]) -> bool:
    """Tell whether no word reaches from one column into the next."""
    return _is_title(row, columns) or not any(
        word.box.x0 < after[0] - _SLACK and word.box.x1 > after[0] + _SLACK
        for word in row.words
        for after in columns[1:]
    )


def _is_title(row: Row, columns: Sequence[tuple[float, float]]) -> bool:
    """Tell whether a row names those below it: one phrase at the left, however long."""
    reach = row.words[-1].box.x1 - columns[0][0]
    return (
        len(_phrases(row)) == 1
        and not row.is_of_figures
        and row.words[0].box.x0 < columns[0][1]
        and reach < _LONGEST_TITLE * (columns[-1][1] - columns[0][0])
    )


def _column_of(box: Box, columns: Sequence[tuple[float, float]]) -> int:
    """Return the column nearest to the middle of a box; names reach up to the figures."""
    middle = (box.x0 + box.x1) / 2
    if middle < columns[1][0] and box.x0 < columns[0][1]:
        return 0
    return min(
        range(len(columns)),
        key=lambda number: max(columns[number][0] - middle, middle - columns[number][1]),
    )


def _cells(row: Row, columns: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    cells = [""] * len(columns)
    title = _is_title(row, columns)
    for word in row.words:
        column = 0 if title else _column_of(word.box, columns)
        cells[column] = tidy(f"{cells[column]} {word.text}")
    return tuple(_LEADERS.sub("", cell) for cell in cells)


def _header(
    above: Sequence[Row], first: Row, columns: Sequence[tuple[float, float]], rules: Sequence[Edge]
) -> list[Row]:
    """Return the rows over the figures that name columns, from the top."""
    heads: list[Row] = []
    below = first
    for row in reversed(above):
        if len(heads) == _MOST_HEADER_ROWS or below.baseline - row.baseline > (
            _FARTHEST * max(row.size, below.size)
        ):
            break
        ruled = any(
            row.baseline < rule.at < below.baseline - 0.5 * below.size
            and rule.end - rule.start > 0.9 * (columns[-1][1] - columns[0][0])
            for rule in rules
        )
        if (ruled and heads) or any(
            phrase[0].box.x0 < columns[0][1] and phrase[-1].box.x1 > columns[1][0] + _SLACK
            for phrase in _phrases(row)
        ):
            break
        heads.insert(0, row)
        below = row
    return heads


def _phrases(row: Row) -> list[list[Word]]:
    """Part a row where the blank is wider than one between words."""
    phrases: list[list[Word]] = []
    for word in row.words:
        if phrases and word.box.x0 - phrases[-1][-1].box.x1 < _PHRASE_GAP * row.size:
            phrases[-1].append(word)
        else:
            phrases.append([word])
    return phrases


def _header_cells(
    heads: Sequence[Row], columns: Sequence[tuple[float, float]], rules: Sequence[Edge]
) -> list[tuple[str, ...]]:
    """Return one row of names, or two where names with a rule under them span columns."""
    upper, lower = [""] * len(columns), [""] * len(columns)
    for row in heads:
        for phrase in _phrases(row):
            box = union([word.box for word in phrase])
            text = tidy(" ".join(word.text for word in phrase))
            spanned = _spanned(box, row, columns, rules)
            if spanned:
                for column in spanned:
                    upper[column] = joined(upper[column], text) if upper[column] else text
                continue
            for word in phrase if _reaches(box, columns) else [None]:
                column = _column_of(word.box if word else box, columns)
                part = tidy(word.text) if word else text
                lower[column] = joined(lower[column], part) if lower[column] else part
    if not any(upper):
        return [tuple(lower)] if any(lower) else []
    # A name that nothing spans stands in the first row, as one that reaches over both.
    for column, name in enumerate(upper):
        if not name:
            upper[column], lower[column] = lower[column], ""
    return [tuple(upper), tuple(lower)] if any(lower) else [tuple(upper)]


def _reaches(box: Box, columns: Sequence[tuple[float, float]]) -> bool:
    return any(box.x0 < start - _SLACK and box.x1 > start + _SLACK for start, _ in columns[1:])


def _spanned(
    box: Box, row: Row, columns: Sequence[tuple[float, float]], rules: Sequence[Edge]
) -> list[int]:
    """Return the columns over which a name stands by the rule under it."""
    for rule in rules:
        under = 0 <= rule.at - row.baseline <= _RULE_BELOW * row.size
        if under and rule.start - _SLACK <= box.x0 and box.x1 <= rule.end + _SLACK:
            over = [
                number
                for number, (start, end) in enumerate(columns)
                if rule.start - _SLACK <= (start + end) / 2 <= rule.end + _SLACK
            ]
            if 1 < len(over) < len(columns):
                return over
    return []
