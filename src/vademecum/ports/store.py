"""Where is the truth kept? Each method is one transaction in the given scope."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol
from uuid import UUID

from vademecum.model.change import ChangeEvent
from vademecum.model.chunk import Chunk
from vademecum.model.document import Document, IngestResult, ParsedDocument, Revision, Source, State
from vademecum.model.embedding import Encoded
from vademecum.model.ids import ChunkId, DocumentId, RevisionId, Tenant, TraceId
from vademecum.model.index import KeywordRow
from vademecum.model.passage import ConfirmedChunk
from vademecum.model.principal import Scope
from vademecum.model.purge import StoreReceipt
from vademecum.model.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A source that is safe with us. `unchanged` = same bytes and settings: nothing to do."""

    document_id: DocumentId
    revision_id: RevisionId
    unchanged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated:
    """A version that was left, since the source delivered an equal or newer one before."""

    uri: str
    version: int
    known: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to work on one revision until `lease`; `token` fences off a late worker."""

    tenant: Tenant
    document_id: DocumentId
    revision_id: RevisionId
    token: UUID
    lease_until: datetime
    collection: str
    uri: str
    title: str | None
    language: str | None
    chunker: str | None
    blob: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A whole revision, ready to be seen. Row i of each sequence belongs to chunk i.

    `unembedded` tells why a chunk has no row in `encoded`. `new_chunks` counts those whose text
    was not known before.
    """

    parsed: ParsedDocument
    language: str
    chunks: Sequence[Chunk]
    encoded: Sequence[Encoded | None]
    unembedded: Mapping[int, str]
    keyword_rows: Sequence[KeywordRow]
    new_chunks: int
    embedded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A chunk of which the index lacks a row."""

    chunk_id: ChunkId
    embedded_text: str
    language: str
    has_vector: bool
    has_states: bool
    has_terms: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """What a deletion counted in each table, and the blobs that may have lost their last name."""

    document_id: DocumentId
    receipts: Sequence[StoreReceipt]
    blobs: Sequence[str]


class DocumentStore(Protocol):
    """Documents as they are accepted, read and deleted."""

    async def known(
        self, scope: Scope, source: Source, content_hash: str, fingerprint: str
    ) -> Accepted | None:
        """Return what `accept` would without a change; None where it would write, or may not."""
        ...

    async def accept(
        self, scope: Scope, source: Source, blob: str, fingerprint: str
    ) -> Accepted | Outdated:
        """Write document, revision and job in one transaction, idempotent by content hash (the
        blob's key) and fingerprint. A change of access or metadata alone is applied at once,
        without work. Raises: Forbidden, QueueFull."""
        ...

    async def results(
        self, scope: Scope, revision_ids: Sequence[RevisionId]
    ) -> dict[RevisionId, IngestResult]:
        """Return what became of each revision; those still in work have status `accepted`."""
        ...

    async def all(self, scope: Scope) -> list[Document]: ...

    async def get(self, scope: Scope, document_id: DocumentId) -> Document:
        """Raises DocumentNotFound, also where the scope may not see it."""
        ...

    async def find(self, scope: Scope, collection: str, uri: str) -> DocumentId | None:
        """Return the document at that place, None also where the scope may not see it."""
        ...

    async def text(self, scope: Scope, document_id: DocumentId, as_of: date | None = None) -> str:
        """Return the extracted text of the current revision, or of the one in force at the end
        of a day, empty where none was. Raises DocumentNotFound."""
        ...

    async def chunks(self, scope: Scope, document_id: DocumentId) -> list[Chunk]: ...

    async def history(self, scope: Scope, document_id: DocumentId) -> list[Revision]: ...

    async def confirm(
        self,
        scope: Scope,
        chunk_ids: Sequence[ChunkId],
        as_of: date | None,
        *,
        sections: bool = False,
    ) -> dict[ChunkId, ConfirmedChunk]:
        """Return those that are alive, visible, and of a revision in force at the end of the day
        `as_of`, or now, with their text. With `sections` a chunk that has a Section is given with
        the Section's place and text, of the same revision, under its own id."""
        ...

    async def delete(self, scope: Scope, document_id: DocumentId) -> Deleted:
        """Delete rows of every table. Raises DocumentNotFound."""
        ...

    async def delete_version(
        self, scope: Scope, collection: str, uri: str, version: int
    ) -> Deleted | Outdated | None:
        """Delete what a source says is gone since `version`, and never take that version or an
        older one again. None where there is no such document that the scope may see."""
        ...

    def unnamed(self, scope: Scope, blobs: Sequence[str]) -> AbstractAsyncContextManager[list[str]]:
        """Give those blobs that no revision names, and keep them from being named meanwhile."""
        ...

    async def changes(self, scope: Scope, after: tuple[int, int], limit: int) -> list[ChangeEvent]:
        """Return the next changes after a cursor, in the order of commitment, each exactly once
        to a consumer who keeps the cursor of the last one. Raises Forbidden."""
        ...


class RevisionStore(Protocol):
    """The work on accepted revisions; every write after the claim is fenced by its token."""

    async def claim(self, tenant: Tenant, revision_id: RevisionId) -> Claim | None:
        """Take the lease, count the attempt; None if somebody holds it or the work is done."""
        ...

    async def extend(self, claim: Claim) -> bool:
        """Prolong the lease; False if it was lost."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give the lease back, and do not count the attempt: it was broken off."""
        ...

    async def known(self, claim: Claim, texts: Sequence[str]) -> dict[str, Encoded]:
        """Return what any chunk of the tenant already has, by text."""
        ...

    async def publish(self, claim: Claim, publication: Publication) -> bool:
        """Make the revision current and retire the old one; False if the lease was lost."""
        ...

    async def finish(
        self, claim: Claim, state: State, reason: str, parsed: ParsedDocument | None
    ) -> bool:
        """End a revision that has no chunks; False if the lease was lost.

        With `parsed` (empty, no_text) it becomes current, so that the old text is found no more;
        without (rejected, password_required, failed) the readable one before stays current.
        """
        ...


class UpkeepStore(Protocol):
    """What the reconciler looks after, tenant by tenant."""

    async def tenants(self) -> list[Tenant]: ...

    async def gaps(
        self, tenant: Tenant, after: ChunkId, limit: int
    ) -> tuple[list[Gap], ChunkId | None]:
        """Look at the next `limit` chunks after `after`: put right what the index holds of their
        place, and return those of which it lacks a row, and the last one looked at, or None
        where there was none."""
        ...

    async def fill(
        self,
        tenant: Tenant,
        encoded: Mapping[ChunkId, Encoded],
        unembedded: Mapping[ChunkId, str],
        keyword_rows: Mapping[ChunkId, KeywordRow],
    ) -> None:
        """Write index rows that were lacking, and why some chunks have no vector."""
        ...

    async def retire(self, tenant: Tenant, before: datetime) -> list[str]:
        """Delete revisions that ceased to be in force, or failed, before that time, but for each
        document's newest and its current one; return the blob that each of them named."""
        ...

    async def settle(self, tenant: Tenant) -> None:
        """Add up what writers left to add up, and look again at collections that have grown."""
        ...

    async def forget_traces(self, tenant: Tenant, before: datetime) -> int:
        """Delete traces and audit events from before that time; return how many traces."""
        ...

    async def forget_changes(self, tenant: Tenant, before: datetime) -> int:
        """Delete events of the outbox from before that time; return how many."""
        ...

    async def forget_answers(self, tenant: Tenant) -> int:
        """Delete kept answers whose time is over; return how many."""
        ...


class RecordStore(Protocol):
    """Traces: what happened while something was searched or answered."""

    async def record_trace(self, scope: Scope, trace: Trace) -> None: ...

    async def trace(self, scope: Scope, trace_id: TraceId) -> Trace:
        """Raises TraceNotFound, also where the scope may not see it."""
        ...
