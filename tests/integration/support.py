"""Which parts does a test ingest and ask with? The real ones, but for the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.adapters.parsers.child import parse
from vademecum.adapters.tracing import NO_TRACING, Tracing
from vademecum.app import App
from vademecum.catalogue import catalogue_over
from vademecum.composing import AVERAGE_LENGTH, compose
from vademecum.ingest.retain import Keep
from vademecum.model.document import IngestResult, MetadataValue, ParsedDocument, Source
from vademecum.model.ids import ConversationId, DocumentId, RevisionId, new_uuid
from vademecum.model.principal import Scope
from vademecum.opening import (
    DEFAULT_ANSWERS,
    DEFAULT_SEARCH,
    AnswerRules,
    ReuseRules,
    SearchRules,
)
from vademecum.ports.language_model import LanguageModel
from vademecum.ports.parser import Parser
from vademecum.ports.reranker import Reranker
from vademecum.ports.store import Accepted
from vademecum.postgres.document import PostgresDocuments
from vademecum.postgres.generation.store import current_generation
from vademecum.postgres.learning import PostgresLearning
from vademecum.postgres.pool import Pool
from vademecum.postgres.revision import PostgresRevisions
from vademecum.testing.embedders import HashEmbedder
from vademecum.text.analyse import VERSION as ANALYSER_VERSION
from vademecum.wiring import QUIET_SECONDS

# One row for each revision in sight that is not whole: a chunk, a vector or a keyword row too many
# or too few, a row that says another time in force than its revision, or two in force at once.
HALF = """
SELECT d.uri, r.number, r.chunks, c.chunks, v.vectors, k.keywords, o.others
FROM vademecum.document d
JOIN vademecum.revision r ON r.tenant = d.tenant AND r.document = d.id
CROSS JOIN LATERAL (SELECT count(*) AS chunks FROM vademecum.chunk c
                    WHERE c.tenant = d.tenant AND c.revision = r.id) c
CROSS JOIN LATERAL (SELECT count(*) AS vectors FROM vademecum.chunk_vector v
                    JOIN vademecum.chunk c ON c.tenant = v.tenant AND c.id = v.chunk
                    WHERE c.tenant = d.tenant AND c.revision = r.id
                      AND (v.valid_from, v.valid_until) = (r.valid_from, r.valid_until)) v
CROSS JOIN LATERAL (SELECT count(*) AS keywords FROM vademecum.chunk_terms k
                    JOIN vademecum.chunk c ON c.tenant = k.tenant AND c.id = k.chunk
                    WHERE c.tenant = d.tenant AND c.revision = r.id
                      AND (k.valid_from, k.valid_until) = (r.valid_from, r.valid_until)) k
CROSS JOIN LATERAL (SELECT count(*) AS others FROM vademecum.revision o
                    WHERE o.tenant = d.tenant AND o.document = d.id AND o.id <> r.id
                      AND o.valid_from <= now() AND o.valid_until > now()
                      AND r.valid_from <= now() AND r.valid_until > now()) o
WHERE o.others > 0 OR v.vectors <> c.chunks OR k.keywords <> c.chunks
   OR c.chunks <> CASE WHEN r.valid_from IS NULL THEN 0 ELSE r.chunks END
   OR (d.current_revision = r.id) <> (r.valid_until = 'infinity')
