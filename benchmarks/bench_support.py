"""What do the benchmarks share? A fresh database with the product's own line, texts and meters."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

import numpy as np

import vademecum.adapters.parsers.child  # noqa: F401 - names the readers of each type
from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.adapters.parsers.dispatch import parse
from vademecum.app import App
from vademecum.catalogue import catalogue_over
from vademecum.composing import AVERAGE_LENGTH, compose
from vademecum.ingest.retain import Keep
from vademecum.model.document import ParsedDocument, Source
from vademecum.model.embedding import FloatArray, Role, TokenStates
from vademecum.model.principal import Scope
from vademecum.ports.chunker import Chunking
from vademecum.ports.embedder import Embedder, TokenEncoder, Tokenizer
from vademecum.ports.parser import Parser
from vademecum.postgres import embedded
from vademecum.postgres.generation.store import current_generation
from vademecum.postgres.migrate import migrate
from vademecum.postgres.pool import open_pool
from vademecum.postgres.revision import PostgresRevisions
from vademecum.postgres.server.process import read_postmaster
from vademecum.testing.embedders import HashEmbedder
from vademecum.text import language
from vademecum.text.analyse import VERSION as ANALYSER_VERSION

SCOPE = Scope.for_operator("default")
EXAMPLES = Path(__file__).parents[1] / "examples" / "boxoffice" / "documents"
_TICKS = os.sysconf("SC_CLK_TCK")


def read(content: bytes, uri: str) -> ParsedDocument:
    """Read a document in this process, of whatever type."""
    return parse(content, uri)


class HereParser:
    """The readers of the child process, called in this one."""

    fingerprint = "readers-of-benchmarks"

    async def parse(self, content: bytes, uri: str) -> ParsedDocument:
        return read(content, uri)


class CountingHash(HashEmbedder):
    """The hash embedder without its record of calls, which would grow for ever."""

    def __init__(self, *, dimension: int = 64) -> None:
        super().__init__(dimension=dimension)
        self.embedded = 0

    async def _states(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        states = await super()._states(texts, role)
        self.calls.clear()
        self.embedded += len(texts) if role == "passage" else 0
        return states


class Lookup(CountingHash):
    """Vectors that are known before, found by their texts: ingestion and search without a model.

    Token states have the shape of real ones (a row a token, of the vector's dimension) and are
    drawn from a fixed table by the token's name, so that equal tokens are equal.
    """

    _DRAWN = 4096

    def __init__(self, known: Mapping[str, FloatArray]) -> None:
        super().__init__(dimension=len(next(iter(known.values()))))
        self._known = known
        rng = np.random.default_rng(11)
        self._table = rng.standard_normal((self._DRAWN, self.space.dimension), np.float32)

    async def embed(self, texts: Sequence[str], role: Role) -> FloatArray:
        self.embedded += len(texts) if role == "passage" else 0
        return np.stack([self._known[text] for text in texts])

    async def encode(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        self.embedded += len(texts) if role == "passage" else 0
        return [self._states_of(text) for text in texts]

    def _states_of(self, text: str) -> TokenStates:
        tokens = np.array([crc32(text[a:b].encode()) for a, b in self._places(text)], np.int64)
        return TokenStates(
            vector=self._known[text],
            token_ids=tokens,
            states=self._table[tokens % self._DRAWN],
            weights=np.ones(len(tokens), np.float32),
        )

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where each token begins and ends; blanks belong to none."""
        before = 0
        for end in self.ends(text):
            yield end - len(text[before:end].lstrip()), end
            before = end


def clean_environment(home: Path) -> dict[str, str]:
    """Return this process's environment with no setting but the data folder."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("VADE_", "OPENAI_"))}
    return {**kept, "VADE_HOME": str(home)}


@contextmanager
def served(home: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Give the address and the admin's key of a `vade serve` over a data folder."""
    start = "from vademecum.cli.main import run; run()"
    server = subprocess.Popen(
        [sys.executable, "-c", start, "serve", "--port", "0", "--json"],
        env={**clean_environment(home), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        yield url, (home / "admin.key").read_text().strip()
    finally:
        server.terminate()
        server.wait(60)


class Model(Embedder, TokenEncoder, Tokenizer, Protocol):
    """One object for everything that a model does in the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The product over a database of its own; `url` is of a login that owns the schema."""

    app: App
    url: str
    postmaster: int
    home: Path


@asynccontextmanager
async def opened_line(
    embedder: Model,
    *,
    parser: Parser | None = None,
    chunking: Chunking | None = None,
    home: Path | None = None,
) -> AsyncIterator[Line]:
    """Compose what `vademecum.composing` composes over the embedded server of `home`, or over one
    that is started for this block and removed after it."""
    folder = home or Path(tempfile.mkdtemp(prefix="vade-bench-"))
    folder.chmod(0o755)  # the database's own account must enter
    language.warm()
    server = embedded.start(folder)
    try:
        migrate(server.url)
        async with open_pool(server.url, size=10) as pool:
            generation = await current_generation(
                pool, embedder.space, ANALYSER_VERSION, AVERAGE_LENGTH
            )
            app = compose(
                catalogue_over(pool, folder / "blobs"),
                generation,
                parser=parser or HereParser(),
                chunking=chunking or ChunkingRules(ChunkingRule(), window=400),
                tokenizer=embedder,
                embedder=embedder,
                encoder=embedder,
                language_model=None,
                counter=embedder,
                keep=Keep(revisions=None, changes=None, traces=None),
            )
            found = read_postmaster(server.data)
            assert found is not None
            yield Line(app=app, url=server.url, postmaster=found.pid, home=folder)
    finally:
        server.close()
        if home is None:
            embedded.stop(folder)
            shutil.rmtree(folder, ignore_errors=True)


def revisions_of(app: App) -> PostgresRevisions:
    """Return the store of an App that `compose` made."""
    revisions = app.ingest_parts.revisions
    assert isinstance(revisions, PostgresRevisions)
    return revisions


def server_cpu_seconds(postmaster: int) -> float:
    """Return the processor time of a PostgreSQL server so far: of the postmaster, of its children
    that live, and of those that ended, which the kernel has added to the postmaster's own."""
    return sum(_cpu_seconds(pid) for pid in (postmaster, *_children(postmaster)))


def resident_bytes(pid: int, kind: str = "Pss") -> int:
    """Return the memory of a process: a page that processes share counts in parts, so that a
    server's shared buffers are counted once over all its processes. `Pss_Anon` leaves out what
    is shared or read from files."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) * 1024
    return 0


def server_bytes(postmaster: int, kind: str = "Pss") -> int:
    """Return the memory of all processes of a PostgreSQL server."""
    total = 0
    for pid in (postmaster, *_children(postmaster)):
        try:
            total += resident_bytes(pid, kind)
        except (FileNotFoundError, ProcessLookupError):
            continue  # a backend has ended meanwhile
    return total


def _children(parent: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == parent:
            yield int(path.parent.name)


def _cpu_seconds(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own_and_children = text.rpartition(")")[2].split()[11:15]
    return sum(map(int, own_and_children)) / _TICKS


class Meter:
    """Wall and processor seconds of this process, its ended children and a server's processes."""

    def __init__(self, postmaster: int | None = None) -> None:
        self._postmaster = postmaster
        self._began = self._now()

    def _now(self) -> tuple[float, float, float]:
        own = sum(os.times()[:4])
        server = server_cpu_seconds(self._postmaster) if self._postmaster else 0.0
        return time.perf_counter(), own, server

    def read(self) -> dict[str, float]:
        """Return seconds since the meter was made."""
        wall, own, server = (n - b for n, b in zip(self._now(), self._began, strict=True))
        row = {"wall_s": wall, "cpu_s": own + server}
        if self._postmaster:
            row |= {"cpu_own_s": own, "cpu_postgres_s": server}
        return row | {"load1": os.getloadavg()[0]}


@contextmanager
def metered(row: dict[str, Any], postmaster: int | None = None) -> Iterator[None]:
    """Put the block's wall and processor seconds into `row`."""
    meter = Meter(postmaster)
    yield
    row.update(meter.read())


def vocabulary() -> list[str]:
    """Return the words of the example documents, each as often as it stands there."""
    return [
        word
        for path in sorted(EXAMPLES.rglob("*.md"))
        for word in path.read_text().split()
        if word.isalpha()
    ]


def sentences(words: Sequence[str], rng: random.Random, count: int) -> str:
    """Return a paragraph of `count` words with a code of its own, in sentences of a dozen."""
    drawn = rng.choices(words, k=count)
    drawn[rng.randrange(count)] = f"QX-{rng.randrange(10**7)}"
    pieces = [" ".join(drawn[i : i + 12]) for i in range(0, count, 12)]
    return ". ".join(piece[:1].upper() + piece[1:] for piece in pieces) + "."


def generated_documents(
    documents: int, paragraphs: int, *, seed: int, words: int = 130, prefix: str = "generated"
) -> Iterator[Source]:
    """Yield seeded English text documents whose paragraphs are about a chunk each."""
    rng, known = random.Random(seed), vocabulary()
    for number in range(documents):
        text = "\n\n".join(sentences(known, rng, words) for _ in range(paragraphs))
        yield source(f"{prefix}/{number}.txt", text.encode())


def source(uri: str, content: bytes) -> Source:
    return Source(
        uri=uri,
        content=content,
        collection="default",
        access=("tenant",),
        metadata={},
        language="en",
        title=None,
    )


def percentile(seconds: Sequence[float], part: float) -> float:
    """Return a percentile in milliseconds."""
    return float(np.percentile(np.asarray(seconds) * 1000, part))


def report(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows of like keys as a table, and everything as one JSON line."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    cells = [keys, *([_shown(row.get(key, "")) for key in keys] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    print(json.dumps({"benchmark": Path(sys.argv[0]).stem, "rows": rows}, default=float))


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
