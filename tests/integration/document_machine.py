"""Documents against a model in memory: any history, crashes included, must end as the model says.

Letters in the names of the checks are those of the safety and convergence invariants: S1 no ghost,
S2 isolation, S4 one version, S5 one space, S6 durable acknowledgement, S7 idempotence, S8 monotone,
S12 exactly-once effect, C1 the index is the projection, C2 findable, C3 rebuild, C5 nothing left.
"""

import asyncio
import hashlib
import os
import re
from collections import Counter
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support import HALF, MISCOUNTED, Bench, make_bench, source

from vademecum.failpoint import POINTS, armed
from vademecum.ingest.pipeline import MOST_ATTEMPTS, ingest_revision
from vademecum.ingest.reconcile import reconcile
from vademecum.ingest.retain import retire
from vademecum.model.document import Deletion, Source
from vademecum.model.ids import DocumentId, RevisionId, Tenant, new_uuid
from vademecum.model.index import Selection
from vademecum.model.passage import Hit, Passage
from vademecum.model.principal import Scope
from vademecum.ports.index import Index
from vademecum.postgres.pool import Pool, open_pool
from vademecum.worker.loop import once

T = TypeVar("T")
TENANTS = ("one", "two")
URIS = ("a", "b", "c")
LABELS = (("tenant",), ("group:a",), ("group:b",), ("group:a", "group:b"), ())
SIZES = (20, 45)
SCOPES = [
    *(Scope.for_operator(tenant) for tenant in TENANTS),
    Scope.for_principal("one", "user:a", frozenset({"group:a"})),
    Scope.for_principal("one", "user:b", frozenset({"group:b"})),
    Scope.for_principal("two", "user:a", frozenset({"group:a"})),
]
_WORD = re.compile(r"(one|two)q([abc])q(\d+)q(\d+)x")
# What takes longer waits for something that will never come.
_LONGEST_SECONDS = 20
_LEFT = """
SELECT (SELECT count(*) FROM vademecum.procrastinate_jobs) AS jobs,
       (SELECT count(*) FROM vademecum.revision WHERE state = 'accepted') AS waiting,
       (SELECT count(*) FROM vademecum.revision WHERE lease_until IS NOT NULL) AS leases
"""


async def _nearest(index: Index, scope: Scope, query: Any) -> Sequence[Hit]:
    async with index.reading(scope) as reader:
        return (await reader.search_dense(query, Selection(), 1)).hits


class Crash(Exception):
    """The process ends here, as far as the database can tell."""


@dataclass(slots=True)
class Known:
    """A document as whoever brought it knows it."""

    id: DocumentId
    version: int
    parts: int
    access: tuple[str, ...]
    size: int
    # Versions that were acknowledged or may have been, since the last one that is surely there.
    maybe: set[tuple[int, int]] = field(default_factory=set)


Key = tuple[str, str]


def words(tenant: str, uri: str, version: int, parts: int) -> list[str]:
    return [f"{tenant}q{uri}q{version}q{part}x" for part in range(parts)]


def text(tenant: str, uri: str, version: int, parts: int) -> str:
    line = "The {word} rule stands alone in this part of plain text and words, for {word}."
    return "\n\n".join(line.format(word=word) for word in words(tenant, uri, version, parts))


