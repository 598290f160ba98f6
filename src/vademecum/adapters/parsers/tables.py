"""Which rows of a table name its columns?"""

from collections.abc import Sequence
from itertools import pairwise

import regex

MOST_CELLS = 2_000_000
_VALUE = regex.compile(
    r"[^\p{L}]*\d[^\p{L}]*"  # numbers, dates, amounts
    r"|\p{Sc}\s?[\d.,]+\s?\p{L}?|[\d.,]+\s?[\p{L}%]{1,3}"
    r"|(?:true|false|yes|no|sim|não|sí|n/a|-)",
    regex.I,
)
_NAME_LETTERS = 80
_NO_NAME_ENDS = (",", ";", "、", "。")
_YEAR = regex.compile(r"(?:19|20)\d\d")


def header_rows(rows: Sequence[Sequence[str]], *, usual: bool = False) -> int:
    """Return how many rows at the top look as if they named the columns: none, one, or two where
    the first has names over several columns.

    Two columns of words alone are as often names with their values beside them, so they have none
    unless a table of this kind has names as a rule (`usual`).
    """
    if len(rows) < 2:
        return 0
    width = max(len(row) for row in rows[:50])
    if not _are_names(rows[0], width):
        return 0
    if width == 2 and not usual and not any(_is_value(cell) for row in rows for cell in row):
        return 0
    grouped = any(left and left == right for left, right in pairwise(rows[0]))
    return 2 if grouped and len(rows) > 2 and _are_names(rows[1], width) else 1


def _are_names(row: Sequence[str], width: int) -> bool:
    filled = [cell.strip() for cell in row if cell.strip()]
    if len(filled) < 2 or len(filled) * 2 < width:
        return False
    return not any(
        len(cell) > _NAME_LETTERS or cell.endswith(_NO_NAME_ENDS) or _is_value(cell)
        for cell in filled
    )


def _is_value(cell: str) -> bool:
    return bool(_VALUE.fullmatch(cell)) and not _YEAR.fullmatch(cell)
