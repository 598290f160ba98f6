"""How does a test make a passage without a store?"""

from datetime import UTC, datetime
from uuid import UUID, uuid5

from vademecum.model.chunk import Chunk
from vademecum.model.ids import ChunkId, DocumentId
from vademecum.model.passage import ConfirmedChunk, Passage, Signals

_SPACE = UUID("6f1c2f6e-0a54-5c0b-9d8e-3a2f6b1c7d40")


def make_chunk(text: str, *, uri: str = "rules.md", title: str = "Rules", at: int = 0) -> Chunk:
    """Return a chunk that begins at code point `at`; equal arguments give equal ids."""
    return Chunk(
        id=ChunkId(uuid5(_SPACE, f"{uri}#{at}")),
        ordinal=0,
        start=at,
        end=at + len(text),
        text=text,
        context=title,
        tokens=len(text.split()),
        heading_path=(),
        page_start=None,
        page_end=None,
        page_breaks=(),
        language="en",
    )


def make_passage(
    text: str, *, rank: int = 1, uri: str = "rules.md", title: str = "Rules", at: int = 0
) -> Passage:
    """Return a confirmed chunk as the `rank`-th passage."""
    source = ConfirmedChunk(
        chunk=make_chunk(text, uri=uri, title=title, at=at),
        document_id=DocumentId(uuid5(_SPACE, uri)),
        uri=uri,
        title=title,
        collection="default",
        metadata={},
        revision=1,
        since=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return Passage(rank=rank, score=1.0 / rank, source=source, signals=Signals())
