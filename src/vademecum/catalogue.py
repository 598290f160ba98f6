"""What can be done over an opened database, before there is any model?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from vademecum.adapters.blobs.folder import FolderBlobs
from vademecum.adapters.clock import SystemClock
from vademecum.deadline import Turnstile
from vademecum.errors import DatabaseAway, Forbidden
from vademecum.ingest.deliver import ended, outdated_reason
from vademecum.keyring import Keyring
from vademecum.model.calibration import Calibration, stale
from vademecum.model.document import Deletion, IngestResult
from vademecum.model.ids import DocumentId, Tenant
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt, StoreReceipt
from vademecum.opening import Tell, open_reranker, search_rules, silent
from vademecum.ports.store import Outdated
from vademecum.postgres import embedded
from vademecum.postgres.conversation.store import PostgresConversations
from vademecum.postgres.document import PostgresDocuments
from vademecum.postgres.erasure import PostgresPeople
from vademecum.postgres.evaluation.calibration import PostgresCalibrations
from vademecum.postgres.evaluation.store import PostgresEvaluations
from vademecum.postgres.generation.store import PostgresGenerations
from vademecum.postgres.isolation import check_isolation
from vademecum.postgres.jobs import PostgresJobs
from vademecum.postgres.migrate import migrate
from vademecum.postgres.pool import Pool, open_pool
from vademecum.postgres.scrub import scrub
from vademecum.postgres.serving.export import PostgresExport
from vademecum.postgres.serving.key import PostgresKeys
from vademecum.postgres.serving.repeat import PostgresRepeats
from vademecum.postgres.serving.spending import PostgresSpending
from vademecum.postgres.trace.feedback import PostgresFeedback
from vademecum.postgres.trace.record import PostgresRecords
from vademecum.purge.again import AgainParts
from vademecum.purge.person import PersonParts, purge_person, would_purge
from vademecum.purge.pipeline import PurgeParts, purge_document, purge_version
from vademecum.settings import Loaded
from vademecum.talking import Talking

SESSION = timedelta(hours=2)
SPENDING_KEPT = timedelta(days=62)
# Nobody keeps a backup that is older.
DELETIONS_KEPT = timedelta(days=400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What can be done without a model: list, read, delete, explain."""

    documents: PostgresDocuments
    records: PostgresRecords
    people: PostgresPeople
    conversations: PostgresConversations
    talking: Talking
    keyring: Keyring
    feedback: PostgresFeedback
    evaluations: PostgresEvaluations
    calibrations: PostgresCalibrations
    exports: PostgresExport
    repeats: PostgresRepeats
    spending: PostgresSpending
    blobs: FolderBlobs
    jobs: PostgresJobs
    pool: Pool
    turnstile: Turnstile
    """Of searches over this pool, each of which reads with two connections at a time."""
    owner_url: str | None = field(default=None, repr=False)
    """Of a login that owns the schema, where there is one: it builds the graph."""

    async def delete(self, document_id: DocumentId, *, scope: Scope) -> Receipt:
        """Delete a document from every store. Raises: DocumentNotFound."""
        return await purge_document(self._purge_parts, scope, document_id)

    async def remove(self, scope: Scope, deletion: Deletion) -> IngestResult:
        """Delete what its source says is gone; nothing happens where it is gone already."""
        place = (deletion.collection, deletion.uri)
        gone: Receipt | Outdated | None
        if deletion.version is None:
            known = await self.documents.find(scope, *place)
            gone = await self.delete(known, scope=scope) if known else None
        else:
            gone = await purge_version(self._purge_parts, scope, *place, deletion.version)
        if isinstance(gone, Receipt):
            return ended(deletion.uri, "deleted", "" if gone.complete else "see the receipt")
        if isinstance(gone, Outdated):
            return ended(deletion.uri, "unchanged", outdated_reason(gone))
        return ended(deletion.uri, "unchanged", "there is no such document")

    async def forget(self, *, scope: Scope) -> Receipt:
        """Forget the principal of `scope` in every store. What could not go yet is `left`, and the
        worker tries again."""
        return await purge_person(self.person_parts, scope)

    async def would_forget(self, *, scope: Scope) -> dict[str, int]:
        """Return how much of the principal of `scope` each store holds."""
        return await would_purge(self.person_parts, scope)

    async def let_go(self, tenant: Tenant) -> int:
        """Delete what serving keeps no longer: sessions that are over, first answers of yesterday,
        what was spent long ago, what was deleted longer ago than any backup. Return how many."""
        scope, now = Scope.for_operator(tenant), datetime.now(UTC)
        before = now.date() - SPENDING_KEPT
        return (
            await self.keyring.store.let_go(scope)
            + await self.repeats.let_go(scope)
            + await self.spending.let_go(scope, before)
            + await self.people.let_go(tenant, now - DELETIONS_KEPT)
        )

    async def scrub(self) -> list[StoreReceipt]:
        """Take what was deleted, of all tenants, out of the server's files: it rewrites them all.

        Raises: DatabaseAway, Forbidden where no login owns the schema.
        """
        if self.owner_url is None:
            raise Forbidden("no login here owns the schema", hint="set DATABASE_OWNER_URL")
        receipts = await scrub(self.owner_url)
        if not any(receipt.left for receipt in receipts):
            await self.people.scrubbed()
        return receipts

    @property
    def person_parts(self) -> PersonParts:
        return PersonParts(people=self.people, documents=self._purge_parts)

    @property
    def again_parts(self) -> AgainParts:
        return AgainParts(
            people=self.people, documents=self._purge_parts, conversations=self.conversations
        )

    @property
    def _purge_parts(self) -> PurgeParts:
        return PurgeParts(store=self.documents, blobs=self.blobs)


