"""Do spans tell what was done, in the words of OpenTelemetry, and nothing of anybody?"""

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from http_server import Served, put, serve_bench
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from support import make_bench

from vademecum.adapters.tracing import NO_TRACING, OtelTracing, TracedEmbedder, open_tracing
from vademecum.errors import InvalidSetting, ProviderAway
from vademecum.postgres.pool import Pool
from vademecum.testing.embedders import HashEmbedder
from vademecum.testing.language_models import ModelFault, ScriptedModel

SAID = "Cameras with a lens of at most 200 mm are allowed in Hall Norte [1]."
QUESTION = "Which zqcameras are allowed in Hall Norte?"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracing(spans: InMemorySpanExporter) -> OtelTracing:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return OtelTracing(provider)


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


async def traced(
    pool: Pool, url: str, folder: Path, model: ScriptedModel, tracing: OtelTracing
) -> Served:
    bench = await make_bench(pool, url, folder / "blobs", language_model=model, tracing=tracing)
    return serve_bench(bench, folder)


async def test_a_question_is_a_tree_of_spans(
    pool: Pool, database_url: str, tmp_path: Path, spans: InMemorySpanExporter, tracing: OtelTracing
) -> None:
    model = ScriptedModel([[SAID]], name="openai:paced")
    served = await traced(pool, database_url, tmp_path, model, tracing)
    key = await served.key("user:zqperson")
    await put(served, key, uri="zquri.md")
    spans.clear()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with served.client(key, {"traceparent": parent}) as client:
        answer = await client.post("/api/v1/ask", json={"question": QUESTION})
    await served.service.streams.close()
    [request], [agent], [chat] = (
        named(spans, name) for name in ("POST /api/v1/ask", "invoke_agent vademecum", "chat paced")
    )
    assert request.attributes == {
        "http.request.method": "POST",
        "url.scheme": "http",
        "http.route": "/api/v1/ask",
        "http.response.status_code": 200,
    }
    usage = answer.json()["usage"]
    assert dict(chat.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "paced",
        "gen_ai.request.max_tokens": 800,
        "gen_ai.usage.input_tokens": usage["prompt_tokens"],
        "gen_ai.usage.output_tokens": usage["completion_tokens"],
    }
    told = dict(agent.attributes or {})
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert told["gen_ai.usage.input_tokens"] == usage["prompt_tokens"]
    assert float(told["vademecum.stage.retrieve_ms"]) > 0  # type: ignore[arg-type]
    assert (request.kind.name, agent.kind.name, chat.kind.name) == ("SERVER", "INTERNAL", "CLIENT")
    assert chat.parent is not None
    assert agent.parent is not None
    assert request.parent is not None
    assert chat.parent.span_id == agent.context.span_id
    assert agent.parent.span_id == request.context.span_id
    assert f"{request.parent.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert len({span.context.trace_id for span in (request, agent, chat)}) == 1


async def test_nothing_of_prompts_and_people_is_in_a_span(
    pool: Pool, database_url: str, tmp_path: Path, spans: InMemorySpanExporter, tracing: OtelTracing
) -> None:
    """Threat 18: canaries in every field, with errors that hold them too."""
    away = ProviderAway("zqerror of https://zqkey@example.org")
    model = ScriptedModel([["zqanswer [1]."]], faults={2: ModelFault(error=away)})
    served = await traced(pool, database_url, tmp_path, model, tracing)
    key = await served.key("user:zqperson", labels=("group:zqgroup",))
    await put(served, key, uri="zquri.md", text="zqtext of a rule.", collection="zqcollection")
    async with served.client(key) as client:
        for _ in range(3):
            await client.post("/api/v1/ask?zqquery=zq", json={"question": QUESTION})
        await client.get("/zqpath/zq")
        await client.post("/api/v1/memories", json={"text": "I like zqjazz."})
    await served.service.streams.close()
    assert named(spans, "chat scripted")
    told = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "zq" not in told
    assert key.split(".")[1] not in told
    [failed] = [span for span in named(spans, "chat scripted") if not span.status.is_ok]
    assert (failed.attributes or {})["error.type"] == "provider-away"
    assert failed.events == ()


async def test_what_breaks_inside_is_a_failed_span(
    pool: Pool, database_url: str, tmp_path: Path, spans: InMemorySpanExporter,
    tracing: OtelTracing, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    async def broken(*_: object, **__: object) -> object:
        raise RuntimeError("zqsecret")

    served = await traced(pool, database_url, tmp_path, ScriptedModel([[SAID]]), tracing)
    monkeypatch.setattr(type(served.bench.app), "search", broken)
    async with served.client(await served.key()) as client:
        await client.post("/api/v1/search", json={"query": "x"})
    [span] = named(spans, "POST /api/v1/search")
    assert (span.status.is_ok, (span.attributes or {})["error.type"]) == (False, "500")
    assert "zqsecret" not in span.to_json()


async def test_an_embedder_tells_its_model(
    spans: InMemorySpanExporter, tracing: OtelTracing
) -> None:
    inner = HashEmbedder()
    vectors = await TracedEmbedder(inner, tracing).embed(["zqone", "zqtwo"], "query")
    assert vectors.shape == (2, inner.space.dimension)
    [span] = spans.get_finished_spans()
    assert span.name == f"embeddings {inner.space.model}"
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": inner.space.provider,
        "gen_ai.request.model": inner.space.model,
        "gen_ai.embeddings.dimension.count": inner.space.dimension,
        "vademecum.texts": 2,
    }


# ---- where they go


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ExportTraceServiceRequest]]:
    """What a collector on this machine got over HTTP."""
    got: list[ExportTraceServiceRequest] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                got.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield got
    server.shutdown()
    thread.join()
    server.server_close()


async def test_they_reach_a_collector(
    pool: Pool, database_url: str, tmp_path: Path, receiver: list[ExportTraceServiceRequest],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    import os

    monkeypatch.setenv("OTEL_SERVICE_NAME", "ask-desk")
    tracing = open_tracing(os.environ)
    assert isinstance(tracing, OtelTracing)
    served = await traced(pool, database_url, tmp_path, ScriptedModel([[SAID]]), tracing)
    key = await served.key()
    await put(served, key)
    async with served.client(key) as client:
        await client.post("/api/v1/ask", json={"question": "Which cameras are allowed?"})
    await served.service.streams.close()
    tracing.close()
    resources = [resource for request in receiver for resource in request.resource_spans]
    sent = {s.name for r in resources for scope in r.scope_spans for s in scope.spans}
    assert {"POST /api/v1/ask", "invoke_agent vademecum", "chat scripted"} <= sent
    names = {
        a.value.string_value for a in resources[0].resource.attributes if a.key == "service.name"
    }
    assert names == {"ask-desk"}


def test_without_an_endpoint_nothing_is_loaded() -> None:
    assert open_tracing({}) is NO_TRACING
    assert open_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}) is NO_TRACING
    told = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}
    assert open_tracing(told) is NO_TRACING


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(InvalidSetting, match=r"vademecum\[otel\]"):
        open_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
