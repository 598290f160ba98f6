"""What do remembering and recalling cost, beside mem0 on the same texts, vectors and questions?

    python benchmarks/memory_peers.py --peers FOLDER --peers-python PYTHON [--data FOLDER]
        [--memories 1000] [--persons 1 1000] [--only ours mem0_qdrant mem0_faiss]

FOLDER (or VADE_PEERS) holds `corpus.py` and `memory_bench.py`, whose class is mem0's rows; PYTHON
(or VADE_PEERS_PYTHON) is an interpreter with mem0. Vectors are looked up on both sides, so no
embedding is measured; there is no language model (mem0: `infer=False`), and no network.

Every row is a process of its own. They take turns, a tenth of the memories each, then a block of
questions each, so that what else the machine does meets each alike. Ours is `App.remember`, with
its comparison with what is known and its commit, and `App.recall`, with profile, both legs and the
confirmed rows. `last / first` compares the median add of the last tenth with that of the first.
Processor time is of all processes, PostgreSQL's too. `hit@1` is the wanted memory at the top,
`code` an exact code, asked beside a vector of something else, among all that came; `foreign` counts
memories of others that came to anybody.

With DATA (or VADE_SHARED_DATA) the 15 persons of MemoryBank (Zhong et al. 2024, MIT) follow: all
that each said is remembered, and every probing question is asked by everybody: `foreign` must be 0.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

MEM0 = ("mem0_qdrant", "mem0_faiss")
ROWS = ("ours", *MEM0)
TENTHS = 10
QUESTIONS = 100
RECALLED = 15


class Store(Protocol):
    """A row: what it remembers and recalls for a person."""

    def add(self, number: int, person: str) -> None: ...

    def search(self, number: int, person: str) -> list[str]: ...

    def cpu_seconds(self) -> float: ...

    def outcomes(self) -> Mapping[str, int]: ...

    def close(self) -> None: ...


class Given:
    """Texts and questions with their vectors, as the parent wrote them."""

    def __init__(self, folder: Path) -> None:
        found = json.loads((folder / "texts.json").read_text())
        self.texts: list[str] = found["texts"]
        self.questions: list[str] = found["questions"]
        vectors = np.load(folder / "vectors.npy")
        self.vectors = vectors[: len(self.texts)]
        self.asked = vectors[len(self.texts) :]


class Peer:
    """mem0 with one of its stores, by the harness's own class."""

    def __init__(self, name: str, given: Given, folder: Path) -> None:
        found = SimpleNamespace(
            texts=given.texts, vecs=given.vectors, q_texts=given.questions, q_vecs=given.asked
        )
        path = folder / name
        path.mkdir()
        self._store = import_module("memory_bench").Mem0(str(path), found, name.split("_")[1])
        self._given = given
        self._added = 0

    def add(self, number: int, person: str) -> None:
        self._store.add(self._given.texts[number], self._given.vectors[number], person)
        self._added += 1

    def search(self, number: int, person: str) -> list[str]:
        text, vector = self._given.questions[number], self._given.asked[number]
        found: list[str] = self._store.search(text, vector, person, RECALLED)
        return found

    def cpu_seconds(self) -> float:
        return sum(os.times()[:4])

    def outcomes(self) -> Mapping[str, int]:
        return {"added": self._added}

    def close(self) -> None:
        """Nothing of it outlives the process."""


class Ours:
    """The product over a database of its own."""

    def __init__(self, given: Given) -> None:
        from bench_support import Lookup, opened_line

        self._given = given
        known = dict(zip(given.texts, given.vectors, strict=True))
        known |= dict(zip(given.questions, given.asked, strict=True))
        self._runner = asyncio.Runner()
        self._open = AsyncExitStack()
        line = opened_line(Lookup(known))
        self._line = self._runner.run(self._open.enter_async_context(line))
        self._outcomes: dict[str, int] = {}

    def add(self, number: int, person: str) -> None:
        from vademecum.errors import VademecumError

        outcome = "refused"
        with suppress(VademecumError):  # a person's words may hold what is no memory
            doing = self._line.app.remember(self._given.texts[number], scope=self._scope(person))
            outcome = self._runner.run(doing).outcome
        self._outcomes[outcome] = self._outcomes.get(outcome, 0) + 1

    def search(self, number: int, person: str) -> list[str]:
        asking = self._line.app.recall(
            self._given.questions[number], scope=self._scope(person), stage="close"
        )
        found = self._runner.run(asking)
        assert found.degraded == (), found.degraded
        return [one.memory.text for one in found.all]

    def _scope(self, person: str) -> Any:
        from vademecum.model.principal import Scope

        return Scope.for_principal("default", person, frozenset())

    def cpu_seconds(self) -> float:
        from bench_support import server_cpu_seconds

        return sum(os.times()[:4]) + server_cpu_seconds(self._line.postmaster)

    def outcomes(self) -> Mapping[str, int]:
        return self._outcomes

    def close(self) -> None:
        self._runner.run(self._open.aclose())
        self._runner.close()


