"""How quick is all of it on this machine? Everything happens in a data folder of its own."""

import asyncio
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from vademecum.app import App
from vademecum.composing import open as open_app
from vademecum.model.document import Source
from vademecum.model.principal import Scope
from vademecum.opening import Tell, model_files
from vademecum.postgres import embedded
from vademecum.settings import LOCAL_E5, Loaded

T = TypeVar("T")
_TENANT = "bench"
_SCOPE = Scope.for_principal(_TENANT, "user:bench", frozenset())
# About 24 chunks a document, of 200 tokens each.
_PARAGRAPHS, _SENTENCES = 20, 6
_PLACES = ("arena", "harbour hall", "north stand", "old theatre", "river stage", "sector C", "yard")
_THINGS = ("bags", "bottles", "cameras", "lockers", "tickets", "umbrellas", "wheelchairs", "dogs")
_RULES = (
    "{things} are let into the {place} from {hour} o'clock, as notice {code} says",
    "whoever brings {things} to the {place} shows them at gate {gate} before {hour} o'clock",
    "at the {place} {things} stay outside while rule {code} holds, but for staff of gate {gate}",
    "the {place} keeps {things} for {gate} euros a day until {hour} in the evening",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The median of calls, and what 95 of a hundred of them stay under, in milliseconds."""

    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured: tokens of passages that the embedder reads a second, chunks that
    ingestion makes searchable a second, embedding with it, and calls one after the other.
    `stages` has the medians of a search's parts in milliseconds. `load` is how many processes
    wanted a core, on average over a minute, when it began: above `cores`, figures are too high."""

    cores: int
    load: float
    embedding: str
    tokens_a_second: float
    documents: int
    chunks: int
    chunks_a_second: float
    unchanged_seconds: float
    embed: Times
    search: Times
    stages: dict[str, float]
    ask: Times
    remember: Times
    recall: Times


async def bench(loaded: Loaded, *, documents: int, questions: int, tell: Tell) -> Measured:
    """Ingest so many made-up documents into a folder that is removed afterwards, and ask each way
    `questions` times, one after the other. No language model is asked, and no provider.

    Raises: what opening the local model and the embedded server raises.
    """
    load = os.getloadavg()[0]
    async with _opened(loaded, tell) as app:
        sources = [_document(number) for number in range(documents)]
        texts = [_sentence(random.Random(-number)) for number in range(1, questions + 1)]
        embedder = app.ingest_parts.embedder
        passages = [source.content.decode()[:800] for source in sources]
        tell("embedding")
        read, seconds = await _timed(lambda: embedder.embed(passages, "passage"))
        assert len(read) == len(passages)
        tokens = sum(app.ingest_parts.tokenizer.count(text) for text in passages)
        tell("ingesting")
        operator = Scope.for_operator(_TENANT)
        done, ingesting = await _timed(lambda: app.ingest(sources, scope=operator))
        chunks = sum(result.chunks for result in done)
        _, again = await _timed(lambda: app.ingest(sources, scope=operator))
        tell("asking")
        stages: dict[str, list[float]] = {}

        async def search(text: str) -> None:
            found = await app.search(text, scope=_SCOPE, k=10)
            for name, value in found.retrieval.timings_ms.items():
                stages.setdefault(name, []).append(value)

        return Measured(
            cores=os.cpu_count() or 1,
            load=load,
            embedding=embedder.space.name,
            tokens_a_second=tokens / seconds,
            documents=documents,
            chunks=chunks,
            chunks_a_second=chunks / ingesting,
            unchanged_seconds=again,
            embed=await _times(texts, lambda text: embedder.embed([text], "query")),
            search=await _times(texts, search),
            stages={name: statistics.median(values) for name, values in stages.items()},
            ask=await _times(texts, lambda text: app.ask(text, scope=_SCOPE, temporary=True)),
            remember=await _times(texts, lambda text: app.remember(text, scope=_SCOPE)),
            recall=await _times(texts, lambda text: app.recall(text, scope=_SCOPE)),
        )


@asynccontextmanager
async def _opened(loaded: Loaded, tell: Tell) -> AsyncIterator[App]:
    """Open the system over an embedded server of its own, with the local model that is there."""
    settings = loaded.settings
    await asyncio.to_thread(model_files, loaded, tell)
    folder = Path(tempfile.mkdtemp(prefix="vademecum-bench-"))
    try:
        folder.chmod(0o755)  # the database's own account must come in
        if settings.models.folder is None:
            (folder / "models").symlink_to(loaded.home / "models")
        alone = settings.model_copy(
            update={
                "database": settings.database.model_copy(update={"url": None, "owner_url": None}),
                "models": settings.models.model_copy(
                    update={"embedding": LOCAL_E5, "language": ""}
                ),
            }
        )
        own = loaded.model_copy(update={"settings": alone, "home": folder})
        async with open_app(own, tell=tell) as app:
            yield app
    finally:
        await asyncio.to_thread(_removed, folder)


def _removed(folder: Path) -> None:
    embedded.stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


async def _times(texts: Sequence[str], call: Callable[[str], Awaitable[object]]) -> Times:
    await call(texts[0])  # the first one prepares statements
    taken = [1000 * (await _timed(partial(call, text)))[1] for text in texts]
    return Times(
        p50_ms=statistics.median(taken),
        p95_ms=sorted(taken)[min(len(taken) - 1, int(0.95 * len(taken)))],
    )


async def _timed(work: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    started = time.perf_counter()
    done = await work()
    return done, time.perf_counter() - started


def _document(number: int) -> Source:
    chance = random.Random(number)
    paragraphs = [
        " ".join(_sentence(chance) for _ in range(_SENTENCES)) for _ in range(_PARAGRAPHS)
    ]
    return Source(
        uri=f"notice-{number}.md",
        content="\n\n".join(paragraphs).encode(),
        collection="default",
        access=("tenant",),
        metadata={},
        language="en",
        title=f"Notice {number}",
    )


def _sentence(chance: random.Random) -> str:
    said = chance.choice(_RULES).format(
        things=chance.choice(_THINGS),
        place=chance.choice(_PLACES),
        hour=chance.randrange(8, 23),
        gate=chance.randrange(1, 40),
        code=f"KH-{chance.randrange(1000)}",
    )
    return f"{said[0].upper()}{said[1:]}."
