"""Why was it answered like this? One trace, for operators: what was found, and what it took."""

import json
from typing import Any
from uuid import UUID

from fastapi import Request
from starlette.responses import Response

from vademecum.model.ids import TraceId
from vademecum.postgres.overview import Overview
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Serving
from vademecum.server.web.chart import candidates_of, stages_of, waterfall
from vademecum.server.web.site import page

routes = Routes()
_LISTED = 50
# What the trace of a search alone has not.
_OF_AN_ANSWER: dict[str, Any] = {
    "sentences": (),
    "removed": (),
    "memories": (),
    "usage": None,
    "degraded": (),
    "versions": {},
}


@routes.add("GET", "/inspect", permission="admin", spends="read", page=True)
async def recent(request: Request, service: Serving, scope: Seeing) -> Response:
    """List the newest traces of the tenant. What others asked is not shown."""
    traces = await Overview(pool=service.app.catalogue.pool).recent(scope, _LISTED)
    return page(request, "inspect_list.html", traces=traces)


@routes.add("GET", "/inspect/{trace_id}", permission="admin", spends="read", page=True)
async def show(trace_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Show one trace. The texts of a question of somebody else are left out."""
    trace = await service.app.catalogue.records.trace(scope, TraceId(trace_id))
    record = _OF_AN_ANSWER | dict(trace.record)
    own = trace.principal == scope.principal
    searches = record.get("searches", [record] if "candidates" in record else [])
    return page(
        request,
        "inspect.html",
        trace=trace,
        record=record,
        own=own,
        chart=waterfall(stages_of(record)),
        searches=[(search, candidates_of(search)) for search in searches],
        raw=json.dumps(dict(trace.record), indent=1, ensure_ascii=False) if own else "",
    )
