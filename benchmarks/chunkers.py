"""What do the five ways of dividing a document find, at one price in characters?

    python benchmarks/chunkers.py [--model MODEL_FOLDER --cache FOLDER] [--data FOLDER]
        [--only NAME ...] [--corpora NAME ...] [--questions N] [--threads 1]

FOLDER (or the environment variable VADE_SHARED_DATA) holds `ret-chunking`: five corpora and 472
questions with the excerpts that answer them (Smith & Troynikov 2024, "Evaluating chunking
strategies for retrieval"). All five are ingested into one collection by the product's own line and
searched by `App.search`; with `parent`, what is read is what an answer would read, the sections.
Without a model the hash embedder stands in, only the keyword leg is asked, and `semantic` divides
by shared words.

Of what is found, in characters: `recall` is the share of the question's excerpts that is covered,
`iou` what is covered of all that was found or should have been, both of the first 5; `recall_4k`
the recall of the first 4,000 characters, the last passage cut there, which is the fair comparison
between sizes, with a 95 % bootstrap interval over questions. `letters` is the mean length of what
is read, `tokens` of what is searched, `embedded` how many texts a model sees at ingestion. Overlap
counts once in what is covered, and each time in what is read.
"""

import argparse
import asyncio
import csv
import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_support import SCOPE, CountingHash, Model, opened_line, read, report, source
from kept_states import open_kept
from quality import interval

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.adapters.embedders.e5_convert import ensure_model
from vademecum.app import App
from vademecum.ingest.contextualize import CONTEXT_TOKENS
from vademecum.model.passage import Passage
from vademecum.model.query import Mode
from vademecum.ports.chunker import VectorChunker
from vademecum.retrieve.sections import in_sections

RULES: Mapping[str, ChunkingRule] = {
    "structure 200": ChunkingRule(strategy="structure", size=200),
    "recursive 200": ChunkingRule(strategy="recursive", size=200),
    "fixed 200, 37 shared": ChunkingRule(strategy="fixed", size=200),
    "semantic 200": ChunkingRule(strategy="semantic", size=200),
    "structure 100": ChunkingRule(strategy="structure", size=100),
    "parent 100 of 400": ChunkingRule(strategy="parent", size=100, section=400),
    "structure 400": ChunkingRule(strategy="structure", size=400),
}
CORPORA = ("chatlogs", "finance", "pubmed", "state_of_the_union", "wikitexts")
FIRST = 5
BUDGET = 4_000
PASSAGES = 60
Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the spans of one corpus that answer it."""

    text: str
    uri: str
    spans: Spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one question got: shares in 0..1."""

    recall: float
    iou: float
    recall_4k: float


def questions(folder: Path) -> list[Asked]:
    """Return the questions in the file's order."""
    csv.field_size_limit(10**8)
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as lines:
        return [
            Asked(
                text=row["question"],
                uri=f"{row['corpus_id']}.md",
                spans=[(r["start_index"], r["end_index"]) for r in json.loads(row["references"])],
            )
            for row in csv.DictReader(lines)
        ]


def covered(gold: Spans, found: Spans) -> int:
    """Return how many characters of the gold spans stand in any of those that were found."""
    wanted = {place for start, end in gold for place in range(start, end)}
    for start, end in found:
        wanted -= set(range(start, end))
    return len({place for start, end in gold for place in range(start, end)}) - len(wanted)


def score(asked: Asked, passages: Sequence[Passage]) -> Score:
    """Return what the passages, best first, hold of a question's excerpts."""
    gold = len({place for start, end in asked.spans for place in range(start, end)})
    first = passages[:FIRST]
    inside = covered(asked.spans, _own(asked, first))
    length = sum(p.source.chunk.end - p.source.chunk.start for p in first)
    return Score(
        recall=inside / gold,
        iou=inside / (length + gold - inside),
        recall_4k=covered(asked.spans, _own(asked, passages, BUDGET)) / gold,
    )


def _own(asked: Asked, passages: Sequence[Passage], budget: int | None = None) -> Spans:
    """Return the spans in the question's corpus, of the first `budget` characters of all."""
    spans = []
    for passage in passages:
        chunk = passage.source.chunk
        end = chunk.end if budget is None else min(chunk.end, chunk.start + budget)
        if budget is not None:
            budget -= end - chunk.start
        if passage.source.uri == asked.uri and end > chunk.start:
            spans.append((chunk.start, end))
    return spans