def catalogue_over(pool: Pool, blobs: Path, *, idle: timedelta = SESSION) -> Catalogue:
    """Return the Catalogue of a migrated database, with its originals in the folder `blobs`; a
    session is over after `idle`."""
    conversations = PostgresConversations(pool)
    return Catalogue(
        documents=PostgresDocuments(pool),
        records=PostgresRecords(pool),
        people=PostgresPeople(pool),
        conversations=conversations,
        talking=Talking(store=conversations, clock=SystemClock(), idle=idle),
        keyring=Keyring(store=PostgresKeys(pool), clock=SystemClock()),
        feedback=PostgresFeedback(pool),
        evaluations=PostgresEvaluations(pool),
        calibrations=PostgresCalibrations(pool),
        exports=PostgresExport(pool),
        repeats=PostgresRepeats(pool),
        spending=PostgresSpending(pool),
        blobs=FolderBlobs(blobs),
        jobs=PostgresJobs(pool),
        pool=pool,
        turnstile=Turnstile(places=max(1, pool.max_size // 2)),
    )


@asynccontextmanager
async def open_catalogue(loaded: Loaded, *, tell: Tell = silent) -> AsyncIterator[Catalogue]:
    """Open the database, bring its schema up to date, check its walls."""
    database = loaded.settings.database
    server: embedded.Server | None = None
    if database.url is None:
        server = await asyncio.to_thread(embedded.start, loaded.home, progress=tell)
        url = owner_url = server.url
        login = None
    else:
        url = database.url.get_secret_value()
        owner_url = database.owner_url.get_secret_value() if database.owner_url else url
        login = _login(url) if database.owner_url else None
    try:
        await asyncio.to_thread(migrate, owner_url, login=login)
        async with open_pool(url, size=database.pool_size) as pool:
            await check_isolation(pool)
            idle = timedelta(hours=loaded.settings.conversation.session_hours)
            opened = catalogue_over(pool, loaded.home / "blobs", idle=idle)
            yield replace(opened, owner_url=owner_url)
    finally:
        if server is not None:
            server.close()


def _login(url: str) -> str:
    login = conninfo_to_dict(url).get("user")
    if not login:
        raise DatabaseAway(
            "DATABASE_URL names no login", hint="with DATABASE_OWNER_URL both need one"
        )
    return str(login)


async def calibrations_of(
    catalogue: Catalogue, scope: Scope, loaded: Loaded
) -> list[tuple[Calibration, str]]:
    """Return the tenant's calibrations, each with why it is not gone by, "" where it is."""
    kept = await catalogue.calibrations.all(scope)
    if not kept:
        return []
    current = await PostgresGenerations(catalogue.pool).current()
    generation = current.generation.id if current else 0
    # A reranker's name is a part of the ranking, and that of one in a file tells what is in it.
    reranker = await asyncio.to_thread(open_reranker, loaded.settings)
    ranking = search_rules(loaded.settings, reranker).ranking.named
    if reranker is not None:
        await reranker.aclose()
    return [(one, stale(one, generation, ranking)) for one in kept]