class Documents(RuleBasedStateMachine):
    """Rules are what people, workers and faults do; invariants are looked at after each."""

    def __init__(self, url: str, folder: Path, rules: Counter[str]) -> None:
        super().__init__()
        self.url, self.folder, self.rules = url, folder, rules
        self.runner = asyncio.Runner()
        self.known: dict[Key, Known] = {}
        self.pending: list[tuple[Key, RevisionId]] = []
        self.version = 0
        self.seen: dict[tuple[str, Key], int] = {}
        self.index_is_whole = True
        self.size = SIZES[0]
        self.sources: dict[Key, int] = {}

    @initialize()
    def begin(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            tables = connection.execute(
                "SELECT string_agg(format('vademecum.%I', tablename), ', ') FROM pg_tables"
                " WHERE schemaname = 'vademecum' AND tablename <> 'migration'"
            ).fetchone()
            assert tables
            connection.execute(f"TRUNCATE {tables[0]} CASCADE")
            # Upkeep goes over the tenants that are known; the first document makes one known.
            connection.execute(
                "INSERT INTO vademecum.tenant (id) SELECT unnest(%s::text[])", [list(TENANTS)]
            )
        self.folder /= str(new_uuid())
        self._pool_manager = open_pool(self.url, size=4)
        self.pool: Pool = self.run(self._pool_manager.__aenter__())
        self.benches: dict[int, Bench] = {
            size: self.run(make_bench(self.pool, self.url, self.folder, tokens=size))
            for size in SIZES
        }

    def teardown(self) -> None:
        with self.runner, ExitStack() as closing:
            if hasattr(self, "pool"):
                closing.callback(lambda: self.run(self._pool_manager.__aexit__(None, None, None)))
                self.quiesce()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(asyncio.wait_for(work, _LONGEST_SECONDS))

    @property
    def bench(self) -> Bench:
        return self.benches[self.size]

    # --- what people do

    @rule(
        tenant=st.sampled_from(TENANTS),
        uri=st.sampled_from(URIS),
        parts=st.integers(1, 4),
        access=st.sampled_from(LABELS),
    )
    def put(self, tenant: str, uri: str, parts: int, access: tuple[str, ...]) -> None:
        """A new document, or a changed, longer or shorter version of a known one."""
        self.rules["put"] += 1
        self.version += 1
        made = source(uri, text(tenant, uri, self.version, parts), access=access, title="T")
        before = self.known.get((tenant, uri))
        (result,) = self.run(self.bench.app.ingest([made], scope=Scope.for_operator(tenant)))
        assert result.status == "ready", result
        assert result.id is not None
        assert before is None or result.id == before.id, "S7: the same document"
        self.known[tenant, uri] = Known(
            id=result.id, version=self.version, parts=parts, access=access, size=self.size
        )
        self.pending = [entry for entry in self.pending if entry[0] != (tenant, uri)]

    def settled(self) -> list[Key]:
        return sorted(key for key, document in self.known.items() if not document.maybe)

    @precondition(lambda self: self.settled())
    @rule(data=st.data(), access=st.sampled_from(LABELS[1:4]))
    def grant(self, data: st.DataObject, access: tuple[str, ...]) -> None:
        self.bring_again(data.draw(st.sampled_from(self.settled())), access)

    @precondition(lambda self: self.settled())
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        self.bring_again(data.draw(st.sampled_from(self.settled())), ())

    def bring_again(self, key: Key, access: tuple[str, ...]) -> None:
        """The same bytes: nothing is done but that the labels are granted or revoked."""
        document = self.known[key]
        self.rules["bring_again"] += 1
        before, ids = self.bench.embedded, self._chunk_ids(document.id)
        made = source(
            key[1], text(*key, document.version, document.parts), access=access, title="T"
        )
        (result,) = self.run(self.bench.app.ingest([made], scope=Scope.for_operator(key[0])))
        assert result.id == document.id, "S7"
        if document.size == self.size:
            assert result.status == "unchanged", "S7"
            assert self._chunk_ids(document.id) == ids, "S7: the same chunks"
            if not self.pending:  # whoever waits does others' work meanwhile
                assert self.bench.embedded == before, "S7: no embedding"
        document.access, document.size = access, self.size

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self.rules["delete"] += 1
        key = data.draw(st.sampled_from(sorted(self.known)))
        document = self.known.pop(key)
        scope = Scope.for_operator(key[0])
        receipt = self.run(self.bench.app.catalogue.delete(document.id, scope=scope))
        assert receipt.complete
        self.pending = [entry for entry in self.pending if entry[0] != key]

    @precondition(lambda self: self.settled())
    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        """Brought under another name, then gone from the first: two documents, one after other."""
        key = data.draw(st.sampled_from(self.settled()))
        document = self.known[key]
        name = data.draw(st.sampled_from([uri for uri in URIS if uri != key[1]]))
        self.rules["move"] += 1
        self.put(key[0], name, document.parts, document.access)
        self.delete_key(key)

    def delete_key(self, key: Key) -> None:
        gone = Deletion(uri=key[1], collection="default", version=None)
        (result,) = self.run(self.bench.app.ingest([gone], scope=Scope.for_operator(key[0])))
        assert result.status == "deleted"
        del self.known[key]
        self.pending = [entry for entry in self.pending if entry[0] != key]

    @rule(
        tenant=st.sampled_from(TENANTS),
        order=st.permutations([1, 2, 3]),
        deletion=st.sampled_from([None, 1, 2, 3]),
        twice=st.booleans(),
    )
    def events(self, tenant: str, order: list[int], deletion: int | None, twice: bool) -> None:
        """Versions of one source, out of order and doubled; one of them may be its end."""
        self.rules["events"] += 1
        uri, base, first = "a", self.sources.get((tenant, "a"), 0), self.version
        self.version += 3
        for number in order:
            version = base + number
            made: Source | Deletion = Deletion(uri=uri, collection="default", version=version)
            if number != deletion:
                plain = source(uri, text(tenant, uri, first + number, 1), title="T")
                values = {f: getattr(plain, f) for f in plain.__dataclass_fields__}
                made = Source(**values | {"version": version})
            for _ in range(1 + twice):
                self.run(self.bench.app.ingest([made], scope=Scope.for_operator(tenant)))
        self.sources[tenant, uri] = base + 3
        self.pending = [entry for entry in self.pending if entry[0] != (tenant, uri)]
        scope = Scope.for_operator(tenant)
        found = self.run(self.bench.documents.find(scope, "default", uri))
        if deletion == 3:
            assert found is None, "S12: the last word is the end"
            self.known.pop((tenant, uri), None)
            return
        assert found is not None
        self.known[tenant, uri] = Known(
            id=found, version=first + 3, parts=1, access=("tenant",), size=self.size
        )

    @rule(size=st.sampled_from(SIZES))
    def change_settings(self, size: int) -> None:
        """Other chunks are made from now on; what is there stays until it is brought again."""
        self.rules["change_settings"] += 1
        self.size = size
        for key, document in self.known.items():
            if document.size == size or document.maybe:
                continue
            made = source(
                key[1], text(*key, document.version, document.parts), access=document.access,
                title="T",
            )  # fmt: skip
            (result,) = self.run(self.bench.app.ingest([made], scope=Scope.for_operator(key[0])))
            assert result.status in ("ready", "unchanged"[: 9 * (document.size == 0)])
            document.size = size

    # --- what faults and workers do

    @rule(
        tenant=st.sampled_from(TENANTS),
        uri=st.sampled_from(URIS),
        parts=st.integers(1, 4),
        point=st.sampled_from(POINTS),
    )
    def crash_on_the_way(self, tenant: str, uri: str, parts: int, point: str) -> None:
        """The process dies before or after one step; the next one finds what is left."""
        self.rules["crash_on_the_way"] += 1
        key = (tenant, uri)
        before = self.known.get(key)
        self.version += 1
        access = before.access if before else ("tenant",)
        made = source(uri, text(tenant, uri, self.version, parts), access=access, title="T")

        def crash() -> None:
            raise Crash

        try:
            with armed(point, crash):
                self.run(self._bring_and_work(made, tenant))
        except Crash:
            note(f"crashed at {point}")
        self.bench.sql("UPDATE vademecum.revision SET lease_until = now() - interval '1 s'"
                       " WHERE lease_until IS NOT NULL")  # fmt: skip
        # Its worker had taken what waits; the library never gives that back by itself.
        self.bench.sql("UPDATE vademecum.procrastinate_jobs SET status = 'doing'")
        scope = Scope.for_operator(tenant)
        found = self.run(self.bench.documents.find(scope, "default", uri))
        if before is None and found is None:
            return  # not acknowledged, and not there
        assert found is not None
        if before is None:
            self.known[key] = Known(id=found, version=-1, parts=0, access=access, size=self.size)
        digest = hashlib.sha256(made.content).hexdigest()
        history = self.run(self.bench.documents.history(scope, found))
        if any(revision.content_hash == digest for revision in history):
            self.known[key].maybe.add((self.version, parts))
            self.settle(key)

    async def _bring_and_work(self, made: Source, tenant: str) -> None:
        scope = Scope.for_operator(tenant)
        await self.bench.app.ingest([made], scope=scope, wait=False)
        for job in await self.bench.app.catalogue.jobs.pending(scope):
            await ingest_revision(self.bench.app.ingest_parts, Tenant(tenant), job.revision_id)

    @rule(
        tenant=st.sampled_from(TENANTS),
        uri=st.sampled_from(URIS),
        parts=st.integers(1, 4),
    )
    def put_without_work(self, tenant: str, uri: str, parts: int) -> None:
        self.rules["put_without_work"] += 1
        key = (tenant, uri)
        before = self.known.get(key)
        self.version += 1
        access = before.access if before else ("tenant",)
        made = source(uri, text(tenant, uri, self.version, parts), access=access, title="T")
        accepted = self.run(self.bench.accept(made, Scope.for_operator(tenant)))
        if before is None:
            self.known[key] = Known(
                id=accepted.document_id, version=-1, parts=0, access=access, size=self.size
            )
        else:
            assert accepted.document_id == before.id, "S7"
        self.known[key].maybe.add((self.version, parts))
        self.pending.append((key, accepted.revision_id))

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def work_on_one(self, data: st.DataObject) -> None:
        """Workers take what waits in any order: an older version that ends late does not win."""
        self.rules["work_on_one"] += 1
        entry = data.draw(st.sampled_from(self.pending))
        self.pending.remove(entry)
        key, revision = entry
        self.run(ingest_revision(self.bench.app.ingest_parts, Tenant(key[0]), revision))
        self.settle(key)

    @precondition(lambda self: self.known and self.index_is_whole)
    @rule()
    def drop_index(self) -> None:
        self.rules["drop_index"] += 1
        self.bench.sql(
            "TRUNCATE vademecum.chunk_vector, vademecum.chunk_terms, vademecum.chunk_states"
        )
        self.index_is_whole = False

    @rule()
    def reconcile(self) -> None:
        self.rules["reconcile"] += 1
        self.run(reconcile(self.bench.app.reconcile_parts))
        self.index_is_whole = True

    @rule()
    def quiesce(self) -> None:
        """Faults off; after at most three passes nothing changes any more, and all is well, once
        an operator has brought back what was given up."""
        self.rules["quiesce"] += 1
        if self.index_is_whole:
            assert self.bench.sql(HALF) == [], "C1: whole before anything is mended"
        self.bench.sql("UPDATE vademecum.procrastinate_workers"
                       " SET last_heartbeat = now() - interval '31 s'")  # fmt: skip
        for _ in range(3):
            self.run(once(self.bench.app))
        self.retry_what_was_given_up()
        self.index_is_whole = True
        self.pending = []
        for key, document in self.known.items():
            if document.maybe:
                self.settle(key)
                last = max(document.maybe)
                assert self._found_version(key) == last, "S6, S12: the last acknowledged one"
                document.version, document.parts = last
                document.maybe = set()
                document.size = 0  # which settings a late worker had is not known here
        assert self.bench.sql(_LEFT) == [(0, 0, 0)], "C5"
        assert self.bench.sql(HALF) == [], "C1"
        self.bench.in_force("chunk_vector")
        self.bench.in_force("chunk_terms")
        assert self.bench.sql(MISCOUNTED) == [], "C1: the statistics are those of the rows"
        self._findable()
        self._no_blob_too_many()

    def retry_what_was_given_up(self) -> None:
        """What workers died of too often is put aside for an operator, and nothing else is."""
        given_up = self.bench.sql(
            "SELECT r.attempts FROM vademecum.revision r WHERE r.state = 'failed'"
        )
        assert all(attempts > MOST_ATTEMPTS for (attempts,) in given_up), "S6: given up too soon"
        for tenant in TENANTS if given_up else ():
            self.run(self.bench.app.catalogue.jobs.retry(Scope.for_operator(tenant), None))
            self.run(once(self.bench.app))

    def settle(self, key: Key) -> None:
        """A version that may be there is: those before it are history."""
        document = self.known[key]
        found = self._found_version(key)
        if found is not None and found in document.maybe:
            document.version, document.parts = found
            document.maybe = {m for m in document.maybe if m[0] >= found[0]}

    def _found_version(self, key: Key) -> tuple[int, int] | None:
        scope = Scope.for_operator(key[0])
        extracted = self.run(self.bench.documents.text(scope, self.known[key].id))
        found = _WORD.findall(extracted)
        if not found:
            return None
        return int(found[0][2]), len({part for *_, part in found})

    # --- what must hold at every moment

    @invariant()
    def everybody_sees_what_is_theirs(self) -> None:
        if not hasattr(self, "pool"):
            return
        for scope in SCOPES:
            found = self.run(self.bench.app.search("rule", scope=scope, k=50)).retrieval
            assert found.degraded == ()
            self._check(scope, found.passages)

    @invariant()
    def what_was_acknowledged_is_there(self) -> None:
        if not hasattr(self, "pool"):
            return
        for tenant in TENANTS:
            listed = self.run(self.bench.documents.all(Scope.for_operator(tenant)))
            assert {(tenant, d.uri): d.id for d in listed} == {
                key: d.id for key, d in self.known.items() if key[0] == tenant
            }, "S6"

    def _check(self, scope: Scope, passages: tuple[Passage, ...]) -> None:
        parts: dict[Key, set[int]] = {}
        versions: dict[Key, set[int]] = {}
        for passage in passages:
            for tenant, uri, version, part in _WORD.findall(passage.source.chunk.text):
                assert tenant == scope.tenant, "S2: another tenant's text"
                versions.setdefault((tenant, uri), set()).add(int(version))
                parts.setdefault((tenant, uri), set()).add(int(part))
        for key, those in versions.items():
            document = self.known.get(key)
            assert document is not None, "S1: a ghost"
            assert scope.operator or set(document.access) & scope.labels, "S2: not theirs"
            assert len(those) == 1, "S4: a mix of two versions"
            (version,) = those
            allowed = {document.version} | {m[0] for m in document.maybe}
            assert version in allowed, "S4, S12: no version that anybody brought last"
            last = self.seen.get((str(scope), key), 0)
            assert version >= last, "S8: an older version came back"
            self.seen[str(scope), key] = version
        if self.index_is_whole:
            for key, document in self.known.items():
                mine = key[0] == scope.tenant and (
                    scope.operator or set(document.access) & scope.labels
                )
                if mine and not document.maybe:
                    assert parts.get(key) == set(range(document.parts)), "C2: not all is found"

    def _chunk_ids(self, document_id: DocumentId) -> list[Any]:
        return self.bench.sql(
            "SELECT id FROM vademecum.chunk WHERE document = %s ORDER BY id", document_id
        )

    def _findable(self) -> None:
        for key, document in self.known.items():
            scope = Scope.for_operator(key[0])
            whole = self.run(self.bench.documents.text(scope, document.id))
            for chunk in self.run(self.bench.documents.chunks(scope, document.id)):
                assert whole[chunk.start : chunk.end] == chunk.text, "S4: an exact slice"
                query = self.run(self.bench.embedder.embed([chunk.embedded_text], "passage"))[0]
                index = self.bench.app.answer_parts.retrieve.index
                hits = self.run(_nearest(index, scope, query))
                assert [hit.chunk_id for hit in hits] == [chunk.id], "C2: top by its own text"
                assert hits[0].score > 0.999, "S5, IN-08: the vector is of this text"

    def _no_blob_too_many(self) -> None:
        """C5: an hour on, the sweep leaves the originals that revisions name, and no other."""
        for path in self.bench.stored_files():
            os.utime(path, (0, 0))
        self.run(retire(self.bench.app.retain_parts))
        named = {blob for (blob,) in self.bench.sql("SELECT blob FROM vademecum.revision")}
        assert {path.name for path in self.bench.stored_files()} == named, "S6, C5"
