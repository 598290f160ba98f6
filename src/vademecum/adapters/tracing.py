"""Where does the work show beside that of other programs? As spans of OpenTelemetry.

Names and values are those of its conventions, for HTTP and for generative models. Nothing that
anybody wrote, and no name of anybody, is in them.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from vademecum.errors import InvalidSetting, VademecumError
from vademecum.model.answer import Usage
from vademecum.model.embedding import EmbeddingSpace, FloatArray, Role
from vademecum.ports.embedder import Embedder
from vademecum.ports.language_model import LanguageModel, Prompt

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

NAME = "vademecum"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
Kind = Literal["internal", "client", "server"]
Value = str | int | float
Attributes = Mapping[str, Value]


class Noted(Protocol):
    """One stretch of work that is being noted."""

    def note(self, **values: Value) -> None:
        """Add what is known by now; `__` in a name is a dot."""
        ...

    def failed(self, code: str) -> None:
        """Say by its code what went wrong."""
        ...

    def call(self, name: str) -> None:
        """Give it another name."""
        ...

    def end(self) -> None: ...


class Tracing(Protocol):
    """Whoever takes notes."""

    def begin(self, name: str, attributes: Attributes, kind: Kind) -> Noted:
        """Begin a stretch within the one that is under way; whoever begins it ends it."""
        ...

    def during(
        self,
        name: str,
        attributes: Attributes,
        kind: Kind,
        headers: Mapping[str, str] | None = None,
    ) -> AbstractContextManager[Noted]:
        """Note a stretch, within which others are noted. `headers` may say whose it is a part of
        (W3C Trace Context)."""
        ...

    def close(self) -> None:
        """Send what is not yet sent."""
        ...


class NoNote:
    """Nothing is noted."""

    def note(self, **values: Value) -> None: ...

    def failed(self, code: str) -> None: ...

    def call(self, name: str) -> None: ...

    def end(self) -> None: ...


class NoTracing:
    """Nobody takes notes."""

    def begin(self, name: str, attributes: Attributes, kind: Kind) -> Noted:
        return NoNote()

    @contextmanager
    def during(
        self,
        name: str,
        attributes: Attributes,
        kind: Kind,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Noted]:
        yield NoNote()

    def close(self) -> None: ...


NO_TRACING = NoTracing()


class SpanNote:
    """A span of OpenTelemetry."""

    def __init__(self, span: "Span") -> None:
        self.span = span

    def note(self, **values: Value) -> None:
        for name, value in values.items():
            self.span.set_attribute(name.replace("__", "."), value)

    def failed(self, code: str) -> None:
        from opentelemetry.trace import StatusCode

        self.span.set_attribute("error.type", code)
        self.span.set_status(StatusCode.ERROR)

    def call(self, name: str) -> None:
        self.span.update_name(name)

    def end(self) -> None:
        self.span.end()


class OtelTracing:
    """Tracing through a provider of OpenTelemetry."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(NAME)

    def begin(self, name: str, attributes: Attributes, kind: Kind) -> Noted:
        from opentelemetry.trace import SpanKind

        return SpanNote(
            self._tracer.start_span(name, kind=SpanKind[kind.upper()], attributes=dict(attributes))
        )

    @contextmanager
    def during(
        self,
        name: str,
        attributes: Attributes,
        kind: Kind,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Noted]:
        from opentelemetry.trace import SpanKind, use_span
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = TraceContextTextMapPropagator().extract(headers) if headers else None
        span = self._tracer.start_span(
            name, context=parent, kind=SpanKind[kind.upper()], attributes=dict(attributes)
        )
        # What an exception says may be private: only codes are noted.
        with use_span(
            span, end_on_exit=True, record_exception=False, set_status_on_exception=False
        ):
            yield SpanNote(span)

    def close(self) -> None:
        self._provider.shutdown()


def open_tracing(environment: Mapping[str, str]) -> Tracing:
    """Return what sends spans where OTEL_EXPORTER_OTLP_ENDPOINT says, by HTTP; nobody where it says
    nothing. The other variables of OpenTelemetry hold too. Raises: InvalidSetting."""
    disabled = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if disabled or not any(environment.get(name) for name in _ENDPOINTS):
        return NO_TRACING
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise InvalidSetting(
            f"{_ENDPOINTS[0]} needs a package that is not installed",
            hint="Run: pip install 'vademecum[otel]'",
        ) from None
    name = environment.get("OTEL_SERVICE_NAME") or NAME
    provider = TracerProvider(
        resource=Resource.create({"service.name": name}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return OtelTracing(provider)


@contextmanager
def _ending(noted: Noted) -> Iterator[None]:
    """End a stretch with the block, and say what went wrong in it."""
    try:
        yield
    except VademecumError as error:
        noted.failed(error.code)
        raise
    finally:
        noted.end()


class TracedModel:
    """A LanguageModel each of whose requests is noted: model, tokens, how it ended."""

    def __init__(self, model: LanguageModel, tracing: Tracing) -> None:
        self._model = model
        self._tracing = tracing

    @property
    def name(self) -> str:
        return self._model.name

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Usage, None]:
        provider, model = _named(self.name)
        asked: dict[str, Value] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.request.max_tokens": prompt.max_tokens,
        }
        if prompt.temperature is not None:
            asked["gen_ai.request.temperature"] = prompt.temperature
        # Not the current one: a generator may be closed from elsewhere.
        noted = self._tracing.begin(f"chat {model}", asked, "client")
        with _ending(noted):
            async with aclosing(self._model.stream(prompt)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Usage):
                        noted.note(
                            gen_ai__usage__input_tokens=piece.prompt_tokens,
                            gen_ai__usage__output_tokens=piece.completion_tokens,
                        )
                    yield piece


class TracedEmbedder:
    """An Embedder each of whose calls is noted: model, dimension, how many texts."""

    def __init__(self, embedder: Embedder, tracing: Tracing) -> None:
        self._embedder = embedder
        self._tracing = tracing

    @property
    def space(self) -> EmbeddingSpace:
        return self._embedder.space

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    async def embed(self, texts: Sequence[str], role: Role) -> FloatArray:
        space = self.space
        asked: dict[str, Value] = {
            "gen_ai.operation.name": "embeddings",
            "gen_ai.provider.name": space.provider,
            "gen_ai.request.model": space.model,
            "gen_ai.embeddings.dimension.count": space.dimension,
            "vademecum.texts": len(texts),
        }
        with _ending(self._tracing.begin(f"embeddings {space.model}", asked, "client")):
            return await self._embedder.embed(texts, role)


def _named(name: str) -> tuple[str, str]:
    """Return provider and model of a `provider:model`."""
    provider, _, model = name.partition(":")
    return (provider, model) if model else ("", name)


def stages(timings_ms: Mapping[str, float]) -> dict[str, Any]:
    """Return the times of an answer's stages as values to note."""
    return {f"vademecum__stage__{name}_ms": round(ms, 1) for name, ms in timings_ms.items()}
