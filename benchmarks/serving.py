"""How many searches a second does the server carry, beside the library called in a process?

    python benchmarks/serving.py [--home FOLDER] [--searches 200] [--at-once 4] [--rounds 3]

Both are processes of their own over the same data folder, the invented box office with the local
model, and are asked the same questions, so many at once, taking turns a round each. The readers of
the HTTP answers are this process, whose time counts against the server, as they share the cores.
One line of JSON a round, then the ratio of the medians.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
from bench_support import EXAMPLES, SCOPE, clean_environment, percentile, served

from vademecum import composing
from vademecum.settings import load

_TOP = 10
_CHILD = "--in-process"
Ask = Callable[[str], Awaitable[None]]


def questions(number: int) -> list[str]:
    """Return so many questions of the box office, each with a word of its own, so that nothing is
    answered from a cache."""
    asked = tomllib.loads((EXAMPLES.parent / "questions.toml").read_text())
    texts = [one["text"] for one in asked["question"]]
    return [f"{text} ({n})" for n, text in zip(range(number), itertools.cycle(texts), strict=False)]


async def rate(ask: Ask, texts: list[str], at_once: int) -> tuple[float, float]:
    """Return the searches a second, and the p95 of one in milliseconds."""
    waiting, taken = iter(texts), []

    async def asking() -> None:
        for text in waiting:
            began = time.monotonic()
            await ask(text)
            taken.append(time.monotonic() - began)

    began = time.monotonic()
    await asyncio.gather(*(asking() for _ in range(at_once)))
    return len(texts) / (time.monotonic() - began), percentile(taken, 95)


async def in_process(home: Path, at_once: int) -> None:
    """Answer each line of numbers on stdin, as JSON, with what such a round gave."""
    loaded = load(config=None, flags={}, environment={"VADE_HOME": str(home)})
    async with composing.open(loaded) as app:

        async def ask(text: str) -> None:
            await app.search(text, scope=SCOPE, k=_TOP)

        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await rate(ask, json.loads(line), at_once)), flush=True)


async def over_http(url: str, key: str, texts: list[str], at_once: int) -> tuple[float, float]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:

        async def ask(text: str) -> None:
            answer = await client.post("/api/v1/search", json={"query": text, "k": _TOP})
            answer.raise_for_status()

        return await rate(ask, texts, at_once)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, help="a data folder whose model is prepared")
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(_CHILD, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.in_process:
        asyncio.run(in_process(arguments.home, arguments.at_once))
        return
    home = arguments.home or Path(tempfile.mkdtemp(prefix="vade-serving-"))
    home.chmod(0o755)
    texts = questions(arguments.searches)
    rates: dict[str, list[float]] = {"library": [], "http": []}
    start = "from vademecum.cli.main import run; run()"
    subprocess.run(
        [sys.executable, "-c", start, "ingest", str(EXAMPLES)],
        env=clean_environment(home),
        check=True,
    )
    with served(home, {"VADE_LIMITS__REQUESTS_PER_MINUTE": "1000000"}) as (url, key):
        library = subprocess.Popen(
            [sys.executable, __file__, _CHILD, f"--home={home}", f"--at-once={arguments.at_once}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert library.stdin is not None
        assert library.stdout is not None
        for number in range(arguments.rounds + 1):
            print(json.dumps(texts), file=library.stdin, flush=True)
            taken = {"library": json.loads(library.stdout.readline())}
            taken["http"] = asyncio.run(over_http(url, key, texts, arguments.at_once))
            for name, (per_second, p95) in taken.items():
                row = {"round": number, "row": name, "per_s": round(per_second, 1)}
                print(json.dumps(row | {"p95_ms": round(p95)}), flush=True)
                if number:  # plans and pages come in
                    rates[name].append(per_second)
        library.stdin.close()
        library.wait(60)
    middle = {name: statistics.median(own) for name, own in rates.items()}
    print(json.dumps({"http_of_library": round(middle["http"] / middle["library"], 3)}))


if __name__ == "__main__":
    main()
