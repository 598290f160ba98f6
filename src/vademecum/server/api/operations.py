"""What operators read: the numbers, and what there is to call."""

from starlette.requests import Request
from starlette.responses import Response

from vademecum.server.described import described
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Serving

routes = Routes()


@routes.add("GET", "/metrics", permission="admin", spends="read", loopback=True)
async def metrics(service: Serving) -> Response:
    """Return the counters of this process in the text format of Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@routes.add("GET", "/api/openapi.json", permission="admin", spends="read")
async def openapi(request: Request) -> Response:
    """Describe every route that programs call, with what each needs."""
    return Json(described(request.app))
