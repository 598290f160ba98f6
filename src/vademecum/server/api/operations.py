"""What operators read: the numbers, and what there is to call."""

from functools import lru_cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Serving

routes = Routes()


@routes.add("GET", "/metrics", permission="admin", spends="read", loopback=True)
async def metrics(service: Serving) -> Response:
    """Return the counters of this process in the text format of Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@routes.add("GET", "/api/openapi.json", permission="admin", spends="read")
async def openapi(request: Request, _scope: Seeing) -> Response:
    """Describe every route that programs call, with what each needs."""
    return Json(described(request.app))


@lru_cache(maxsize=8)
def described(api: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application: its pages are for people, and left out."""
    return get_openapi(
        title="Vademecum",
        version="1",
        description="Answers from private documents with checked citations, and memory.",
        routes=[route for route in api.routes if getattr(route, "include_in_schema", False)],
    )
