"""How does a remote service turn text into vectors, over the OpenAI-compatible interface?"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vademecum.adapters.providers import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    Provider,
    Trouble,
    find_provider,
    open_client,
    retry_seconds,
    sendable,
)
from vademecum.errors import EmbeddingInvalid, InvalidSetting, TextTooLong, VademecumError
from vademecum.model.embedding import EmbeddingSpace, FloatArray, Role, unit_vectors
from vademecum.ports.language_model import TokenCounter

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_TOKENS = 8_191
MOST_TEXTS = 96
_MOST_DIMENSIONS = 4_000
# A person waits for a query; a document can wait for its turn.
_TRIES: dict[Role, int] = {"query": 2, "passage": 4}


async def open_embedder(
    name: str,
    counter: TokenCounter,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    dimension: int | None = None,
    max_tokens: int = MAX_TOKENS,
    batch: int = MOST_TEXTS,
    connect_seconds: float = CONNECT_SECONDS,
    idle_seconds: float = IDLE_SECONDS,
) -> "RemoteEmbedder":
    """Return the embedder `openai:NAME` or `ollama:NAME`.

    Where `dimension` is not given, one short text is embedded to learn it. A request holds at
    most `batch` texts.

    Raises: InvalidSetting, ProviderAway, EmbeddingInvalid.
    """
    provider = find_provider(name, api_key=api_key, base_url=base_url)
    if provider.kind == "anthropic":
        raise InvalidSetting("anthropic has no embeddings", hint="Use openai:NAME or ollama:NAME")
    service = Service(provider, connect_seconds=connect_seconds, idle_seconds=idle_seconds)
    try:
        if dimension is None:
            dimension = len((await service.vectors(["dimension"], _TRIES["query"]))[0])
        if not 1 <= dimension <= _MOST_DIMENSIONS:
            raise InvalidSetting(
                f"{name} gives vectors of {dimension} dimensions, more than {_MOST_DIMENSIONS}",
                hint="Choose another model",
            )
    except VademecumError:
        await service.aclose()
        raise
    return RemoteEmbedder(
        service=service, counter=counter, dimension=dimension, max_tokens=max_tokens, batch=batch
    )


class RemoteEmbedder:
    """Embedder over a service. Close it with `aclose` when done."""

    def __init__(
        self,
        *,
        service: "Service",
        counter: TokenCounter,
        dimension: int,
        max_tokens: int,
        batch: int,
    ) -> None:
        self._service = service
        self._counter = counter
        self._max_tokens = max_tokens
        self._batch = batch
        self._space = EmbeddingSpace(
            provider=service.provider.kind,
            model=service.provider.model,
            revision="unknown",
            dimension=dimension,
            metric="cosine",
            query_prefix="",
            passage_prefix="",
        )

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    async def aclose(self) -> None:
        await self._service.aclose()

    async def embed(self, texts: Sequence[str], role: Role) -> FloatArray:
        """See `Embedder.embed`. Batches are sent one after the other."""
        if any(not text.strip() for text in texts):
            raise ValueError("a blank text has no embedding: leave it out before")
        if not texts:
            return np.empty((0, self._space.dimension), np.float32)
        fitted = await asyncio.to_thread(lambda: [self._fitted(text, role) for text in texts])
        found: list[FloatArray] = []
        for at in range(0, len(fitted), self._batch):
            rows = await self._service.vectors(fitted[at : at + self._batch], _TRIES[role])
            widths = {len(row) for row in rows}
            if widths != {self._space.dimension}:
                raise EmbeddingInvalid(
                    f"{self._service.provider.name} gave vectors of {sorted(widths)} dimensions, "
                    f"not {self._space.dimension}",
                    hint="Nothing was stored; check models.embedding",
                )
            matrix = np.array(rows, np.float32)
            found.append(unit_vectors(matrix, count=len(rows), dimension=self._space.dimension))
        return np.concatenate(found)

    def _fitted(self, text: str, role: Role) -> str:
        """Return the text as it is sent: a query is cut to the limit, a passage never."""
        text = sendable(text)
        # A token stands for at least one byte, so most texts need no count.
        if len(text.encode()) <= self._max_tokens:
            return text
        tokens = self._counter.count(text)
        if tokens > self._max_tokens and role == "passage":
            raise TextTooLong(
                f"The passage has {tokens} tokens, more than {self._max_tokens}",
                hint="Split it into smaller chunks",
            )
        while tokens > self._max_tokens:
            text = text[: len(text) * self._max_tokens // tokens - 1]
            tokens = self._counter.count(text)
        return text


class Service:
    """The remote side: rows of numbers for texts, tried again once where waiting may help."""

    def __init__(self, provider: Provider, *, connect_seconds: float, idle_seconds: float) -> None:
        self.provider = provider
        self._idle_seconds = idle_seconds
        self._client: AsyncOpenAI = open_client(
            provider, connect_seconds=connect_seconds, idle_seconds=idle_seconds
        )

    async def aclose(self) -> None:
        await self._client.close()

    async def vectors(self, texts: Sequence[str], tries: int) -> list[list[float]]:
        """Return one row a text, in their order, asking at most `tries` times where waiting, as
        long as the service wishes, may help. Raises: ProviderAway, EmbeddingInvalid."""
        answer = await self._asked(texts)
        for _ in range(tries - 1):
            if not isinstance(answer, Trouble) or answer.retry_after is None:
                break
            await asyncio.sleep(answer.retry_after)
            answer = await self._asked(texts)
        if isinstance(answer, Trouble):
            raise answer.error(self.provider, self._idle_seconds)
        if sorted(answer) != list(range(len(texts))):
            raise EmbeddingInvalid(
                f"{self.provider.place} gave {len(answer)} vectors for {len(texts)} texts, "
                "or numbered them wrongly",
                hint="Nothing was stored; try again",
            )
        return [answer[index] for index in range(len(texts))]

    async def _asked(self, texts: Sequence[str]) -> dict[int, list[float]] | Trouble:
        """Return rows by the index of their text, or why there are none."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError

        try:
            # The client's own limit starts anew with each byte that comes.
            async with asyncio.timeout(2 * self._idle_seconds):
                response = await self._client.embeddings.create(
                    input=list(texts), model=self.provider.model, encoding_format="float"
                )
            rows = {int(row.index): [float(x) for x in row.embedding] for row in response.data}
            return rows if len(rows) == len(response.data) else {}
        except APITimeoutError as error:
            connecting = type(error.__cause__).__name__ in ("ConnectTimeout", "PoolTimeout")
            return Trouble(kind="away" if connecting else "timeout")
        except TimeoutError:
            return Trouble(kind="timeout")
        except APIConnectionError:
            return Trouble(kind="away")
        except APIStatusError as error:
            return Trouble.of_status(
                error.status_code,
                wait=retry_seconds(error.response.headers.get("retry-after")),
                out_of_credit=error.code == "insufficient_quota",
                too_long=error.code == "context_length_exceeded",
            )
        # What is not such a reply, or no JSON at all, fails wherever it is first looked at.
        except (OpenAIError, ValueError, AttributeError, LookupError, TypeError):
            return Trouble(kind="unreadable")
