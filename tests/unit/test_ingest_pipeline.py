"""Does a revision end as it should, whatever happens on the way?"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.adapters.parsers.child import parse
from vademecum.errors import (
    DatabaseAway,
    DocumentUnreadable,
    EmbeddingInvalid,
    LimitExceeded,
    NotFound,
    PasswordRequired,
    ProviderAway,
    TextTooLong,
    VademecumError,
)
from vademecum.ingest import pipeline
from vademecum.ingest.pipeline import MOST_ATTEMPTS, IngestParts, ingest_revision
from vademecum.model.document import ParsedDocument, State
from vademecum.model.embedding import Encoded
from vademecum.model.ids import DocumentId, RevisionId, Tenant
from vademecum.model.index import IndexGeneration
from vademecum.ports.store import Claim, Publication
from vademecum.testing.embedders import Fault, HashEmbedder

TENANT = Tenant("default")
REVISION = RevisionId(UUID(int=2))
TEXT = b"# Rules\n\nThe doors open two hours before the concert begins."


class OneRevision:
    """RevisionStore of one revision in memory; `extensions` says what each extension does."""

    def __init__(
        self, *, attempts: int = 1, extensions: Sequence[bool | VademecumError] = ()
    ) -> None:
        self.published: Publication | None = None
        self.ended: tuple[State, str, bool] | None = None
        self.extended = 0
        self._attempts = attempts
        self._extensions = extensions

    async def claim(self, tenant: Tenant, revision_id: RevisionId) -> Claim | None:
        return Claim(
            tenant=tenant,
            document_id=DocumentId(UUID(int=1)),
            revision_id=revision_id,
            token=UUID(int=3),
            lease_until=datetime.now(UTC),
            collection="default",
            uri="rules.md",
            title=None,
            language=None,
            chunker=None,
            blob="key",
            attempts=self._attempts,
        )

    async def extend(self, claim: Claim) -> bool:
        self.extended += 1
        said = self._extensions[min(self.extended, len(self._extensions)) - 1]
        if isinstance(said, VademecumError):
            raise said
        return said

    async def known(self, claim: Claim, texts: Sequence[str]) -> dict[str, Encoded]:
        return {}

    async def publish(self, claim: Claim, publication: Publication) -> bool:
        self.published = publication
        return True

    async def finish(
        self, claim: Claim, state: State, reason: str, parsed: ParsedDocument | None
    ) -> bool:
        self.ended = (state, reason, parsed is not None)
        return True


class OneBlob:
    """BlobStore and Parser of one original, or of one error."""

    fingerprint = "here"

    def __init__(self, content: bytes | VademecumError) -> None:
        self._content = content

    async def put(self, tenant: Tenant, content: bytes) -> str:
        return "key"

    async def has(self, tenant: Tenant, key: str) -> bool:
        return True

    async def aged(self, tenant: Tenant, before: datetime) -> list[str]:
        return []

    async def delete(self, tenant: Tenant, key: str) -> bool:
        return True

    async def get(self, tenant: Tenant, key: str) -> bytes:
        if isinstance(self._content, VademecumError):
            raise self._content
        return self._content

    async def parse(self, content: bytes, uri: str) -> ParsedDocument:
        return parse(content, uri)


async def ingested(
    revisions: OneRevision,
    content: bytes | VademecumError = TEXT,
    *,
    fault: Fault | None = None,
    every: Fault | None = None,
    rule: ChunkingRule = ChunkingRule(size=20),  # noqa: B008 - a constant
    embedder: HashEmbedder | None = None,
) -> OneRevision:
    """`fault` strikes the first call of the embedder, `every` each one."""
    faults = dict.fromkeys(range(1, 99), every) if every else {1: fault} if fault else None
    embedder = embedder or HashEmbedder(faults=faults)
    blob = OneBlob(content)
    parts = IngestParts(
        revisions=revisions,
        blobs=blob,
        parser=blob,
        chunking=ChunkingRules(rule, window=400),
        tokenizer=embedder,
        embedder=embedder,
        encoder=embedder,
        generation=IndexGeneration(id=1, space=embedder.space, analyser="a", average_length=20.0),
    )
    await ingest_revision(parts, TENANT, REVISION)
    return revisions


async def test_a_good_one_is_published_whole() -> None:
    published = (await ingested(OneRevision())).published
    assert published is not None
    assert published.language == "en"
    assert [row.vector.shape for row in published.encoded if row] == [(64,)] * len(published.chunks)
    assert len(published.keyword_rows) == len(published.chunks) == published.new_chunks
    assert "two hours before" in published.chunks[-1].text


@pytest.mark.parametrize(
    ("content", "state", "current"),
    [
        (b" \n", State.EMPTY, True),
        (b"\x89PNG\r\n\x1a\n" + bytes(64), State.REJECTED, False),
        (PasswordRequired("locked"), State.PASSWORD_REQUIRED, False),
        (LimitExceeded("too many pages"), State.REJECTED, False),
        (DocumentUnreadable("broken"), State.FAILED, False),
        (NotFound("the original is gone"), State.FAILED, False),
    ],
)
async def test_what_cannot_be_read_ends(
    content: bytes | VademecumError, state: State, current: bool
) -> None:
    revisions = await ingested(OneRevision(), content)
    assert revisions.published is None
    assert revisions.ended is not None
    ended, reason, has_text = revisions.ended
    assert (ended, has_text) == (state, current)
    assert reason
    if isinstance(content, VademecumError):
        assert reason == str(content)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(error=ProviderAway("the provider is away", hint="try again")),
        Fault(error=EmbeddingInvalid("short")),
        Fault(nan_rows=(0,)),
        Fault(drop_rows=1),
    ],
)
async def test_what_may_go_better_is_tried_again_and_at_last_says_why(fault: Fault) -> None:
    early = OneRevision(attempts=MOST_ATTEMPTS - 1)
    with pytest.raises((ProviderAway, EmbeddingInvalid)) as caught:
        await ingested(early, every=fault)
    assert (early.ended, early.published) == (None, None)
    last = await ingested(OneRevision(attempts=MOST_ATTEMPTS), every=fault)
    assert last.ended == (State.FAILED, str(caught.value), False)


@pytest.mark.parametrize("fault", [Fault(nan_rows=(1,)), Fault(drop_rows=1)])
async def test_a_batch_that_came_back_broken_is_halved(fault: Fault) -> None:
    text = "\n\n".join(f"Gate {number} opens two hours before each show." for number in range(9))
    published = (await ingested(OneRevision(), text.encode(), fault=fault)).published
    assert published is not None
    assert published.unembedded == {}
    assert published.embedded == len(published.chunks) > 1


async def test_a_text_that_is_too_long_is_not_tried_again() -> None:
    fault = Fault(error=TextTooLong("600 tokens", hint="make chunks smaller"))
    revisions = await ingested(OneRevision(), every=fault)
    assert revisions.ended == (State.FAILED, "600 tokens. make chunks smaller", False)


async def test_one_that_killed_its_workers_is_given_up() -> None:
    revisions = await ingested(OneRevision(attempts=MOST_ATTEMPTS + 1))
    assert revisions.ended == (State.FAILED, "gave up after 5 attempts", False)
    assert revisions.published is None


async def test_a_fault_of_ours_passes() -> None:
    with pytest.raises(ValueError, match="ours"):
        await ingested(OneRevision(attempts=MOST_ATTEMPTS), fault=Fault(error=ValueError("ours")))


async def test_a_lease_that_cannot_be_extended_once_is_extended_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "_EXTEND_SECONDS", 0.01)
    revisions = OneRevision(extensions=[DatabaseAway("away"), True])
    await ingested(revisions, fault=Fault(delay=0.2))
    assert revisions.published is not None
    assert revisions.extended >= 2


async def test_a_lost_lease_is_asked_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_EXTEND_SECONDS", 0.01)
    revisions = OneRevision(extensions=[False])
    await ingested(revisions, fault=Fault(delay=0.1))
    assert revisions.extended == 1


async def test_no_task_outlives_the_work() -> None:
    before = asyncio.all_tasks()
    await ingested(OneRevision())
    with pytest.raises(ProviderAway):
        await ingested(OneRevision(), fault=Fault(error=ProviderAway("away")))
    assert asyncio.all_tasks() == before


SEMANTIC = ChunkingRule(strategy="semantic", size=200)
TWO_SUBJECTS = (
    b"The lift to the upper gallery is slow and the lift is old. Whoever needs the lift to the"
    b" gallery rings at the old lift door. The upper lift door of the gallery is repaired once a"
    b" year. Lentil soup is cooked with onions and cumin for an hour. Cumin and onions make the"
    b" lentil soup taste of more than lentil. An hour later the soup with onions and lentil is eaten."
)


async def test_sentences_are_embedded_before_a_text_is_divided_by_them() -> None:
    embedder = HashEmbedder()
    published = (
        await ingested(OneRevision(), TWO_SUBJECTS, rule=SEMANTIC, embedder=embedder)
    ).published
    assert published is not None
    sentences, chunks = embedder.calls
    assert len(sentences.texts) == 6
    assert all(text.startswith("passage: ") for text in sentences.texts)
    assert [chunk.text[:8] for chunk in published.chunks] == ["The lift", "Lentil s"]
    assert (published.new_chunks, published.embedded, len(chunks.texts)) == (2, 2, 2)


async def test_a_sentence_that_cannot_be_embedded_costs_only_itself() -> None:
    embedder = HashEmbedder(broken="rings")
    published = (
        await ingested(OneRevision(), TWO_SUBJECTS, rule=SEMANTIC, embedder=embedder)
    ).published
    assert published is not None
    assert "".join(chunk.text for chunk in published.chunks).count(".") == 6
    assert any("Lentil" in chunk.text and "lift" not in chunk.text for chunk in published.chunks)
    assert len(published.unembedded) == 1


async def test_a_provider_that_is_away_while_sentences_are_embedded_is_tried_again() -> None:
    away = Fault(error=ProviderAway("away", hint="wait"))
    with pytest.raises(ProviderAway):
        await ingested(OneRevision(), TWO_SUBJECTS, rule=SEMANTIC, fault=away)
    given_up = await ingested(
        OneRevision(attempts=MOST_ATTEMPTS), TWO_SUBJECTS, rule=SEMANTIC, every=away
    )
    assert given_up.ended is not None
    assert given_up.ended[0] == State.FAILED


async def test_chunks_of_sections_are_published_with_them() -> None:
    rule = ChunkingRule(strategy="parent", size=20, section=200)
    published = (await ingested(OneRevision(), TWO_SUBJECTS, rule=rule)).published
    assert published is not None
    whole = (0, len(TWO_SUBJECTS))
    assert [chunk.section for chunk in published.chunks] == [whole] * len(published.chunks)
    assert len(published.chunks) > 1
