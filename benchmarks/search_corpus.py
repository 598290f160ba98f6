"""Which documents, filters, permissions and questions do the search benchmarks have?

`corpus.py` of the peers' harness gives texts, vectors and questions. Here its chunks are put into
documents so that a filter on a document's metadata keeps what the harness keeps by a chunk's:
documents are made of chunks of one `tenant`. Of a hundred tenants 95 hold 1 % of the chunks each;
the chunks of the others are divided once more, into 50 that hold 0.1 % each.

    python benchmarks/search_corpus.py --peers FOLDER --home HOME --chunks 100000

loads them into the database of HOME, once, with the questions beside it.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNKS_A_DOCUMENT = 15
WHOLE = 95
"""Tenants below this hold 1 % of the chunks, the others are divided."""
QUESTIONS = 400
TOP = 20
LABELS = {"group:all": 1.0, "group:tenth": 0.1, "group:hundredth": 0.01, "group:thousandth": 0.001}
"""Labels, with the share of the chunks that whoever has one may see."""


def tenant_of(chunk: int) -> str:
    """Return the tenant of a chunk, by its number."""
    hundred = chunk % 100
    return f"t{hundred if hundred < WHOLE else chunk % 1000}"


def large_tenant(number: int) -> str:
    """Return one of the tenants that hold 1 %."""
    return f"t{number % WHOLE}"


def small_tenant(number: int) -> str:
    """Return one of the tenants that hold 0.1 %."""
    return f"t{100 * (number % 10) + WHOLE + number // 10 % (100 - WHOLE)}"


def documents_of(chunks: int) -> list[list[int]]:
    """Return the chunks of each document: at most 15, all of one tenant."""
    by_tenant: dict[str, list[int]] = {}
    for chunk in range(chunks):
        by_tenant.setdefault(tenant_of(chunk), []).append(chunk)
    return [
        own[at : at + CHUNKS_A_DOCUMENT]
        for own in by_tenant.values()
        for at in range(0, len(own), CHUNKS_A_DOCUMENT)
    ]


def access_of(tenant: str) -> tuple[str, ...]:
    """Return the labels of a tenant's documents; who has them sees 100, 10, 1 and 0.1 %."""
    number = int(tenant[1:])
    return (
        "group:all",
        *(["group:tenth"] if number < 10 else []),
        *(["group:hundredth"] if number == 10 else []),
        *(["group:thousandth"] if number == WHOLE else []),
    )


def visible_to(label: str, chunks: int) -> NDArray[np.bool_]:
    """Return which chunks whoever has a label may see, shape (chunks,)."""
    return np.array([label in access_of(tenant_of(chunk)) for chunk in range(chunks)])


def made(chunks: int) -> Any:
    """Return the harness's corpus with our documents and tenants in its metadata."""
    corpus = import_module("corpus").make(chunks, QUESTIONS)
    for number, own in enumerate(documents_of(chunks)):
        for chunk in own:
            corpus.metas[chunk] |= {"tenant": tenant_of(chunk), "doc_id": f"d{number}"}
    return corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What is asked: texts, vectors (n, d), the chunk that each is about, and its document."""

    texts: list[str]
    vectors: NDArray[np.float32]
    targets: list[int]
    chunks: int

    @classmethod
    def of(cls, corpus: Any) -> "Questions":
        return cls(
            texts=list(corpus.q_texts),
            vectors=corpus.q_vecs,
            targets=[int(target[1:]) for target in corpus.q_target],
            chunks=len(corpus.ids),
        )

    def save(self, path: Path) -> None:
        facts = {"texts": self.texts, "targets": self.targets, "chunks": self.chunks}
        np.savez(path, vectors=self.vectors, facts=np.array(json.dumps(facts)))

    @classmethod
    def load(cls, path: Path) -> "Questions":
        with np.load(path) as kept:
            return cls(vectors=kept["vectors"], **json.loads(str(kept["facts"])))

    @property
    def known(self) -> dict[str, NDArray[np.float32]]:
        return dict(zip(self.texts, self.vectors, strict=True))


def sources(corpus: Any) -> Iterator[Any]:
    """Yield our documents: their texts as JSON, for `ingest_peers.GivenTexts`."""
    from vademecum.model.document import Source

    for number, own in enumerate(documents_of(len(corpus.ids))):
        tenant = tenant_of(own[0])
        yield Source(
            uri=f"d{number}",
            content=json.dumps([corpus.texts[chunk] for chunk in own]).encode(),
            collection="default",
            access=access_of(tenant),
            metadata={"tenant": tenant, "tenth": int(tenant[1:]) < 10},
            language="en",
            title=None,
        )


async def loaded(home: Path, corpus: Any) -> dict[str, Any]:
    """Bring the corpus into the database of `home` as a worker would leave it some minutes later:
    every count added up, the graph built where the product builds one, and vacuumed."""
    import psycopg
    from bench_support import SCOPE, Lookup, metered, opened_line
    from ingest_peers import GivenChunks, GivenTexts

    from vademecum.postgres.graph import PostgresGraph

    embedder = Lookup(dict(zip(corpus.texts, corpus.vecs, strict=True)))
    row: dict[str, Any] = {"chunks": len(corpus.ids)}
    async with opened_line(
        embedder, parser=GivenTexts(), chunking=GivenChunks(), home=home
    ) as line:
        with metered(row, line.postmaster):
            results = await line.app.ingest(sources(corpus), scope=SCOPE)
        assert sum(result.chunks for result in results) == len(corpus.texts)
        began = time.perf_counter()
        await line.app.reconcile_parts.upkeep.settle(SCOPE.tenant)
        row["settle_s"] = time.perf_counter() - began
        began = time.perf_counter()
        row["graph"] = await PostgresGraph(line.url, line.app.ingest_parts.generation).tend()
        row["graph_s"] = time.perf_counter() - began
        with psycopg.connect(line.url, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")
    Questions.of(corpus).save(home / "questions.npz")
    return row


def load_once(home: Path, peers: str, chunks: int) -> None:
    """Load HOME where it is not loaded yet. Raises SystemExit where it holds another number."""
    if (home / "questions.npz").is_file():
        held = Questions.load(home / "questions.npz").chunks
        if held != chunks:
            sys.exit(f"{home} holds {held} chunks, not {chunks}: name another folder")
        return
    sys.path.append(peers)
    home.mkdir(parents=True, exist_ok=True)
    print(json.dumps({"loaded": asyncio.run(loaded(home, made(chunks)))}), file=sys.stderr)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peers", default=os.environ.get("VADE_PEERS"), required=False)
    arguments.add_argument("--home", type=Path, required=True)
    arguments.add_argument("--chunks", type=int, default=10_000)
    options = arguments.parse_args()
    load_once(options.home, options.peers, options.chunks)


if __name__ == "__main__":
    main()
