"""How is a search asked over HTTP?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from vademecum import errors
from vademecum.errors import ServiceAway, VademecumError

SECONDS = 30.0
# What of a passage says where it comes from.
_ABOUT = (
    "uri", "title", "document_id", "chunk_id", "heading_path", "page_start", "page_end", "start",
    "end", "language", "rank",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One passage as other frameworks take it."""

    text: str
    score: float
    about: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchClient:
    """Searches on a server at `url` with a key. `narrowed` is sent with every search as it is:
    `collections`, `where`, `filter`, `as_of`."""

    url: str
    key: str = field(repr=False)
    k: int = 5
    narrowed: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = SECONDS

    def search(self, query: str) -> list[Passage]:
        """Return the nearest passages, best first. Raises: VademecumError as the server says."""
        with httpx.Client(timeout=self.seconds) as client:
            try:
                return _read(client.post(self._place, json=self._asked(query), headers=self._sent))
            except httpx.HTTPError as error:
                raise _away(error) from error

    async def asearch(self, query: str) -> list[Passage]:
        """See `search`."""
        async with httpx.AsyncClient(timeout=self.seconds) as client:
            try:
                sent = client.post(self._place, json=self._asked(query), headers=self._sent)
                return _read(await sent)
            except httpx.HTTPError as error:
                raise _away(error) from error

    @property
    def _place(self) -> str:
        return f"{self.url.rstrip('/')}/api/v1/search"

    @property
    def _sent(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def _asked(self, query: str) -> dict[str, Any]:
        return {"query": query, "k": self.k} | dict(self.narrowed)


def narrowed(
    collections: Sequence[str] | None, where: Mapping[str, Any] | None, filter: Any
) -> dict[str, Any]:
    """Return what narrows a search, without what nobody gave."""
    given = {
        "collections": list(collections) if collections else None,
        "where": dict(where) if where else None,
        "filter": filter,
    }
    return {name: value for name, value in given.items() if value is not None}


def _read(answer: httpx.Response) -> list[Passage]:
    if answer.status_code != 200:
        raise _told(answer)
    return [
        Passage(
            text=found["text"],
            score=found["score"],
            about={name: found[name] for name in _ABOUT} | {"metadata": found["metadata"]},
        )
        for found in answer.json()["passages"]
    ]


def _told(answer: httpx.Response) -> VademecumError:
    """Return the server's own error by its code."""
    try:
        said = answer.json()
        code, message, hint = said["code"], said["message"], said["hint"]
    except (ValueError, KeyError, TypeError):
        return ServiceAway(f"the server answered with {answer.status_code}", hint="check its url")
    kind = next((k for k in _kinds() if k.code == code), VademecumError)
    return kind(message, hint=hint)


def _kinds() -> Iterator[type[VademecumError]]:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, VademecumError):
            yield kind


def _away(error: httpx.HTTPError) -> ServiceAway:
    # What the library says may hold the whole address.
    return ServiceAway(
        f"the server cannot be reached ({type(error).__name__})", hint="check its url"
    )
