"""What is a document, what was read from it, and in which state is it?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from vademecum.model.ids import DocumentId, RevisionId

# Metadata with a meaning of its own: the first and the last day (ISO) of a document's validity.
EFFECTIVE_KEYS = ("effective_from", "effective_until")
# Where a document goes whose collection nobody names.
DEFAULT_COLLECTION = "default"
MetadataValue = str | int | float | bool | None
BlockKind = Literal["heading", "paragraph", "list", "table", "code", "quote"]


class State(StrEnum):
    """How far a revision has come. All but ACCEPTED are final; READY and PARTIAL have chunks."""

    ACCEPTED = "accepted"
    READY = "ready"
    PARTIAL = "partial"
    EMPTY = "empty"
    NO_TEXT = "no_text"
    PASSWORD_REQUIRED = "password_required"  # noqa: S105  # a state, no secret
    REJECTED = "rejected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a caller hands in: bytes under a uri, with what is known about them.

    `version` is the source's own count of the document's versions, where it has one: an older
    one that comes late is left. `chunker` names how to divide the text, None for what is set.
    """

    uri: str
    content: bytes
    collection: str
    access: tuple[str, ...]
    metadata: Mapping[str, MetadataValue]
    language: str | None
    title: str | None
    version: int | None = None
    chunker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A source that could not be read, and why: FAILED, or REJECTED where it must not be."""

    uri: str
    reason: str
    state: State = State.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A source says that a document is gone since `version`; without one it is gone now."""

    uri: str
    collection: str
    version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of the extracted text that hangs together: `text[start:end]`.

    `heading_path` names the headings above it, outermost first; `level` is 1..6 for headings,
    0 else. `header_end` is 0 but for a table: there `text[start:header_end]` are the lines that
    name its columns. Blocks of one document do not overlap and come in the order of the text.
    """

    kind: BlockKind
    start: int
    end: int
    level: int
    heading_path: tuple[str, ...]
    header_end: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """The one text that chunks, citations and pages point into.

    Offsets are code points of `text`, which is NFC and holds no NUL and no lone surrogate.
    `page_starts` holds the offset at which each page begins, or is empty where there are none.
    `language` is the one that the document itself names (ISO 639), or empty; `metadata` is what
    it says of itself. `warnings` tell what was left out on purpose, `unread` the pages or parts
    that could not be read.
    """

    text: str
    blocks: tuple[Block, ...]
    page_starts: tuple[int, ...]
    title: str
    media_type: str
    warnings: tuple[str, ...]
    language: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def page_at(self, offset: int) -> int | None:
        """Return the page, counted from 1, that holds the code point at `offset`."""
        return page_of(self.page_starts, offset)


def page_of(page_starts: Sequence[int], offset: int) -> int | None:
    """Return the page, counted from 1, that holds the code point at `offset` of a text whose pages
    begin at `page_starts`; None where it has none."""
    if not page_starts:
        return None
    return max(1, sum(start <= offset for start in page_starts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A source unit as its readers see it: (tenant, collection, uri) with its newest state.

    `content_hash` is the sha256 of the original, `fingerprint` that of the settings under which it
    was read. What was read last is in force in [valid_from, valid_until): None where nothing was,
    and where the time has no beginning or end.
    """

    id: DocumentId
    collection: str
    uri: str
    title: str
    access: tuple[str, ...]
    metadata: Mapping[str, Any]
    language: str
    state: State
    reason: str
    revision: int
    media_type: str
    chunks: int
    warnings: tuple[str, ...]
    content_hash: str
    fingerprint: str
    ingested_by: str
    valid_from: datetime | None
    valid_until: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One version of a document, for its history. In force in [valid_from, valid_until), which
    are None where it never was, and where the time has no end."""

    id: RevisionId
    number: int
    state: State
    reason: str
    content_hash: str
    ingested_by: str
    accepted_at: datetime
    published_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResult:
    """What became of one source. `status` is a State, `unchanged` where there was no work, or
    `deleted`. `warnings` tell what was left out on purpose.

    `id` is None where the source was never accepted.
    """

    id: DocumentId | None
    uri: str
    title: str
    status: str
    reason: str
    revision: int
    chunks: int
    new_chunks: int
    embedded: int
    language: str
    warnings: tuple[str, ...] = ()
