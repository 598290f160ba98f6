"""Does ingestion keep its memory and its speed as the store grows?

    python benchmarks/memory.py [--chunks 50000] [--csv FILE]

Generated documents of about 100 chunks are ingested with the hash embedder, a tenth of them at a
time. Memory is the proportional set size (a page that processes share counts in parts), of this
process and of PostgreSQL with and without its shared buffers, which fill as the store grows,
sampled while it works. The first tenth fills
caches and pools; memory is flat where the last tenth needs at most 1.1 times what was held after
the first.
"""

import argparse
import asyncio
import csv
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from bench_support import (
    SCOPE,
    CountingHash,
    generated_documents,
    opened_line,
    report,
    resident_bytes,
    server_bytes,
)

TENTHS = 10
CHUNKS_A_DOCUMENT = 100
SAMPLE_SECONDS = 1.0
MIB = 2**20


class Samples:
    """(seconds, tenth, MiB of this process, of PostgreSQL, of PostgreSQL without its shared
    buffers), in the order of time."""

    def __init__(self, postmaster: int) -> None:
        self._postmaster = postmaster
        self._began = time.perf_counter()
        self.tenth = 0
        self.rows: list[tuple[float, int, float, float, float]] = []

    def take(self) -> None:
        own, server = resident_bytes(os.getpid()), server_bytes(self._postmaster)
        private = server_bytes(self._postmaster, "Pss_Anon")
        seconds = time.perf_counter() - self._began
        self.rows.append((seconds, self.tenth, own / MIB, server / MIB, private / MIB))

    async def keep_taking(self) -> None:
        while True:
            await asyncio.to_thread(self.take)
            await asyncio.sleep(SAMPLE_SECONDS)

    def median(self, tenth: int, column: int) -> float:
        return statistics.median(row[column] for row in self.rows if row[1] == tenth)

    def slope(self, column: int, chunks: int) -> float:
        """Return KiB a chunk after the first tenth, by a straight line through the samples."""
        later = [row for row in self.rows if row[1] > 0]
        line = np.polyfit([row[0] for row in later], [row[column] for row in later], 1)
        seconds = later[-1][0] - later[0][0]
        return float(line[0] * seconds * 1024 / (chunks * (TENTHS - 1) / TENTHS))


async def measured(chunks: int) -> tuple[list[dict[str, Any]], Samples]:
    embedder, speeds, made = CountingHash(), [], 0
    each = chunks // TENTHS // CHUNKS_A_DOCUMENT
    async with opened_line(embedder) as line:
        samples = Samples(line.postmaster)
        sampling = asyncio.create_task(samples.keep_taking())
        for tenth in range(TENTHS):
            samples.tenth = tenth
            began = time.perf_counter()
            documents = generated_documents(
                each, CHUNKS_A_DOCUMENT, seed=tenth, prefix=f"tenth-{tenth}"
            )
            results = await line.app.ingest(documents, scope=SCOPE)
            added = sum(result.chunks for result in results)
            speeds.append(added / (time.perf_counter() - began))
            made += added
            samples.take()
        sampling.cancel()
    rows: list[dict[str, Any]] = []
    names = "this process", "PostgreSQL", "PostgreSQL without shared buffers"
    for column, name in enumerate(names, 2):
        first, second, last = (samples.median(i, column) for i in (0, 1, TENTHS - 1))
        rows.append(
            {
                "memory": name,
                "first_tenth_mib": first,
                "second_tenth_mib": second,
                "last_tenth_mib": last,
                "last_to_second": last / second,
                "most_mib": max(row[column] for row in samples.rows),
                "kib_a_chunk": samples.slope(column, made),
            }
        )
    rows.append(
        {
            "memory": "chunks a second",
            "chunks": made,
            "embedded": embedder.embedded,
            "first_tenth": speeds[0],
            "last_tenth": speeds[-1],
            "last_to_first": speeds[-1] / speeds[0],
            "speeds": [round(speed) for speed in speeds],
            "load1": os.getloadavg()[0],
        }
    )
    return rows, samples


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--chunks", type=int, default=50_000)
    arguments.add_argument("--csv", type=Path)
    options = arguments.parse_args()
    rows, samples = asyncio.run(measured(options.chunks))
    if options.csv:
        with options.csv.open("w") as file:
            csv.writer(file).writerows(samples.rows)
    for row in rows:
        report([row])


if __name__ == "__main__":
    main()
