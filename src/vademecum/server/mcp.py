"""How are the tools reached over HTTP? Each call is a request of its own, behind the gate."""

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from fastapi import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vademecum.app import App
from vademecum.model.serving.key import Caller
from vademecum.server.routes import MEGABYTE, Routes
from vademecum.server.service import Serving

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context, MCPServer

    from vademecum.server.tools import Who

routes = Routes()


class _Delegated(Response):
    """An answer that the protocol's own library gives, without any session of its own."""

    def __init__(self, request: Request, app: App) -> None:
        super().__init__()
        self._state = request.app.state
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Loads 2 s of libraries the first time, so never on the loop.
        if not hasattr(self._state, "mcp"):
            self._state.mcp = await asyncio.to_thread(load, self._app)
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(
            self._state.mcp._lowlevel_server,  # noqa: SLF001  # its own app would bring a gate of its own
            json_response=True,
            stateless=True,
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)


def load(app: App) -> "MCPServer[Any]":
    """Return the server of the tools over an App."""
    from vademecum.server.tools import tools_over

    # It would write what tools were called with.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    return tools_over(app, _caller)


def _caller(context: "Context[Any, Any]") -> "Who":
    from vademecum.server.tools import Who

    request = context.request_context.request
    assert request is not None  # over HTTP there is one
    caller: Caller = request.state.caller
    return Who(scope=caller.scope, permissions=caller.permissions)


@routes.add(
    "POST", "/mcp", permission="read", spends="work", audit="retrieval", most_bytes=MEGABYTE
)
async def call(request: Request, service: Serving) -> Response:
    """Speak the Model Context Protocol: search, fetch, remember, recall, forget."""
    return _Delegated(request, service.app)


@routes.add("GET", "/mcp", permission="read", spends="read")
async def listen(request: Request, service: Serving) -> Response:
    """Say, in the protocol's way, that nothing is sent unasked."""
    return _Delegated(request, service.app)
