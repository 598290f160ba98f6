"""What is wrong with the spans that a chunker gave? Nothing may be, whatever the document."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import regex

from vademecum.ingest.embed import vectors_of
from vademecum.model.chunk import Span
from vademecum.model.document import Block, ParsedDocument
from vademecum.ports.chunker import Chunker, VectorChunker
from vademecum.ports.embedder import Embedder, Tokenizer

_CLUSTER = regex.compile(r"\X")
# A chunker may end a chunk after this many characters a token, were it inside a letter cluster.
_FEWEST_CHARACTERS_A_TOKEN = 16


def divided(
    chunker: Chunker, document: ParsedDocument, tokenizer: Tokenizer, embedder: Embedder
) -> list[Span]:
    """Return the spans; a chunker that wants vectors gets the embedder's, as in ingestion. Not for
    code that runs in an event loop."""
    if isinstance(chunker, VectorChunker):
        texts = chunker.wanted(document, tokenizer)
        chunker = chunker.knowing(asyncio.run(vectors_of(texts, embedder)))
    return chunker.split(document, tokenizer)


def faults(
    document: ParsedDocument,
    spans: Sequence[Span],
    tokenizer: Tokenizer,
    *,
    tokens: int,
    overlaps: bool = False,
) -> list[str]:
    """Return everything that breaks the promises of `Chunker.split`; [] is right.

    `tokens` is the chunker's limit; `overlaps` allows that a span begins inside the one before.
    """
    return [
        *_order(spans, overlaps=overlaps),
        *_losses(document.text, spans),
        *_sizes(document.text, spans, tokenizer, tokens),
        *_cut_clusters(document.text, spans, tokenizer, tokens),
        *_sections(spans),
    ]


def section_faults(
    document: ParsedDocument, spans: Sequence[Span], tokenizer: Tokenizer, *, tokens: int
) -> list[str]:
    """Return which chunks have no section, and which sections have more than `tokens` tokens though
    they hold several chunks; [] is right."""
    found = [f"{span} has no section" for span in spans if span.section is None]
    held = Counter(span.section for span in spans if span.section is not None)
    for (start, end), count in held.items():
        size = tokenizer.count(document.text[start:end])
        if count > 1 and size > tokens:
            found.append(f"{size} tokens in the section {start}:{end}")
    return found


def _sections(spans: Sequence[Span]) -> Iterator[str]:
    for span in spans:
        if span.section and not span.section[0] <= span.start < span.end <= span.section[1]:
            yield f"{span} is not in its section"
    named = [span.section for span in spans if span.section is not None]
    for one, other in pairwise(named):
        if one != other and one[1] > other[0]:
            yield f"sections overlap at {other[0]}"


def table_faults(
    document: ParsedDocument, spans: Sequence[Span], tokenizer: Tokenizer, *, tokens: int
) -> list[str]:
    """Return where the column names of a table are missing or wrong, and where a row is cut that
    a chunk could hold; [] is right."""
    tables = [block for block in document.blocks if block.header_end > block.start]
    found = []
    for span in spans:
        own = [table for table in tables if table.header_end <= span.start < table.end]
        wanted = _header(document.text, own[0], tokenizer, tokens) if own else ""
        if span.header != wanted:
            found.append(f"{span} has not the header {wanted!r}")
    for table in tables:
        found += _cut_rows(document.text, table, spans, tokenizer, tokens)
    return found


def _header(text: str, table: Block, tokenizer: Tokenizer, tokens: int) -> str:
    header = text[table.start : table.header_end]
    return header if 2 * tokenizer.count(header) <= tokens else ""


def _order(spans: Sequence[Span], *, overlaps: bool) -> Iterator[str]:
    for one, other in pairwise(spans):
        if one.start >= other.start:
            yield "starts do not increase"
        if one.end >= other.end:
            yield f"{other} lies inside {one}"
        if not overlaps and one.end > other.start:
            yield f"spans overlap at {other.start}"


def _losses(text: str, spans: Sequence[Span]) -> Iterator[str]:
    covered = 0
    for start, end in [*((span.start, span.end) for span in spans), (len(text), len(text))]:
        if lost := text[covered:start].strip():
            yield f"lost {lost[:20]!r} before {start}"
        covered = max(covered, end)


def _sizes(text: str, spans: Sequence[Span], tokenizer: Tokenizer, tokens: int) -> Iterator[str]:
    for span in spans:
        piece = text[span.start : span.end]
        first = _CLUSTER.match(piece)
        bare = first is None or (first.end() == 1 and piece[0].isspace())
        if bare or piece[-1].isspace():  # a blank may carry a mark
            yield f"blanks at the ends of {span}"
        count = tokenizer.count(piece) + (tokenizer.count(span.header) if span.header else 0)
        if count > tokens and (len(piece) > 1 or span.header):
            yield f"{count} tokens in {span}"


def _cut_clusters(
    text: str, spans: Sequence[Span], tokenizer: Tokenizer, tokens: int
) -> Iterator[str]:
    edges = {edge for span in spans for edge in (span.start, span.end)}
    room = tokens - max((tokenizer.count(span.header) for span in spans if span.header), default=0)
    for match in _CLUSTER.finditer(text):
        start, end = match.start(), match.start() + len(match.group().rstrip())
        if end - start <= 1 or text[start].isspace():
            continue
        large = (
            end - start > tokens * _FEWEST_CHARACTERS_A_TOKEN
            or tokenizer.count(match.group()) > room
        )
        if not large and (cut := edges & set(range(start + 1, end))):
            yield f"a cluster is cut at {min(cut)}"


def _cut_rows(
    text: str, table: Block, spans: Sequence[Span], tokenizer: Tokenizer, tokens: int
) -> Iterator[str]:
    header = _header(text, table, tokenizer, tokens)
    room = tokens - (tokenizer.count(header) if header else 0)
    edges = {edge for span in spans for edge in (span.start, span.end)}
    start = table.start
    for row in text[table.start : table.end].split("\n"):
        inner = range(start + 1, start + len(row.rstrip()))
        if any(edge in inner for edge in edges) and tokenizer.count(row) <= room:
            yield f"the row {row!r} is cut"
        start += len(row) + 1
