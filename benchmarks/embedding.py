"""What does the product add to the model's own work when it embeds?

    python benchmarks/embedding.py MODEL_FOLDER [--texts 256] [--repeats 5]

MODEL_FOLDER is where `vade model fetch` put the model: `models/multilingual-e5-small` of the data
folder. The same passages go through the product's `LocalE5`, and straight to onnxruntime over the
same graph with the same threads: sorted by length in each of several batch sizes, the best of
which (by processor time) counts. Bare onnxruntime is timed with its tokens made before and with
them made inside. Runs alternate; medians are printed.
"""

import argparse
import asyncio
import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from bench_support import EXAMPLES, read, report, sentences, vocabulary
from numpy.typing import NDArray

from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.embedders.e5_convert import ModelFiles, open_model
from vademecum.adapters.embedders.e5_tokenizer import BOS, EOS, PAD, E5Tokenizer
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.ingest.embed import BATCH, Encoders, Passage, embed_missing

Ids = list[list[int]]
# Texts a batch, and the most tokens of a batch: ways to divide the same sorted texts.
BATCHINGS = ((1, 10_000), (4, 128), (4, 10_000), (8, 10_000), (32, 10_000))


class Bare:
    """onnxruntime and nothing else: a session as LocalE5 opens it, a thread a core."""

    def __init__(self, files: ModelFiles, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            files.graph, options, providers=["CPUExecutionProvider"]
        )
        self._names = {given.name for given in self._session.get_inputs()}
        self._pool = ThreadPoolExecutor(threads)

    def embed(self, ids: Ids, batching: tuple[int, int]) -> None:
        ordered = sorted(ids, key=len, reverse=True)
        list(self._pool.map(self._vectors, batches(ordered, *batching)))

    def _vectors(self, ids: Ids) -> NDArray[np.float32]:
        shape = len(ids), max(map(len, ids))
        tokens, mask = np.full(shape, PAD, np.int64), np.zeros(shape, np.int64)
        for row, own in enumerate(ids):
            tokens[row, : len(own)], mask[row, : len(own)] = own, 1
        feeds = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": mask * 0}
        states = self._session.run(None, {k: v for k, v in feeds.items() if k in self._names})[0]
        pooled = (states * mask[..., None]).sum(1)
        vectors: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return vectors


def batches(ordered: Ids, texts: int, tokens: int) -> list[Ids]:
    made, start = [], 0
    while start < len(ordered):
        size = max(1, min(texts, tokens // len(ordered[start])))
        made.append(ordered[start : start + size])
        start += size
    return made


def example_chunks(tokenizer: LocalE5) -> list[str]:
    """Return the chunks of the example documents, as the product cuts them."""
    texts = []
    for path in sorted(EXAMPLES.rglob("*.*")):
        parsed = read(path.read_bytes(), path.name)
        spans = StructureChunker().split(parsed, tokenizer)
        texts += [parsed.text[span.start : span.end] for span in spans]
    return texts


def generated_chunks(count: int) -> list[str]:
    rng, words = random.Random(11), vocabulary()
    return [sentences(words, rng, rng.randrange(30, 130)) for _ in range(count)]


async def timed_product(model: LocalE5, texts: Sequence[str]) -> None:
    """Embed as ingestion does: `BATCH` texts at a time, known vectors looked up before."""
    passages = [Passage(text=text, language="en") for text in texts]
    embedded = await embed_missing(passages, {}, Encoders(embedder=model, encoder=model))
    assert not embedded.failed


def measured(name: str, texts: list[str], files: ModelFiles, repeats: int) -> dict[str, Any]:
    threads = os.cpu_count() or 1
    model, bare = LocalE5.load(files, threads=threads), Bare(files, threads)
    tokenizer = E5Tokenizer.load(
        files.tokenizer, pieces=files.pieces, replacements=files.replacements
    )

    def tokenised() -> Ids:
        return [[BOS, *tokenizer.ids("passage: " + text), EOS] for text in texts]

    ids = tokenised()
    sample = ids[: max(32, len(ids) // 4)]
    bare.embed(sample, BATCHINGS[0])  # the first run makes the memory that the others use
    best = min(BATCHINGS, key=lambda way: spent(lambda: bare.embed(sample, way))[1])
    runs: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": [], "bare_and_tokens": []}
    for _ in range(repeats):
        runs["bare"].append(spent(lambda: bare.embed(ids, best)))
        runs["ours"].append(spent(lambda: asyncio.run(timed_product(model, texts))))
        runs["bare_and_tokens"].append(spent(lambda: bare.embed(tokenised(), best)))
    model.close()
    wall = {way: statistics.median(run[0] for run in each) for way, each in runs.items()}
    cpu = {way: statistics.median(run[1] for run in each) for way, each in runs.items()}
    return {
        "texts": name,
        "count": len(texts),
        "tokens": sum(map(len, ids)),
        "threads": threads,
        "best_batch": f"{best[0]} texts, {best[1]} tokens",
        **{f"{way}_s": seconds for way, seconds in wall.items()},
        "of_bare": wall["bare"] / wall["ours"],
        "of_bare_and_tokens": wall["bare_and_tokens"] / wall["ours"],
        "cpu_of_bare": cpu["bare"] / cpu["ours"],
        "cpu_of_bare_and_tokens": cpu["bare_and_tokens"] / cpu["ours"],
        "load1": os.getloadavg()[0],
    }


def spent(work: Callable[[], None]) -> tuple[float, float]:
    """Return seconds by the clock and by the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--texts", type=int, default=BATCH)
    arguments.add_argument("--repeats", type=int, default=5)
    options = arguments.parse_args()
    files = open_model(options.model)
    model = LocalE5.load(files)
    examples = example_chunks(model)
    model.close()
    examples = random.Random(1).sample(examples, min(options.texts, len(examples)))
    report([measured("examples", examples, files, options.repeats)])
    generated = generated_chunks(options.texts)
    report([measured("generated", generated, files, options.repeats)])


if __name__ == "__main__":
    main()
