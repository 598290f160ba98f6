"""What does a chunk need to know of its place, so that it can be found alone?"""

from collections.abc import Sequence

from vademecum.model.chunk import Chunk, Span, on_pages
from vademecum.model.document import ParsedDocument
from vademecum.model.ids import ChunkId, new_uuid
from vademecum.ports.embedder import Tokenizer
from vademecum.text.language import detect

CONTEXT_TOKENS = 64


def context_line(title: str, heading_path: Sequence[str], tokenizer: Tokenizer) -> str:
    """Return `title > heading > heading`, each once, from the left as far as the limit allows."""
    parts: list[str] = []
    for part in (title, *heading_path):
        if part and part not in parts:
            longer = " > ".join([*parts, part])
            if tokenizer.count(longer) > CONTEXT_TOKENS:
                break
            parts.append(part)
    return " > ".join(parts)


def contextualize(
    parsed: ParsedDocument,
    spans: Sequence[Span],
    title: str,
    language: str,
    tokenizer: Tokenizer,
) -> list[Chunk]:
    """Make chunks of spans: text, context line, pages and language of each."""
    prior = frozenset({language})
    chunks = []
    for ordinal, span in enumerate(spans):
        text = parsed.text[span.start : span.end]
        line = context_line(title, span.heading_path, tokenizer)
        first, last, breaks = on_pages(parsed.page_starts, span.start, span.end)
        chunks.append(
            Chunk(
                id=ChunkId(new_uuid()),
                ordinal=ordinal,
                start=span.start,
                end=span.end,
                text=text,
                context="\n".join(filter(None, (line, span.header))),
                tokens=tokenizer.count(text),
                heading_path=span.heading_path,
                page_start=first,
                page_end=last,
                page_breaks=breaks,
                language=detect(text, prior),
                section=span.section,
            )
        )
    return chunks
