"""Where is the truth kept? Each method is one transaction in the given scope."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol
from uuid import UUID

from vademecum.model.answer import Answer
from vademecum.model.chunk import Chunk
from vademecum.model.document import Document, IngestResult, ParsedDocument, Revision, Source, State
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import ChunkId, ConversationId, DocumentId, RevisionId, Tenant, TraceId
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
class Claim:
    """The right to work on one revision until `lease`; `token` fences off a late worker."""

    tenant: Tenant
    document_id: DocumentId
    revision_id: RevisionId
    token: UUID
    lease_until: datetime
    uri: str
    title: str | None
    language: str | None
    blob: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A whole revision, ready to be seen. Row i of each sequence belongs to chunk i.

    `vectors` has shape (len(chunks), d); `new_chunks` counts those not in the old revision.
    """

    parsed: ParsedDocument
    language: str
    chunks: Sequence[Chunk]
    vectors: FloatArray
    keyword_rows: Sequence[KeywordRow]
    new_chunks: int
    embedded: int


class DocumentStore(Protocol):
    """Documents as they are accepted, read and deleted."""

    async def accept(self, scope: Scope, source: Source, blob: str, fingerprint: str) -> Accepted:
        """Write document, revision and job in one transaction, idempotent by content hash and
        fingerprint. A change of access or metadata alone is applied at once, without work."""
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

    async def text(self, scope: Scope, document_id: DocumentId) -> str:
        """Return the extracted text of the current revision. Raises DocumentNotFound."""
        ...

    async def chunks(self, scope: Scope, document_id: DocumentId) -> list[Chunk]: ...

    async def history(self, scope: Scope, document_id: DocumentId) -> list[Revision]: ...

    async def languages(self, scope: Scope) -> frozenset[str]:
        """Return the languages of the documents that the scope may see."""
        ...

    async def confirm(
        self, scope: Scope, chunk_ids: Sequence[ChunkId], day: date
    ) -> dict[ChunkId, ConfirmedChunk]:
        """Return those that are alive, of the current revision, visible, and of a document in
        force on `day`, with their text."""
        ...

    async def delete(
        self, scope: Scope, document_id: DocumentId
    ) -> tuple[list[StoreReceipt], list[str]]:
        """Delete rows of every table; return the counts and the blobs that nothing names now."""
        ...


class RevisionStore(Protocol):
    """The work on accepted revisions; every write after the claim is fenced by its token."""

    async def claim(self, tenant: Tenant, revision_id: RevisionId) -> Claim | None:
        """Take the lease, count the attempt; None if somebody holds it or the work is done."""
        ...

    async def extend(self, claim: Claim) -> bool:
        """Prolong the lease; False if it was lost."""
        ...

    async def known_vectors(self, claim: Claim, texts: Sequence[str]) -> dict[str, FloatArray]:
        """Return the vectors that the document's current chunks already have, by text."""
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


class RecordStore(Protocol):
    """Conversations and traces: what was said, and what happened meanwhile."""

    async def record_answer(self, scope: Scope, answer: Answer, trace: Trace) -> None:
        """Write both turns and the trace. The conversation is made where it is new.

        Raises: ConversationNotFound where it belongs to somebody else.
        """
        ...

    async def record_trace(self, scope: Scope, trace: Trace) -> None: ...

    async def trace(self, scope: Scope, trace_id: TraceId) -> Trace:
        """Raises TraceNotFound, also where the scope may not see it."""
        ...

    async def turns(self, scope: Scope, conversation_id: ConversationId) -> list[tuple[str, str]]:
        """Return (role, text) in the order of saving. Raises ConversationNotFound."""
        ...
