"""How does an accepted document become searchable? Read `_ingest` from top to bottom."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from uuid import UUID

from vademecum.errors import (
    DocumentUnreadable,
    EmbeddingInvalid,
    IndexSwitched,
    LimitExceeded,
    MediaTypeUnknown,
    ModelUnusable,
    NotFound,
    PasswordRequired,
    ServiceAway,
    TextTooLong,
)
from vademecum.failpoint import step
from vademecum.ingest.accept import storable
from vademecum.ingest.analyse import keyword_rows
from vademecum.ingest.contextualize import contextualize
from vademecum.ingest.embed import Encoders, Passage, embed_missing, vectors_of
from vademecum.model.chunk import Chunk
from vademecum.model.document import ParsedDocument, State
from vademecum.model.ids import RevisionId, Tenant
from vademecum.model.index import IndexGeneration
from vademecum.ports.blobs import BlobStore
from vademecum.ports.chunker import Chunker, Chunking, VectorChunker
from vademecum.ports.embedder import Embedder, TokenEncoder, Tokenizer
from vademecum.ports.parser import Parser
from vademecum.ports.store import Claim, Publication, RevisionStore
from vademecum.text.language import detect

MOST_ATTEMPTS = 5
_EXTEND_SECONDS = 5.0
_LANGUAGE_SAMPLE = 4_000
_REJECTED = (MediaTypeUnknown, LimitExceeded)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestParts:
    """What the line needs from outside."""

    revisions: RevisionStore
    blobs: BlobStore
    parser: Parser
    chunking: Chunking
    tokenizer: Tokenizer
    embedder: Embedder
    encoder: TokenEncoder
    generation: IndexGeneration

    @property
    def encoders(self) -> Encoders:
        return Encoders(embedder=self.embedder, encoder=self.encoder)


async def ingest_revision(parts: IngestParts, tenant: Tenant, item: UUID) -> None:
    """Parse, split, contextualize, analyse, embed and publish one revision.

    Does nothing where another worker holds it or it is done. What may go better another time
    passes through (EmbeddingInvalid, ModelUnusable, ServiceAway): the lease runs out and the
    revision is tried again, `MOST_ATTEMPTS` times in all; then it fails, with the last reason.
    IndexSwitched passes through at any attempt. One that is cancelled gives back what it had, and
    its attempt is not counted.
    """
    with step("claim"):
        claim = await parts.revisions.claim(tenant, RevisionId(item))
    if claim is None:
        return
    if claim.attempts > MOST_ATTEMPTS:
        await parts.revisions.finish(
            claim, State.FAILED, f"gave up after {MOST_ATTEMPTS} attempts", None
        )
        return
    try:
        async with _kept(parts.revisions, claim):
            await _ingest(parts, claim)
    except IndexSwitched:
        raise  # no fault of the document: whoever reads the index that is read now does it
    except asyncio.CancelledError:
        with contextlib.suppress(ServiceAway):  # then the lease runs out, and the attempt counts
            await parts.revisions.release(claim)
        raise
    except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
        if claim.attempts < MOST_ATTEMPTS and not isinstance(error, TextTooLong):
            raise
        await parts.revisions.finish(claim, State.FAILED, str(error), None)


async def _ingest(parts: IngestParts, claim: Claim) -> None:
    with step("parse"):
        parsed = await _parse(parts, claim)
    if parsed is None:
        return
    if not parsed.text.strip():
        state = State.NO_TEXT if parsed.page_starts else State.EMPTY
        reason = "no text was found on its pages" if parsed.page_starts else "it is empty"
        await parts.revisions.finish(claim, state, reason, parsed)
        return
    with step("split"):
        chunker = await _chunker(parts, claim, parsed)
        language, chunks = await asyncio.to_thread(_split, parts, claim, parsed, chunker)
        rows = await asyncio.to_thread(
            keyword_rows, chunks, claim.tenant, parts.generation.average_length
        )
    passages = [Passage(text=chunk.embedded_text, language=chunk.language) for chunk in chunks]
    with step("embed"):
        known = await parts.revisions.known(claim, [passage.text for passage in passages])
        embedded = await embed_missing(passages, known, parts.encoders)
    await parts.revisions.publish(
        claim,
        Publication(
            parsed=replace(parsed, warnings=(*parsed.warnings, *chunker.notes)),
            language=language,
            chunks=chunks,
            encoded=embedded.rows,
            unembedded=embedded.failed,
            keyword_rows=rows,
            new_chunks=sum(passage.text not in known for passage in passages),
            embedded=embedded.fresh,
        ),
    )


async def _parse(parts: IngestParts, claim: Claim) -> ParsedDocument | None:
    """Return the parsed document, or end the revision and return None."""
    try:
        content = await parts.blobs.get(claim.tenant, claim.blob)
        parsed = await parts.parser.parse(content, claim.uri)
        return replace(parsed, metadata=storable(parsed.metadata))
    except PasswordRequired as error:
        await parts.revisions.finish(claim, State.PASSWORD_REQUIRED, str(error), None)
    except _REJECTED as error:
        await parts.revisions.finish(claim, State.REJECTED, str(error), None)
    except (DocumentUnreadable, NotFound) as error:
        await parts.revisions.finish(claim, State.FAILED, str(error), None)
    return None


async def _chunker(parts: IngestParts, claim: Claim, parsed: ParsedDocument) -> Chunker:
    """Return the document's chunker; one that divides by vectors has them already."""
    chunker = parts.chunking.choose(claim.collection, parsed.media_type, claim.chunker)
    if not isinstance(chunker, VectorChunker):
        return chunker
    texts = await asyncio.to_thread(chunker.wanted, parsed, parts.tokenizer)
    return chunker.knowing(await vectors_of(texts, parts.embedder))


def _split(
    parts: IngestParts, claim: Claim, parsed: ParsedDocument, chunker: Chunker
) -> tuple[str, list[Chunk]]:
    sample = parsed.text[:_LANGUAGE_SAMPLE]
    language = claim.language or parsed.language or detect(sample)
    spans = chunker.split(parsed, parts.tokenizer)
    title = claim.title or parsed.title
    return language, contextualize(parsed, spans, title, language, parts.tokenizer)


@contextlib.asynccontextmanager
async def _kept(revisions: RevisionStore, claim: Claim) -> AsyncIterator[None]:
    """Prolong the lease while the block works. A lost one is noticed when it publishes."""

    async def extend() -> None:
        while True:
            await asyncio.sleep(_EXTEND_SECONDS)
            try:
                if not await revisions.extend(claim):
                    return
            except ServiceAway:
                pass  # there is time for another try before the lease runs out

    extending = asyncio.create_task(extend())
    try:
        yield
    finally:
        extending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await extending
