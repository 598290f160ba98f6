"""How does a language model of any provider write, through the pydantic-ai library?"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any

from vademecum.adapters.providers import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    Kind,
    Provider,
    Trouble,
    find_provider,
    open_client,
    quieten,
    sendable,
)
from vademecum.errors import InvalidSetting
from vademecum.model.answer import Usage
from vademecum.ports.language_model import Prompt

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponseStreamEvent
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

# A model that cannot but think first spends tokens on it before the answer begins.
THINKING_TOKENS = 4_000


def make_language_model(
    name: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    connect_seconds: float = CONNECT_SECONDS,
    idle_seconds: float = IDLE_SECONDS,
) -> "PydanticAiModel":
    """Return the model `openai:NAME`, `anthropic:NAME` or `ollama:NAME`; nothing is sent yet.

    `base_url` names another server that speaks the provider's interface; it may do without a key.
    `idle_seconds` is the longest silence between two pieces. Importing the library takes a second.

    Raises: InvalidSetting.
    """
    provider = find_provider(name, api_key=api_key, base_url=base_url)
    if provider.kind == "anthropic":
        model, close = _anthropic(provider, connect_seconds, idle_seconds)
    else:
        model, close = _openai(provider, base_url, connect_seconds, idle_seconds)
    return PydanticAiModel(provider=provider, model=model, close=close, idle_seconds=idle_seconds)


class PydanticAiModel:
    """LanguageModel over a model of pydantic-ai. Close it with `aclose` when done."""

    def __init__(
        self,
        *,
        provider: Provider,
        model: "Model",
        close: Callable[[], Awaitable[None]],
        idle_seconds: float,
    ) -> None:
        self._provider = provider
        self._model = model
        self._close = close
        self._idle_seconds = idle_seconds

    @property
    def name(self) -> str:
        return self._provider.name

    async def aclose(self) -> None:
        await self._close()

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Usage, None]:
        """See `LanguageModel.stream`. A request that fails before its first piece is sent again
        once, where waiting at most five seconds may help."""
        for second_try in (False, True):
            begun = False
            trouble: Trouble | None = None
            try:
                async with aclosing(self._pieces(prompt)) as pieces:
                    async for piece in pieces:
                        begun = begun or isinstance(piece, Usage) or not piece.isspace()
                        yield piece
            except _failures() as error:
                trouble = _trouble(error, begun=begun)
            if trouble is None and not begun:
                trouble = Trouble(kind="empty")
            if trouble is None:
                return
            wait = None if begun or second_try else trouble.retry_after
            if wait is None:
                # Raised outside of `except`: the library's error, which may hold addresses and
                # bodies, is no part of the chain that a traceback shows.
                raise trouble.error(self._provider, self._idle_seconds)
            await asyncio.sleep(wait)

    async def _pieces(self, prompt: Prompt) -> AsyncGenerator[str | Usage, None]:
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart

        system = SystemPromptPart(content=sendable(prompt.system))
        user = UserPromptPart(content=sendable(prompt.user))
        written = False
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._idle_seconds):
                response = await stack.enter_async_context(
                    model_request_stream(
                        self._model,
                        [ModelRequest(parts=[system, user])],
                        model_settings=_settings(self._model, prompt),
                        instrument=False,
                    )
                )
            events = aiter(response)
            while True:
                async with asyncio.timeout(self._idle_seconds):
                    event = await anext(events, None)
                if event is None:
                    break
                if text := _text(event):
                    written = written or not text.isspace()
                    yield text
            if written:
                usage = response.usage
                yield Usage(prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens)


def _openai(
    provider: Provider, base_url: str | None, connect_seconds: float, idle_seconds: float
) -> tuple["Model", Callable[[], Awaitable[None]]]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles import merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    client = open_client(provider, connect_seconds=connect_seconds, idle_seconds=idle_seconds)
    kind = OllamaProvider if provider.kind == "ollama" else OpenAIProvider
    known = kind.model_profile(provider.model)
    # Other servers know the limit by its older name; models that think know the newer one only.
    newer_name = (provider.kind == "openai" and base_url is None) or _thinks(known or {})
    profile = merge_profile(
        known,
        OpenAIModelProfile(
            openai_chat_supports_max_completion_tokens=newer_name,
            # Else a reply that was cut at a piece's end would pass for a whole one.
            openai_chat_streaming_requires_finish_reason=True,
        ),
    )
    model = OpenAIChatModel(provider.model, provider=kind(openai_client=client), profile=profile)
    return model, client.close


def _anthropic(
    provider: Provider, connect_seconds: float, idle_seconds: float
) -> tuple["Model", Callable[[], Awaitable[None]]]:
    try:
        from anthropic import AsyncAnthropic, Timeout
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider
    except ImportError:
        raise InvalidSetting(
            f"{provider.name} needs a package that is not installed",
            hint="Run: pip install 'vademecum[anthropic]'",
        ) from None
    quieten()
    client = AsyncAnthropic(
        api_key=provider.key,
        base_url=provider.address,
        timeout=Timeout(idle_seconds, connect=connect_seconds),
        max_retries=0,
    )
    model = AnthropicModel(provider.model, provider=AnthropicProvider(anthropic_client=client))
    return model, client.close


def _thinks(profile: Any) -> bool:
    """Return whether the model thinks where it is not asked about it."""
    return bool(
        profile.get("thinking_always_enabled") or profile.get("thinking_enabled_by_default")
    )


def _takes_temperature(profile: Any) -> bool:
    if profile.get("anthropic_disallows_sampling_settings"):
        return False
    return not (profile.get("openai_supports_reasoning") and _thinks(profile))


def _settings(model: "Model", prompt: Prompt) -> "ModelSettings":
    from pydantic_ai.settings import ModelSettings

    profile = model.profile
    room = THINKING_TOKENS if _thinks(profile) else 0
    settings = ModelSettings(max_tokens=prompt.max_tokens + room)
    if prompt.temperature is not None and _takes_temperature(profile):
        settings["temperature"] = prompt.temperature
    return settings


def _text(event: "ModelResponseStreamEvent") -> str:
    """Return the answer's text that an event brings; thoughts and tool calls are none."""
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _failures() -> tuple[type[Exception], ...]:
    """Return what a request may raise. The last three: a reply that is JSON of another shape."""
    from openai import OpenAIError
    from pydantic_ai.exceptions import AgentRunError

    http: tuple[type[Exception], ...]
    try:
        from httpx2 import HTTPError

        http = (HTTPError,)
    except ImportError:
        http = ()
    return (
        *(AgentRunError, OpenAIError, *http, TimeoutError, OSError, ValueError),
        *(AttributeError, LookupError, TypeError),
    )


def _trouble(error: Exception, *, begun: bool) -> Trouble:
    from pydantic_ai.exceptions import (
        ModelConnectionError,
        ModelContextWindowExceededError,
        ModelHTTPError,
        ModelQuotaExceededError,
        ModelTimeoutError,
        UnexpectedModelBehavior,
    )

    if isinstance(error, ModelHTTPError):
        return Trouble.of_status(
            error.status_code,
            wait=error.retry_after,
            out_of_credit=isinstance(error, ModelQuotaExceededError),
            too_long=isinstance(error, ModelContextWindowExceededError),
        )
    shapeless = ValueError | AttributeError | LookupError | TypeError | UnexpectedModelBehavior
    kind: Kind = "cut"
    if isinstance(error, ModelConnectionError) and not begun and error.phase != "read":
        kind = "away"
    elif isinstance(error, TimeoutError | ModelTimeoutError):
        kind = "timeout"
    elif isinstance(error, shapeless) or isinstance(error.__cause__, ValueError):
        kind = "unreadable"
    return Trouble(kind=kind)
