"""How long does a question wait while another process ingests at full speed?

    python benchmarks/query_while_ingesting.py [--chunks 10000] [--seconds 40]

Hybrid searches over generated chunks, one at a time, with the hash embedder: alone; while another
process ingests into the same database, as `vade worker` does; and ingestion alone. The idle
searches are timed before and after the others, so that a machine that others use shows.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from bench_support import (
    SCOPE,
    CountingHash,
    Line,
    generated_documents,
    opened_line,
    percentile,
    report,
    vocabulary,
)

CHUNKS_A_DOCUMENT = 20
TOP = 20


async def ingest_for(home: Path, seconds: float) -> None:
    """Ingest batch after batch; print what became searchable within the seconds."""
    async with opened_line(CountingHash(), home=home) as line:
        print("ready", flush=True)
        began, chunks, batch, spent = time.perf_counter(), 0, 0, 0.0
        while spent < seconds:
            documents = generated_documents(
                10, CHUNKS_A_DOCUMENT, seed=os.getpid() + batch, prefix=f"{os.getpid()}-{batch}"
            )
            results = await line.app.ingest(documents, scope=SCOPE)
            chunks, batch = chunks + sum(result.chunks for result in results), batch + 1
            spent = time.perf_counter() - began
        print(json.dumps({"chunks": chunks, "seconds": spent}), flush=True)


async def search_until(
    line: Line, questions: list[str], *, seconds: float = 0, stop: asyncio.Event | None = None
) -> list[float]:
    """Return the seconds of each search, one after another, for a time or until told."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    while not stop.is_set() if stop else time.perf_counter() < until:
        began = time.perf_counter()
        found = await line.app.search(questions[len(times) % len(questions)], scope=SCOPE, k=TOP)
        times.append(time.perf_counter() - began)
        assert not found.retrieval.degraded, found.retrieval.degraded
        await asyncio.sleep(0)
    return times


async def beside(line: Line, questions: list[str], seconds: float, *, ask: bool) -> Any:
    """Run the ingesting process; return its speed and what the searches took meanwhile."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--ingest-into", str(line.home), "--seconds", str(seconds),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    stop = asyncio.Event()
    searching = asyncio.create_task(
        search_until(line, questions, stop=stop) if ask else asyncio.sleep(0, [])
    )
    told = json.loads(await process.stdout.readline())
    stop.set()
    times = await searching
    await process.wait()
    return told["chunks"] / told["seconds"], times


async def measured(chunks: int, seconds: float) -> list[dict[str, Any]]:
    rng, words = random.Random(3), sorted(set(vocabulary()))
    questions = [" ".join(rng.sample(words, 5)) for _ in range(200)]
    async with opened_line(CountingHash()) as line:
        documents = generated_documents(
            chunks // CHUNKS_A_DOCUMENT, CHUNKS_A_DOCUMENT, seed=1, prefix="standing"
        )
        results = await line.app.ingest(documents, scope=SCOPE)
        standing = sum(result.chunks for result in results)
        await search_until(line, questions, seconds=3)
        before = await search_until(line, questions, seconds=seconds / 2)
        with_queries, busy = await beside(line, questions, seconds, ask=True)
        alone, _ = await beside(line, questions, seconds, ask=False)
        after = await search_until(line, questions, seconds=seconds / 2)
    idle = before + after
    return [
        {
            "queries": name,
            "chunks": standing,
            "count": len(times),
            "p50_ms": percentile(times, 50),
            "p95_ms": percentile(times, 95),
            "p95_to_idle": percentile(times, 95) / percentile(idle, 95),
            "ingest_per_s": speed,
            "ingest_to_alone": speed / alone,
            "load1": os.getloadavg()[0],
        }
        for name, times, speed in (
            ("idle, before", before, 0.0),
            ("while ingesting", busy, with_queries),
            ("idle, after", after, 0.0),
        )
    ]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--chunks", type=int, default=10_000)
    arguments.add_argument("--seconds", type=float, default=40)
    arguments.add_argument("--ingest-into", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.ingest_into:
        asyncio.run(ingest_for(options.ingest_into, options.seconds))
        return
    report(asyncio.run(measured(options.chunks, options.seconds)))


if __name__ == "__main__":
    main()
