"""What is wrong with a document that a reader gave? Nothing may be, whatever the bytes were."""

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from vademecum.model.document import ParsedDocument


def faults(document: ParsedDocument) -> list[str]:
    """Return everything that breaks the promises of `ParsedDocument`; [] is right."""
    return [*_text(document), *_blocks(document), *_pages(document)]


def _text(document: ParsedDocument) -> Iterator[str]:
    for text in (document.text, document.title, *document.warnings, *document.unread):
        if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            yield "a text holds a NUL or a lone surrogate"
            return
    if not unicodedata.is_normalized("NFC", document.text):
        yield "the text is not composed"


def _blocks(document: ParsedDocument) -> Iterator[str]:
    for block in document.blocks:
        if not 0 <= block.start < block.end <= len(document.text):
            yield f"{block} lies outside the text"
        if block.header_end and not block.start < block.header_end <= block.end:
            yield f"the header of {block} lies outside of it"
        if block.kind == "heading" and not 1 <= block.level <= 6:
            yield f"{block} has no level of a heading"
    for one, other in pairwise(document.blocks):
        if one.end > other.start:
            yield f"{other} begins inside {one}"


def _pages(document: ParsedDocument) -> Iterator[str]:
    starts = document.page_starts
    if list(starts) != sorted(starts) or any(not 0 <= at <= len(document.text) for at in starts):
        yield "pages lie outside the text, or not in its order"
