"""How many answers can be written at the same time? The server, a paced model, and their readers.

    python benchmarks/streams.py --streams 1 20 100 --home FOLDER

Starts `vade serve` over a data folder of its own and, in a process apart, a provider that gives
the first token after 300 ms and one each 50 ms. Each reader takes one answer of so many sentences
as events. A sentence is shown when it has been checked, so the gap is that between two of them;
nominal is what the provider's pace makes of it. One line of JSON a number of streams.
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
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
from bench_support import served

FIRST, TOKEN = 0.3, 0.05
SENTENCES = 12
PLACES = ("Norte", "Sul", "Leste", "Oeste")
FACT = "Gate {n} of Hall {hall} opens at {hour}:30 and leads to sector {sector}."


def facts() -> list[str]:
    return [
        FACT.format(n=n, hall=PLACES[n % 4], hour=10 + n % 9, sector="ABCDEFGH"[n % 8])
        for n in range(1, SENTENCES + 1)
    ]


def provider(port: int) -> None:
    """Serve a model that says the facts at a fixed pace, each with its marker."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    said = " ".join(f"{fact} [1]" for fact in facts())
    tokens = [word + " " for word in said.split()]

    async def chat(_request: Request) -> StreamingResponse:
        async def pieces() -> Any:
            await asyncio.sleep(FIRST)
            began = time.monotonic()
            for number, token in enumerate(tokens):
                choice = {"index": 0, "delta": {"role": "assistant", "content": token}}
                yield _line({"choices": [choice | {"finish_reason": None}]})
                await asyncio.sleep(max(0.0, began + (number + 1) * TOKEN - time.monotonic()))
            yield _line({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            yield b"data: [DONE]\n\n"

        return StreamingResponse(pieces(), media_type="text/event-stream")

    routes = [Route("/v1/chat/completions", chat, methods=["POST"])]
    uvicorn.run(Starlette(routes=routes), port=port, log_level="error")


def _line(values: dict[str, Any]) -> bytes:
    head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "paced"}
    return f"data: {json.dumps(head | values)}\n\n".encode()


async def read(client: httpx.AsyncClient, key: str) -> tuple[float, list[float], str]:
    """Take one answer; return the first sentence's time, the gaps between, and how it ended: with
    the event `done`, or an error's code."""
    began, moments, event = time.monotonic(), [], ""
    body = {"question": "Which gates open in the halls?", "stream": True, "temporary": True}
    headers = {"Authorization": f"Bearer {key}"}
    async with client.stream("POST", "/api/v1/ask", json=body, headers=headers) as answer:
        if answer.is_error:
            return float("inf"), [], json.loads(await answer.aread())["code"]
        async for line in answer.aiter_lines():
            if event == "error" and line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))["code"]
            elif line.startswith("event: "):
                event = line.removeprefix("event: ")
                if event == "sentence":
                    moments.append(time.monotonic())
    gaps = [b - a for a, b in itertools.pairwise(moments)]
    return (moments[0] - began if moments else float("inf")), gaps, event


async def measure(url: str, key: str, streams: int) -> dict[str, Any]:
    limits = httpx.Limits(max_connections=streams + 5)
    async with httpx.AsyncClient(base_url=url, timeout=300, limits=limits) as client:
        reading = [asyncio.create_task(read(client, key)) for _ in range(streams)]
        health = []
        while not all(task.done() for task in reading):
            began = time.monotonic()
            await client.get("/health/live")
            health.append(time.monotonic() - began)
            await asyncio.sleep(0.2)
        taken = [await task for task in reading]
    gaps = sorted(gap for _, own, _ in taken for gap in own)
    firsts = sorted(first for first, _, _ in taken)
    nominal = TOKEN * len((facts()[0] + " [1]").split())
    return {
        "streams": streams,
        "ended": dict(Counter(end for _, _, end in taken)),
        "sentences": sum(len(own) + 1 for _, own, _ in taken if own),
        "nominal_gap_s": round(nominal, 3),
        "gap_p50_s": round(statistics.median(gaps), 3) if gaps else None,
        "gap_p99_s": round(gaps[int(len(gaps) * 0.99)], 3) if gaps else None,
        "first_p50_s": round(statistics.median(firsts), 3),
        "first_p95_s": round(firsts[int(len(firsts) * 0.95)], 3),
        "health_p99_s": round(sorted(health)[int(len(health) * 0.99)], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 20, 100])
    parser.add_argument("--home", type=Path, help="a data folder whose model is prepared")
    parser.add_argument("--provider", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.provider:
        provider(arguments.provider)
        return
    home = arguments.home or Path(tempfile.mkdtemp(prefix="vade-streams-"))
    home.chmod(0o755)
    port = 18_431
    environment = {
        "VADE_MODELS__LANGUAGE": "openai:paced",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "OPENAI_API_KEY": "none",
        "VADE_LIMITS__STREAMS": "10000",
        "VADE_LIMITS__REQUESTS_PER_MINUTE": "100000",
    }
    paced = subprocess.Popen([sys.executable, __file__, "--provider", str(port)])
    try:
        with served(home, environment) as (url, key):
            body = {"uri": "gates.md", "text": "\n".join(facts()), "wait": True}
            headers = {"Authorization": f"Bearer {key}"}
            httpx.post(f"{url}/api/v1/documents", json=body, headers=headers, timeout=120)
            for streams in arguments.streams:
                print(json.dumps(asyncio.run(measure(url, key, streams))), flush=True)
    finally:
        paced.terminate()


if __name__ == "__main__":
    main()
