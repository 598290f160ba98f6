"""What happened while one question was answered."""

from dataclasses import asdict
from uuid import UUID

from starlette.responses import Response

from vademecum.model.ids import TraceId
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Serving

routes = Routes()


@routes.add("GET", "/api/v1/traces/{trace_id}", permission="read", spends="read")
async def show(trace_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Show candidates, signals and times of a search or an answer of one's own."""
    return Json(asdict(await service.app.catalogue.records.trace(scope, TraceId(trace_id))))