def serve(name: str, folder: Path) -> None:
    """Be a row: read orders from stdin, one a line, and answer each in one line."""
    given = Given(folder)
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no reply
    store: Store = Ours(given) if name == "ours" else Peer(name, given, folder)
    do: dict[str, Callable[[int, str], Any]] = {"add": store.add, "search": store.search}
    print(json.dumps("ready"), file=replies, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        seconds, found, began = [], [], store.cpu_seconds()
        for number, person in order["items"]:
            started = time.perf_counter()
            found.append(do[order["do"]](number, person))
            seconds.append(time.perf_counter() - started)
        cpu = store.cpu_seconds() - began
        reply = {"seconds": seconds, "cpu": cpu, "found": found, "outcomes": store.outcomes()}
        print(json.dumps(reply), file=replies, flush=True)
    store.close()


class Row:
    """A process that is a row."""

    def __init__(self, name: str, python: str, folder: Path, peers: Path) -> None:
        self.name = name
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(
            [str(peers), *filter(None, [os.environ.get("PYTHONPATH")])]
        )}  # fmt: skip
        self._process = subprocess.Popen(
            [python, __file__, "--serve", name, "--folder", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended early")
        return json.loads(line)

    def order(self, do: str, items: Sequence[tuple[int, str]]) -> dict[str, Any]:
        """Have each item done, (number, person); return what came of it."""
        assert self._process.stdin is not None
        print(json.dumps({"do": do, "items": items}), file=self._process.stdin, flush=True)
        reply: dict[str, Any] = self._read()
        return reply

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def milliseconds(seconds: Sequence[float], part: float = 50) -> float:
    return float(np.percentile(np.asarray(seconds) * 1000, part))


def write(folder: Path, texts: list[str], questions: list[str], vectors: Any) -> None:
    (folder / "texts.json").write_text(json.dumps({"texts": texts, "questions": questions}))
    np.save(folder / "vectors.npy", np.asarray(vectors, np.float32))


def opened(names: Sequence[str], options: argparse.Namespace, folder: Path) -> list[Row]:
    pythons = {name: options.peers_python if name in MEM0 else sys.executable for name in names}
    return [Row(name, pythons[name], folder, options.peers) for name in names]


def measured(options: argparse.Namespace, persons: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield one line a row for so many persons."""
    count = options.memories
    made = import_module("corpus").make(count, 2 * QUESTIONS, mean_len=25)
    targets = [int(target[1:]) for target in made.q_target]
    # Half of the questions are codes alone, each with the vector of another memory.
    questions = made.q_texts[:QUESTIONS] + [made.texts[t].split()[-1] for t in targets[QUESTIONS:]]
    asked = np.concatenate(
        [made.q_vecs[:QUESTIONS], made.vecs[[(t + persons) % count for t in targets[QUESTIONS:]]]]
    )
    write(folder, made.texts, questions, np.concatenate([made.vecs, asked]))
    rows = opened(options.only, options, folder)
    adds: dict[str, list[dict[str, Any]]] = {row.name: [] for row in rows}
    people = [f"user:{number % persons}" for number in range(count)]
    for tenth in np.array_split(np.arange(count), TENTHS):
        for row in rows:
            adds[row.name].append(row.order("add", [(int(n), people[n]) for n in tenth]))
    owner = dict(zip(made.texts, people, strict=True))
    for row in rows:
        by_words = [(n, people[targets[n]]) for n in range(QUESTIONS)]
        by_code = [(n, people[targets[n]]) for n in range(QUESTIONS, 2 * QUESTIONS)]
        found = row.order("search", by_words)
        codes = row.order("search", by_code)
        first = milliseconds(adds[row.name][0]["seconds"])
        seconds = [s for block in adds[row.name] for s in block["seconds"]]
        wanted = [made.texts[target] for target in targets]
        came = [*found["found"], *codes["found"]]
        asking = [person for _, person in [*by_words, *by_code]]
        yield {
            "row": row.name,
            "persons": persons,
            "memories": count,
            "add_p50_ms": milliseconds(seconds),
            "add_p95_ms": milliseconds(seconds, 95),
            "last / first": milliseconds(adds[row.name][-1]["seconds"]) / first,
            "add_cpu_ms": 1000 * sum(block["cpu"] for block in adds[row.name]) / count,
            "search_p50_ms": milliseconds(found["seconds"]),
            "search_p95_ms": milliseconds(found["seconds"], 95),
            "search_cpu_ms": 1000 * found["cpu"] / QUESTIONS,
            "hit@1": statistics.fmean(
                wanted[n] in texts[:1] for n, texts in enumerate(found["found"])
            ),
            "code": statistics.fmean(
                wanted[QUESTIONS + n] in texts for n, texts in enumerate(codes["found"])
            ),
            "rows": statistics.fmean(map(len, found["found"])),
            "foreign": sum(
                owner.get(text) != person
                for texts, person in zip(came, asking, strict=True)
                for text in texts
            ),
            "outcomes": str(dict(found["outcomes"])),
            "load1": os.getloadavg()[0],
        }
        row.close()


def memorybank(options: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield one line a row for the persons of MemoryBank."""
    from bench_support import CountingHash

    data = options.data / "mem-memorybank"
    told = json.loads((data / "memory_bank_en.json").read_text())
    said = [
        (turn["query"], f"user:{place}")
        for place, person in enumerate(told.values())
        for day in person["history"].values()
        for turn in day
    ]
    questions = [
        question
        for line in (data / "probing_questions_en.jsonl").read_text().splitlines()
        for asked in json.loads(line).values()
        for question in ([asked] if isinstance(asked, str) else asked)
        if isinstance(question, str) and len(question) > 1
    ]
    owners: dict[str, set[str]] = {}
    for text, person in said:
        owners.setdefault(" ".join(text.split()), set()).add(person)
    embedder = CountingHash(dimension=384)
    texts = [text for text, _ in said]
    write(folder, texts, questions, asyncio.run(embedder.embed([*texts, *questions], "passage")))
    everybody = sorted({person for _, person in said})
    for row in opened(options.only, options, folder):
        added = row.order("add", [(number, person) for number, (_, person) in enumerate(said)])
        items = [(n, person) for n in range(len(questions)) for person in everybody]
        found = row.order("search", items)
        came = zip(found["found"], items, strict=True)
        row.close()
        yield {
            "row": row.name,
            "persons": len(everybody),
            "said": len(said),
            "questions": len(items),
            "add_p50_ms": milliseconds(added["seconds"]),
            "search_p50_ms": milliseconds(found["seconds"]),
            "came": sum(map(len, found["found"])),
            "foreign": sum(
                person not in owners.get(" ".join(text.split()), set())
                for texts, (_, person) in came
                for text in texts
            ),
            "outcomes": str(dict(found["outcomes"])),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = os.environ.get
    parser.add_argument("--peers", type=Path, default=folder("VADE_PEERS"))
    parser.add_argument("--peers-python", default=folder("VADE_PEERS_PYTHON"))
    parser.add_argument("--data", type=Path, default=folder("VADE_SHARED_DATA"))
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--persons", type=int, nargs="*", default=[1, 1_000])
    parser.add_argument("--only", nargs="*", default=list(ROWS), choices=ROWS)
    parser.add_argument("--serve", choices=ROWS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.folder)
        return
    from bench_support import report

    sys.path.insert(0, str(options.peers))
    for persons in options.persons:
        with tempfile.TemporaryDirectory(prefix="vade-memory-") as place:
            report(list(measured(options, persons, Path(place))))
    if options.data:
        with tempfile.TemporaryDirectory(prefix="vade-memory-") as place:
            report(list(memorybank(options, Path(place))))


if __name__ == "__main__":
    main()
