"""Which blocks stand together, and where may one that is too large be cut?"""

from collections.abc import Iterable, Iterator

import regex

from vademecum.adapters.chunkers.cut import (
    MOST_CHARACTERS_A_TOKEN,
    Ruler,
    is_boundary,
    last_blank,
    last_cluster,
    last_line,
    last_sentence,
)
from vademecum.model.document import Block

_ITEM = r"\n(?=[^\S\n]*(?:[-*+•–·▪]|\d{1,9}[.)]|\p{L}[.)])\s)"
ITEM = regex.compile(_ITEM)
_ITEM_BACKWARDS = regex.compile(rf"(?r){_ITEM}")


def sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield the blocks that stand below the same headings, these first."""
    section: list[Block] = []
    opening = True  # only headings so far
    for block in blocks:
        if not opening and (
            block.kind == "heading" or block.heading_path != section[-1].heading_path
        ):
            yield section
            section, opening = [], True
        section.append(block)
        opening = opening and block.kind == "heading"
    if section:
        yield section


def inside(text: str, block: Block, start: int, limit: int) -> int | None:
    """Return the last place in (start, limit] where one of the block's own parts ends."""
    if block.kind == "table":
        row = last_line(text, start, limit)
        # Column names without a row tell nothing.
        return row if row is not None and (start > block.start or row > block.header_end) else None
    if block.kind == "list":
        item = _ITEM_BACKWARDS.search(text, start + 1, limit + 1)
        return item.start() if item else last_line(text, start, limit)
    if block.kind == "code":
        return last_line(text, start, limit)
    return last_sentence(text, start, limit, block.end)


def anywhere(text: str, block: Block, start: int, limit: int) -> int | None:
    """Return the best place in (start, limit] inside a part that is itself too large; there is
    none inside a letter cluster."""
    if block.kind == "table" and (row := last_line(text, start, limit)):
        return row
    if block.kind == "list" and (end := last_sentence(text, start, limit, block.end)):
        return end
    middle = start + (limit - start) // 2
    line = last_line(text, middle, limit)
    if line is not None and is_boundary(text, start, line):
        return line
    return last_blank(text, start, limit) or last_cluster(text, start, limit)


def fits(ruler: Ruler, start: int, end: int, tokens: int) -> bool:
    """Return whether a stretch has at most `tokens` tokens, and no more characters than they may
    have."""
    return (
        end - start <= MOST_CHARACTERS_A_TOKEN * tokens
        and ruler.count(ruler.text[start:end]) <= tokens
    )


def header_of(table: Block, ruler: Ruler, tokens: int) -> tuple[str, int]:
    """Return the column names that chunks of `tokens` tokens repeat, with their own tokens; "" and
    0 where they would fill more than half of one."""
    header = ruler.text[table.start : table.header_end]
    if len(header) > MOST_CHARACTERS_A_TOKEN * tokens:
        return "", 0
    cost = ruler.count(header)
    return (header, cost) if 2 * cost <= tokens else ("", 0)