async def measured(
    name: str, model: Model, mode: Mode, folder: Path, asked: Sequence[Asked]
) -> dict[str, Any]:
    """Ingest the corpora, divided by one rule, and ask."""
    rules = ChunkingRules(RULES[name], window=model.max_tokens - CONTEXT_TOKENS)
    corpora = [folder / uri for uri in sorted({one.uri for one in asked})]
    async with opened_line(model, chunking=rules) as line:
        results = await line.app.ingest(
            [source(path.name, path.read_bytes()) for path in corpora], scope=SCOPE
        )
        if unread := [result for result in results if result.status != "ready"]:
            sys.exit(f"{name}: {unread[0].uri} is {unread[0].status}: {unread[0].reason}")
        lengths, tokens = await _sizes(line.app, results)
        scores = [score(one, await _found(line.app, one.text, mode)) for one in asked]
    low, high = interval([one.recall_4k for one in scores])
    return {
        "chunker": name,
        "chunks": len(tokens),
        "tokens": round(float(np.mean(tokens))),
        "letters": round(float(np.mean(lengths))),
        "embedded": len(tokens) + _before(rules, model, corpora),
        "recall_5": round(float(np.mean([one.recall for one in scores])), 3),
        "iou_5": round(float(np.mean([one.iou for one in scores])), 3),
        "recall_4k": round(float(np.mean([one.recall_4k for one in scores])), 3),
        "low": round(low, 3),
        "high": round(high, 3),
    }


def _before(rules: ChunkingRules, model: Model, corpora: Sequence[Path]) -> int:
    """Return how many texts were embedded so that the corpora could be divided."""
    chunker = rules.choose("default", "text/markdown")
    if not isinstance(chunker, VectorChunker):
        return 0
    documents = (read(path.read_bytes(), path.name) for path in corpora)
    return sum(len(chunker.wanted(document, model)) for document in documents)


async def _sizes(app: App, results: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Return the letters of each stretch that is read, and the tokens of each that is searched."""
    lengths: set[tuple[str, int, int]] = set()
    tokens = []
    for result in results:
        for chunk in await app.catalogue.documents.chunks(SCOPE, result.id):
            lengths.add((result.uri, *(chunk.section or (chunk.start, chunk.end))))
            tokens.append(chunk.tokens)
    return [end - start for _, start, end in lengths], tokens


async def _found(app: App, text: str, mode: Mode) -> Sequence[Passage]:
    """Return what an answer reads, best first."""
    found = (await app.search(text, scope=SCOPE, k=PASSAGES, mode=mode)).retrieval
    if found.degraded:
        sys.exit(f"a search was degraded: {found.degraded}")
    store = app.catalogue.documents
    return (await in_sections(store, SCOPE, [found], None, 30.0))[0].passages


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the chunkers on one public set.")
    parser.add_argument("--model", type=Path, help="where the model's files are")
    parser.add_argument("--cache", type=Path, help="where what the model gives is kept")
    parser.add_argument("--data", type=Path, default=os.environ.get("VADE_SHARED_DATA"))
    parser.add_argument("--only", nargs="+", choices=list(RULES), default=list(RULES))
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA)
    parser.add_argument("--questions", type=int, help="so many, instead of all")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    if asked.data is None or (asked.model is None) != (asked.cache is None):
        parser.error("needs --data or VADE_SHARED_DATA, and --model and --cache or none of both")
    asked.data = Path(asked.data) / "ret-chunking"
    return asked


async def _run(given: argparse.Namespace, model: Model, mode: Mode) -> list[dict[str, Any]]:
    every = questions(given.data)
    every = [one for one in every if one.uri.removesuffix(".md") in given.corpora]
    count = min(given.questions or len(every), len(every))
    asked = [every[at] for at in sorted(random.Random(0).sample(range(len(every)), count))]
    rows = []
    for name in given.only:
        began = time.perf_counter()
        rows.append(await measured(name, model, mode, given.data, asked))
        print(f"# {rows[-1]} after {time.perf_counter() - began:.0f} s", flush=True)
    return rows


def main() -> None:
    given = _arguments()
    if given.model is None:
        report(asyncio.run(_run(given, CountingHash(), "keyword")))
        return
    model, kept = open_kept(ensure_model(given.model), given.cache, threads=given.threads)
    try:
        rows = asyncio.run(_run(given, model, "hybrid"))
    finally:
        model.close()
        kept.close()
    report(rows)


if __name__ == "__main__":
    main()
