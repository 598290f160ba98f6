"""How does a test look at the pages as a browser does? With a session's cookie, and what every
browser says of where a request comes from."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from http_server import BASE, Served

FROM_HERE = {"Origin": BASE, "Sec-Fetch-Site": "same-origin"}


@asynccontextmanager
async def browser(
    served: Served, key: str | None = None, language: str = "en"
) -> AsyncIterator[httpx.AsyncClient]:
    """A client that signed in with a key, or nobody's."""
    headers = FROM_HERE | {"Accept-Language": language, "Accept": "text/html"}
    async with served.client(None, headers) as client:
        if key is not None:
            answer = await client.post("/sign-in", data={"key": key})
            assert answer.status_code == 303, answer.text
        yield client
