"""How are answers kept that may be given again?"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from pgvector import HalfVector
from psycopg.types.json import Jsonb

from vademecum.model.answer import Checked, Citation, Sentence
from vademecum.model.ids import ChunkId, DocumentId, Tenant, TraceId
from vademecum.model.kept_answer import KeptAnswer, Looked, LookedNear, Near, Stay
from vademecum.model.passage import Signals
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("kept_answer")
# So many answers stay under one key: of one question in as many wordings.
_WORDINGS = 8


class PostgresKeptAnswers:
    """The KeptAnswerStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def look(self, scope: Scope, key: bytes) -> Looked:
        async with transaction(self._pool, scope) as connection:
            row = await (
                await connection.execute(_SQL["look"], _place(scope) | {"key": key})
            ).fetchone()
        assert row is not None
        kept = None if row["trace"] is None else _kept(TraceId(row["trace"]), row["body"])
        return Looked(kept=kept, moment=row["moment"], personal=row["personal"])

    async def keep(self, scope: Scope, key: bytes, answer: KeptAnswer, stay: Stay) -> None:
        values = _row(scope, key, answer, stay)
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["keep"], values)
            await connection.execute(_SQL["bound"], values)

    async def look_near(self, scope: Scope, near: Near, least: float) -> LookedNear:
        values = {
            "tenant": scope.tenant,
            "key": near.key,
            "vector": HalfVector(near.vector),
            "least": least,
            "collections": sorted(near.collections),
        }
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["look_near"], values)).fetchone()
        assert row is not None
        private = row["private"] or ""
        found = row["trace"] is not None and not private
        kept = _kept(TraceId(row["trace"]), row["body"]) if found else None
        return LookedNear(kept=kept, private=private)

    async def keep_near(self, scope: Scope, near: Near, answer: KeptAnswer, stay: Stay) -> None:
        own = {"vector": HalfVector(near.vector), "wordings": _WORDINGS}
        values = _row(scope, near.key, answer, stay) | own
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["lapse_near"], values)
            await connection.execute(_SQL["keep_near"], values)
            await connection.execute(_SQL["bound_near"], values)


async def forget_expired(pool: Pool, tenant: Tenant) -> int:
    """Delete the answers of a tenant whose time is over; return how many."""
    async with transaction(pool, Scope.for_operator(tenant)) as connection:
        cursor = await connection.execute(_SQL["expired"], {"tenant": tenant})
        near = await connection.execute(_SQL["expired_near"], {"tenant": tenant})
        return len(await cursor.fetchall()) + len(await near.fetchall())


def _place(scope: Scope) -> dict[str, Any]:
    return {"tenant": scope.tenant, "principal": scope.principal}


def _row(scope: Scope, key: bytes, answer: KeptAnswer, stay: Stay) -> dict[str, Any]:
    kept = {"key": key, "trace": answer.trace_id, "body": Jsonb(_body(answer))}
    return _place(scope) | kept | asdict(stay)


def _body(answer: KeptAnswer) -> dict[str, Any]:
    return {
        "mode": answer.mode,
        "said": [
            {
                "sentence": asdict(checked.sentence),
                "citations": [
                    asdict(one)
                    | {"chunk_id": str(one.chunk_id), "document_id": str(one.document_id)}
                    for one in checked.citations
                ],
            }
            for checked in answer.said
        ],
        "found": [[str(item), score, asdict(signals)] for item, score, signals in answer.found],
    }


def _kept(trace_id: TraceId, body: Mapping[str, Any]) -> KeptAnswer:
    return KeptAnswer(
        trace_id=trace_id,
        mode=body["mode"],
        said=tuple(
            Checked(
                mode=body["mode"],
                sentence=_sentence(one["sentence"]),
                citations=tuple(_citation(cited) for cited in one["citations"]),
            )
            for one in body["said"]
        ),
        found=tuple(
            (ChunkId(UUID(item)), score, Signals(**signals))
            for item, score, signals in body["found"]
        ),
    )


def _sentence(body: Mapping[str, Any]) -> Sentence:
    """Answers that rest on memories are not kept, so there is no id among these values."""
    return Sentence(**{**body, "markers": tuple(body["markers"]), "memories": ()})


def _citation(body: Mapping[str, Any]) -> Citation:
    ids = {
        "chunk_id": ChunkId(UUID(body["chunk_id"])),
        "document_id": DocumentId(UUID(body["document_id"])),
    }
    return Citation(**{**body, **ids})