"""
# Terms whose count, folded and not, is not that of the keyword rows which count.
MISCOUNTED = """
SELECT tenant, generation, term, collection, access_set, sum(chunks) FROM (
    SELECT tenant, generation, term, collection, access_set, chunks FROM vademecum.term_count
    UNION ALL
    SELECT tenant, generation, term, collection, access_set, chunks FROM vademecum.term_delta
    UNION ALL
    SELECT v.tenant, v.generation, u.term, v.collection, v.access_set, -1
    FROM vademecum.chunk_terms v
    CROSS JOIN LATERAL unnest(v.terms || ARRAY[0, vademecum.language_term(v.language)]) AS u (term)
    WHERE v.valid_until > now()
) AS every (tenant, generation, term, collection, access_set, chunks)
GROUP BY tenant, generation, term, collection, access_set
HAVING sum(chunks) <> 0
"""
TODAY = datetime.now(UTC).date()
OPERATOR = Scope.for_operator("default")


class HereParser:
    """The readers of the child process, called in this one: a child costs .3 s a document."""

    fingerprint = "readers-of-tests"

    async def parse(self, content: bytes, uri: str) -> ParsedDocument:
        return parse(content, uri)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A whole App over a fresh database, and what tests look at beside it."""

    app: App
    embedder: HashEmbedder
    blobs: Path
    superuser: str

    @property
    def documents(self) -> PostgresDocuments:
        return self.app.catalogue.documents

    @property
    def revisions(self) -> PostgresRevisions:
        revisions = self.app.ingest_parts.revisions
        assert isinstance(revisions, PostgresRevisions)
        return revisions

    @property
    def embedded(self) -> int:
        """How many passages were embedded so far."""
        return sum(len(call.texts) for call in self.embedder.calls if call.role == "passage")

    async def ingest(self, *sources: Source, scope: Scope = OPERATOR) -> list[IngestResult]:
        return await self.app.ingest(sources, scope=scope)

    async def accept(self, source: Source, scope: Scope = OPERATOR) -> Accepted:
        """Accept without work, as `--no-wait` does."""
        blob = await self.app.catalogue.blobs.put(scope.tenant, source.content)
        fingerprint = self.app.deliver_parts.fingerprint(source)
        accepted = await self.documents.accept(scope, source, blob, fingerprint)
        assert isinstance(accepted, Accepted)
        return accepted

    async def found(self, text: str, *, scope: Scope = OPERATOR, k: int = 50) -> list[str]:
        """The texts of the passages of a search, best first."""
        found = await self.app.search(text, scope=scope, k=k)
        assert found.retrieval.degraded == ()
        return [passage.source.chunk.text for passage in found.retrieval.passages]

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a query as a superuser, whom no row-level security binds."""
        with psycopg.connect(self.superuser, autocommit=True) as connection:
            cursor = connection.execute(query, values or None)
            return cursor.fetchall() if cursor.description else []

    def count(self, table: str) -> int:
        return int(self.sql(f"SELECT count(*) FROM vademecum.{table}")[0][0])

    def in_force(self, table: str) -> int:
        """How many rows of chunks a search of today may see."""
        chunks = (
            "SELECT c.id FROM vademecum.chunk c JOIN vademecum.revision r"
            " ON r.tenant = c.tenant AND r.id = c.revision"
            " WHERE r.valid_from <= now() AND r.valid_until > now()"
        )
        if table == "chunk":
            return len(self.sql(chunks))
        own = (
            f"SELECT chunk FROM vademecum.{table} WHERE valid_from <= now() AND valid_until > now()"
        )
        truth, index = sorted(self.sql(chunks)), sorted(self.sql(own))
        assert index == truth, f"{table} is not the projection of the chunks in force"
        return len(index)

    def tables_with(self, needle: str) -> list[str]:
        """Every table, of every schema, one of whose rows holds the text."""
        tables = self.sql(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
        )
        return [
            table
            for (table,) in tables
            if self.sql(f"SELECT 1 FROM {table} t WHERE t::text LIKE %s LIMIT 1", f"%{needle}%")
        ]

    def stored_files(self) -> list[Path]:
        return [path for path in self.blobs.rglob("*") if path.is_file()]

    def lose_lease(self, revision_id: RevisionId) -> None:
        self.sql(
            "UPDATE vademecum.revision SET lease_until = now() - interval '1 s' WHERE id = %s",
            revision_id,
        )

    async def conversation(self, scope: Scope, persona: str | None = None) -> ConversationId:
        """Begin a conversation in which nothing has been said."""
        talk = ConversationId(new_uuid())
        await self.app.catalogue.conversations.keep(scope, talk, [], persona=persona)
        return talk

    async def chunk_texts(self, document_id: DocumentId, scope: Scope = OPERATOR) -> list[str]:
        return [chunk.text for chunk in await self.documents.chunks(scope, document_id)]


async def make_bench(
    pool: Pool,
    superuser: str,
    folder: Path,
    *,
    parser: Parser | None = None,
    embedder: HashEmbedder | None = None,
    tokens: int = 20,
    keep_revisions: timedelta | None = None,
    language_model: LanguageModel | None = None,
    quiet: float = QUIET_SECONDS,
    reuse: ReuseRules | None = None,
    tracing: Tracing = NO_TRACING,
    search: SearchRules = DEFAULT_SEARCH,
    reranker: Reranker | None = None,
    answers: AnswerRules = DEFAULT_ANSWERS,
) -> Bench:
    """Compose what `vademecum.composing` composes, over `pool`, with the hash embedder."""
    embedder = embedder or HashEmbedder()
    generation = await current_generation(pool, embedder.space, ANALYSER_VERSION, AVERAGE_LENGTH)
    parser = parser or HereParser()
    chunking = ChunkingRules(ChunkingRule(size=tokens), window=400)
    app = compose(
        catalogue_over(pool, folder),
        generation,
        parser=parser,
        chunking=chunking,
        tokenizer=embedder,
        embedder=embedder,
        encoder=embedder,
        language_model=language_model,
        counter=embedder,
        keep=Keep(revisions=keep_revisions, changes=None, traces=None),
        reuse=reuse,
        tracing=tracing,
        search=search,
        reranker=reranker,
        answers=answers,
    )
    if app.learn_parts is not None:
        learning = PostgresLearning(pool, quiet=quiet)
        app = replace(app, learn_parts=replace(app.learn_parts, learning=learning))
    return Bench(app=app, embedder=embedder, blobs=folder, superuser=superuser)


def source(
    uri: str,
    text: str | bytes,
    *,
    collection: str = "default",
    access: Sequence[str] = ("tenant",),
    metadata: dict[str, MetadataValue] | None = None,
    language: str | None = "en",
    title: str | None = None,
) -> Source:
    """A document of a test, English unless told otherwise."""
    return Source(
        uri=uri,
        content=text if isinstance(text, bytes) else text.encode(),
        collection=collection,
        access=tuple(access),
        metadata=metadata or {},
        language=language,
        title=title,
    )


def paragraphs(words: Sequence[str]) -> str:
    """A text of one chunk a word: two paragraphs are more than a chunk of 20 tokens."""
    line = "The {word} rule stands alone in this part of plain text and words, for {word}."
    return "\n\n".join(line.format(word=word) for word in words)
