"""What if whoever asks has gone before the answer is there?"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request

T = TypeVar("T")


class Gone(Exception):  # nobody's error: there is nobody to tell
    """Whoever asked has left."""


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return what the work gives, or end it as soon as the client leaves. Raises: Gone."""
    task = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Gone
        return task.result()
    finally:
        leaving.cancel()
        task.cancel()


async def _left(request: Request) -> None:
    """Return once the client has left. The body has been read before."""
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            return
