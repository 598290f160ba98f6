"""Does every answer keep to the description, and is none a fault of ours? Made-up requests.

As four principals: a person, one who may only read, an operator, and nobody.
"""

import json
from typing import Any

import httpx
import pytest
import schemathesis
from http_server import BASE, EVERYTHING, Served
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import OPERATOR, source

from vademecum.server.described import described

# Reading a stream to its end is another test; deleting one's own key ends the rest of a run.
LEFT = {"/mcp", "/metrics", "/api/openapi.json"}


def operations(served: Served) -> list[Any]:
    api = served.asgi._app._app  # type: ignore[attr-defined]  # what the gate guards
    document = json.loads(json.dumps(described(api)))
    schema = schemathesis.openapi.from_dict(document)
    return [found.ok() for found in schema.get_all_operations() if found.ok().path not in LEFT]


async def send(served: Served, key: str | None, case: Any) -> httpx.Response:
    """Send a made-up case over ASGI, as the client of the library would build it."""
    kwargs = case.as_transport_kwargs(base_url=BASE)
    headers = {
        name: value
        for name, value in dict(kwargs.get("headers") or {}).items()
        if name.lower() not in ("authorization", "host", "transfer-encoding", "content-length")
    }
    data = kwargs.get("data")
    raw = {"content": data} if isinstance(data, bytes | str) else {"data": data}
    async with served.client(key) as client:
        return await client.request(
            kwargs["method"], kwargs["url"], params=kwargs.get("params"),
            json=kwargs.get("json"), files=kwargs.get("files"), headers=headers, **raw,
        )  # fmt: skip


def check(case: Any, answer: httpx.Response) -> None:
    told = (case.method, case.formatted_path, answer.status_code, answer.text[:300])
    assert answer.status_code < 500, told
    statuses = case.operation.definition.raw["responses"]
    assert str(answer.status_code) in statuses, told
    if answer.status_code >= 400:
        body = answer.json()
        if case.operation.path.startswith("/v1/"):
            assert set(body["error"]) >= {"message", "type", "code"}, told
        else:
            assert body["status"] == answer.status_code, told
            assert set(body) >= {"type", "title", "detail", "code", "message", "hint"}, told


async def run(served: Served, examples: int) -> int:
    """Send so many cases to every operation as each principal; return how many were sent."""
    await served.bench.app.ingest([source("a.md", "Lift 4 goes to sector C.")], scope=OPERATOR)
    keys = [
        await served.key("user:person"),
        await served.key("user:reader", "read"),
        await served.key("user:boss", *EVERYTHING),
        None,
    ]
    count = 0
    for operation in operations(served):
        for key in keys:
            for case in cases(operation, examples):
                answer = await send(served, key, case)
                check(case, answer)
                count += 1
    return count


def cases(operation: Any, examples: int) -> list[Any]:
    """Draw cases of an operation: valid ones and ones that break its schema."""
    found: list[Any] = []

    @settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(operation.as_strategy()))
    def draw(case: Any) -> None:
        found.append(case)

    draw()
    return found


async def test_a_few_made_up_requests_to_every_route(served_freely: Served) -> None:
    assert await run(served_freely, 3) > 300


@pytest.mark.slow
async def test_many_made_up_requests_to_every_route(served_freely: Served) -> None:
    assert await run(served_freely, 60) > 6_000
