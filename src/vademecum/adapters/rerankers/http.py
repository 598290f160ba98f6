"""How does a remote service score texts for a query, in the shape of Cohere and Jina?"""

import asyncio
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vademecum.adapters.providers import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    KEY_SETTING,
    Provider,
    Trouble,
    quieten,
    retry_seconds,
    sendable,
    split_address,
)
from vademecum.errors import InvalidSetting

if TYPE_CHECKING:
    import httpx

_DEFAULT_ADDRESS = {"cohere": "https://api.cohere.com/v2", "jina": "https://api.jina.ai/v1"}
_PATH = "/rerank"
# A person waits for the answer.
_TRIES = 2
# A hundred scores take a few kilobytes.
_MOST_BYTES = 4 * 1024 * 1024


def split_reranker(name: str) -> tuple[str, str]:
    """Return ("cohere", NAME), ("jina", NAME), ("http", URL) or ("file", PATH) of a name; ("", "")
    where it is none of them."""
    kind, _, rest = name.partition(":")
    if kind in ("http", "https") and rest.startswith("//"):
        return "http", name
    if kind in (*_DEFAULT_ADDRESS, "http", "file") and rest.strip():
        return kind, rest.strip()
    return "", ""


def make_http_reranker(
    name: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    connect_seconds: float = CONNECT_SECONDS,
    idle_seconds: float = IDLE_SECONDS,
) -> "HttpReranker":
    """Return the reranker `cohere:NAME`, `jina:NAME`, or one at a URL like
    `http://localhost:8000/v1#NAME`, where the model's name may be left out. Nothing is asked yet.

    Raises: InvalidSetting.
    """
    provider = _provider(name, api_key=api_key, base_url=base_url)
    return HttpReranker(
        provider=provider, connect_seconds=connect_seconds, idle_seconds=idle_seconds
    )


class HttpReranker:
    """Reranker over a service. Close it with `aclose` when done."""

    def __init__(self, *, provider: Provider, connect_seconds: float, idle_seconds: float) -> None:
        # An import that whoever asks no service need not pay.
        import httpx

        quieten()
        self._provider = provider
        self._idle_seconds = idle_seconds
        headers = {"Authorization": f"Bearer {provider.key}"} if provider.key else {}
        self._client = httpx.AsyncClient(
            headers=headers, timeout=httpx.Timeout(idle_seconds, connect=connect_seconds)
        )

    @property
    def name(self) -> str:
        """See `Reranker.name`. The address of a service of one's own is a part of it."""
        if self._provider.kind != "http":
            return self._provider.name
        model = self._provider.model
        return f"{self._provider.address}#{model}" if model else self._provider.address

    async def aclose(self) -> None:
        await self._client.aclose()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """See `Reranker.scores`. Blank texts are not sent: some services refuse the whole for one.
        What is too long is cut by the service."""
        found: list[float | None] = [None] * len(texts)
        wanted = [place for place, text in enumerate(texts) if text.strip()]
        if not wanted or not query.strip():
            return found
        scores = await self._scores(query, [texts[place] for place in wanted])
        for place, score in zip(wanted, scores, strict=True):
            found[place] = score
        return found

    async def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Ask, and once more where waiting, as long as the service wishes, may help."""
        answer = await self._asked(query, texts)
        for _ in range(_TRIES - 1):
            if not isinstance(answer, Trouble) or answer.retry_after is None:
                break
            await asyncio.sleep(answer.retry_after)
            answer = await self._asked(query, texts)
        if isinstance(answer, Trouble):
            raise answer.error(self._provider, self._idle_seconds)
        return answer

    async def _asked(self, query: str, texts: Sequence[str]) -> list[float] | Trouble:
        """Return one score a text, or why there are none."""
        import httpx

        body: dict[str, object] = {
            "query": sendable(query),
            "documents": [sendable(text) for text in texts],
            "top_n": len(texts),
        }
        if self._provider.model:
            body["model"] = self._provider.model
        if self._provider.kind != "cohere":  # which has no such key, and sends no texts back
            body["return_documents"] = False
        try:
            # The client's own limit starts anew with each byte that comes.
            async with (
                asyncio.timeout(2 * self._idle_seconds),
                self._client.stream("POST", self._provider.address, json=body) as response,
            ):
                if response.status_code != httpx.codes.OK:
                    return _refusal(response)
                content = await _read(response)
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            return Trouble(kind="away")
        except (httpx.TimeoutException, TimeoutError):
            return Trouble(kind="timeout")
        except httpx.DecodingError:
            return Trouble(kind="unreadable")
        except httpx.HTTPError:
            return Trouble(kind="away")
        scores = read_scores(content, len(texts))
        return Trouble(kind="unreadable") if scores is None else scores


def read_scores(content: bytes, count: int) -> list[float] | None:
    """Return the scores of a reply by the numbers of their texts, None where it is no such reply,
    or not one finite score for each of `count` texts."""
    try:
        results = json.loads(content)["results"]
        scored = [(one["index"], one["relevance_score"]) for one in results]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if not all(type(at) is int and type(score) in (int, float) for at, score in scored):
        return None
    found = dict(scored)
    if len(scored) != count or found.keys() != set(range(count)):
        return None
    if not all(math.isfinite(score) for score in found.values()):
        return None
    return [float(found[at]) for at in range(count)]


def _refusal(response: "httpx.Response") -> Trouble:
    return Trouble.of_status(
        response.status_code,
        wait=retry_seconds(response.headers.get("retry-after")),
        out_of_credit=False,
        too_long=response.status_code == 413,
    )


async def _read(response: "httpx.Response") -> bytes:
    """Return the body, or its beginning where no such reply is so long."""
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > _MOST_BYTES:
            break
    return bytes(content)


def _provider(name: str, *, api_key: str | None, base_url: str | None) -> Provider:
    kind, rest = split_reranker(name)
    if kind == "http":
        address, _, model = rest.partition("#")
    else:
        address, model = base_url or _DEFAULT_ADDRESS.get(kind, ""), rest
    if not address:
        raise InvalidSetting(
            f"{name!r} names no reranker of a known provider",
            hint="Use cohere:NAME, jina:NAME or a URL like http://localhost:8000/v1",
        )
    if kind != "http" and not api_key and not base_url:
        raise InvalidSetting(f"{kind} needs a key", hint=f"Set {KEY_SETTING[kind]}")
    return Provider(kind=kind, model=model, address=_endpoint(kind, address), key=api_key or "")


def _endpoint(kind: str, address: str) -> str:
    """Return where requests go. Raises: InvalidSetting, without the address: it may hold a key."""
    parts = split_address(address, f"the reranker ({kind})")
    if parts.username is not None or parts.query:
        raise InvalidSetting(
            f"the address of the reranker ({kind}) holds more than a host and a path",
            hint="Set a key as providers.reranker_api_key: an address stands in traces",
        )
    bare = address.rstrip("/")
    return bare if bare.endswith(_PATH) else f"{bare}{_PATH}"
