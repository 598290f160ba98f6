"""Which rows of a table name its columns?"""

from collections.abc import Sequence

import regex

MOST_CELLS = 2_000_000
_VALUE = regex.compile(
    r"[^\p{L}]*\d[^\p{L}]*"  # numbers, dates, amounts
    r"|\p{Sc}\s?[\d.,]+\s?\p{L}?|[\d.,]+\s?[\p{L}%]{1,3}"
    r"|(?:true|false|yes|no|sim|não|sí|n/a|-)",
    regex.I,
)
_NAME_LETTERS = 80
_YEAR = regex.compile(r"(?:19|20)\d\d")


def header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return 1 where the first row looks as if it named the columns, else 0."""
    if len(rows) < 2:
        return 0
    first = [cell.strip() for cell in rows[0]]
    filled = [cell for cell in first if cell]
    if len(filled) < 2 or len(filled) * 2 < max(len(row) for row in rows[:50]):
        return 0
    if any(len(cell) > _NAME_LETTERS or _is_value(cell) for cell in filled):
        return 0
    return int(len({cell.lower() for cell in filled}) == len(filled) or len(filled) > 3)


def _is_value(cell: str) -> bool:
    return bool(_VALUE.fullmatch(cell)) and not _YEAR.fullmatch(cell)
