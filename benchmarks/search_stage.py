"""How long does the retrieval stage take with the query embedded, and where does the time go?

    python benchmarks/search_stage.py --peers FOLDER --home HOME --model FOLDER [--chunks 100000]

Over the database of HOME (`search_corpus.py` loads it where it is empty). Each question goes
through the local model, whose vector is then replaced by the one that the corpus has for it, so
that the work is all done and the hits are those of the corpus; its token states are the model's.
Rows: without and with reranking, taking turns a question each. The split is that of the trace:
`dense` includes embedding; `outside` is what of `App.search` comes after the stage (the trace and
the audit row).
"""

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_support import SCOPE, Lookup, opened_line, percentile, report, server_cpu_seconds
from search_corpus import TOP, Questions, load_once
from search_peers import ranked

from vademecum.adapters.embedders.e5_convert import open_model
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.model.embedding import FloatArray, Role, TokenStates


class Priced(Lookup):
    """Looked-up vectors at the price of the local model."""

    def __init__(self, known: dict[str, FloatArray], model: LocalE5) -> None:
        super().__init__(known)
        self._model = model
        self.seconds: list[float] = []

    async def encode(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        began = time.perf_counter()
        encoded = await self._model.encode(texts, role)
        self.seconds.append(time.perf_counter() - began)
        return [
            replace(states, vector=self._known[text])
            for text, states in zip(texts, encoded, strict=True)
        ]


async def measured(home: Path, model: Path, queries: int) -> list[dict[str, Any]]:
    questions = Questions.load(home / "questions.npz")
    local = LocalE5.load(open_model(model), threads=2)
    embedder = Priced(questions.known, local)
    rows = {"no rerank": False, "rerank": True}
    parts: dict[str, dict[str, list[float]]] = {name: {} for name in rows}
    cpu = dict.fromkeys(rows, 0.0)
    async with opened_line(embedder, home=home) as line:
        apps = {name: ranked(line.app, rerank=rerank) for name, rerank in rows.items()}
        for number, text in enumerate(questions.texts[: queries + 10]):
            for name, app in apps.items():
                before = sum(os.times()[:4]) + server_cpu_seconds(line.postmaster)
                began = time.perf_counter()
                found = await app.search(text, scope=SCOPE, k=TOP)
                whole = time.perf_counter() - began
                assert not found.retrieval.degraded, found.retrieval.degraded
                if number < 10:  # plans and pages come in
                    continue
                cpu[name] += sum(os.times()[:4]) + server_cpu_seconds(line.postmaster) - before
                timings = {k: ms / 1000 for k, ms in found.retrieval.timings_ms.items()}
                timings["outside"] = whole - timings["total"]
                timings["embed"] = embedder.seconds[-1]
                for key, seconds in timings.items():
                    parts[name].setdefault(key, []).append(seconds)
    local.close()
    return [row(name, own, cpu[name], found.retrieval.plan) for name, own in parts.items()]


def row(name: str, parts: dict[str, list[float]], cpu: float, plan: str) -> dict[str, Any]:
    slowest = [max(pair) for pair in zip(parts["dense"], parts["keyword"], strict=True)]
    legs = [
        total - rest
        for total, rest in zip(
            parts["total"],
            map(sum, zip(parts["confirm"], parts.get("rerank", [0.0] * len(slowest)), strict=True)),
            strict=True,
        )
    ]
    result: dict[str, Any] = {"row": name, "plan": plan, "queries": len(slowest)}
    for part in ("total", "embed", "dense", "keyword", "confirm", "rerank", "outside"):
        if part in parts:
            result[f"{part}_p50"] = percentile(parts[part], 50)
            result[f"{part}_p95"] = percentile(parts[part], 95)
    return result | {
        "cpu_ms": 1000 * cpu / len(slowest),
        # Of both legs at once, then of the whole stage.
        "legs/slowest": statistics.median(a / b for a, b in zip(legs, slowest, strict=True)),
        "stage/slowest": statistics.median(
            a / b for a, b in zip(parts["total"], slowest, strict=True)
        ),
        "load1": os.getloadavg()[0],
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peers", default=os.environ.get("VADE_PEERS"))
    arguments.add_argument("--home", type=Path, required=True)
    arguments.add_argument("--model", type=Path, required=True)
    arguments.add_argument("--chunks", type=int, default=100_000)
    arguments.add_argument("--queries", type=int, default=200)
    options = arguments.parse_args()
    load_once(options.home, options.peers, options.chunks)
    report(asyncio.run(measured(options.home, options.model, options.queries)))


if __name__ == "__main__":
    main()
