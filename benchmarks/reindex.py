"""Does a change of the index hold up searches, and does it survive being killed?

    python benchmarks/reindex.py [--chunks 100000] [--kills 2]

Hybrid searches over generated chunks, one at a time, with the hash embedder: alone, and while
another process builds the index for a model of another dimension, is killed at the given number of
moments and begun again, and switches. A search that fails, is degraded or finds nothing ends
the run. Then one rollback. Idle searches are timed before
and after, so that a machine that others use shows.
"""

import argparse
import asyncio
import json
import os
import random
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_support import (
    SCOPE,
    CountingHash,
    HereParser,
    Line,
    generated_documents,
    opened_line,
    percentile,
    report,
)

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.app import App, follow
from vademecum.composing import compose
from vademecum.ingest.retain import Keep
from vademecum.model.index import GenerationRecord, IndexGeneration
from vademecum.ports.embedder import Embedder
from vademecum.reindexing import Reindexing, reindex, roll_back

CHUNKS_A_DOCUMENT = 20
OLD, NEW = 64, 96
_CODE = re.compile(r"QX-\d+")


def rebuilding(line: Line) -> Reindexing:
    """Build for the new dimension over a line's database."""
    models = {"old": CountingHash(dimension=OLD), "new": CountingHash(dimension=NEW)}

    def over(generation: IndexGeneration, embedder: Embedder) -> App:
        assert isinstance(embedder, CountingHash)
        return compose(
            line.app.catalogue,
            generation,
            parser=HereParser(),
            chunking=ChunkingRules(ChunkingRule(), window=400),
            tokenizer=embedder,
            embedder=embedder,
            encoder=embedder,
            language_model=None,
            counter=embedder,
            keep=Keep(revisions=None, changes=None, traces=None),
        )

    async def reopen(record: GenerationRecord) -> App:
        app = over(record.generation, models[record.embedding or "old"])
        app.reopen = reopen
        return app

    def event(name: str, facts: Mapping[str, Any]) -> None:
        print(json.dumps({"event": name, **facts}), flush=True)

    return Reindexing(
        catalogue=line.app.catalogue,
        setting="old",
        name="new",
        embedder=models["new"],
        over=over,
        reopen=reopen,
        event=event,
    )


async def build_in(home: Path) -> None:
    async with opened_line(CountingHash(dimension=OLD), home=home) as line:
        await reindex(rebuilding(line))


async def builder(line: Line, kills: int, chunks: int) -> list[float]:
    """Run the building process until it is done, killed on the way; return how long each ran."""
    took = []
    for number in range(kills + 1):
        until = chunks * (number + 1) // (kills + 1) if number < kills else None
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--build-in", str(line.home), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        async for told in process.stdout:
            if until is not None and json.loads(told).get("done", 0) >= until:
                process.kill()
                break
        status = await process.wait()
        assert status == (0 if until is None else -9), status
        took.append(time.perf_counter() - began)
    return took


async def searched(
    app: App, codes: list[str], stop: asyncio.Event | None = None, seconds: float = 0
) -> list[float]:
    """Search one after another until told or for so long; return the times."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    while (stop and not stop.is_set()) or (stop is None and time.perf_counter() < until):
        code = codes[len(times) % len(codes)]
        began = time.perf_counter()
        found = await app.search(code, scope=SCOPE, k=10)
        times.append(time.perf_counter() - began)
        assert not found.retrieval.degraded, found.retrieval.degraded
        assert found.retrieval.passages, code
        await follow(app)
        await asyncio.sleep(0)
    return times


async def measured(chunks: int, kills: int) -> list[dict[str, Any]]:
    async with opened_line(CountingHash(dimension=OLD)) as line:
        documents = list(
            generated_documents(chunks // CHUNKS_A_DOCUMENT, CHUNKS_A_DOCUMENT, seed=1)
        )
        drawn = random.Random(3).sample(documents, min(200, len(documents)))
        codes = [_CODE.findall(each.content.decode())[0] for each in drawn]
        await line.app.ingest(documents, scope=SCOPE)
        if line.app.graph is not None:
            await line.app.graph.tend()
        work = rebuilding(line)
        line.app.reopen = work.reopen
        await searched(line.app, codes, seconds=3)
        before = await searched(line.app, codes, seconds=10)
        stop = asyncio.Event()
        searching = asyncio.create_task(searched(line.app, codes, stop))
        took = await builder(line, kills, chunks)
        stop.set()
        during = await searching
        dimension = line.app.ingest_parts.embedder.space.dimension
        assert dimension == NEW, dimension
        after = await searched(line.app, codes, seconds=10)
        began = time.perf_counter()
        back = await roll_back(work)
        rollback = time.perf_counter() - began
        assert await follow(line.app)
        assert back.built.embedded == 0
        await searched(line.app, codes, seconds=1)
    idle = percentile(before, 95)
    return [
        {
            "searches": name,
            "count": len(times),
            "p50_ms": percentile(times, 50),
            "p95_ms": percentile(times, 95),
            "p95_to_idle": percentile(times, 95) / idle,
            "build_s": sum(took),
            "kills": kills,
            "rollback_s": rollback,
            "load1": os.getloadavg()[0],
        }
        for name, times in (("idle, before", before), ("building", during), ("idle, after", after))
    ]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--chunks", type=int, default=100_000)
    arguments.add_argument("--kills", type=int, default=2)
    arguments.add_argument("--build-in", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.build_in:
        asyncio.run(build_in(options.build_in))
        return
    report(asyncio.run(measured(options.chunks, options.kills)))


if __name__ == "__main__":
    main()
