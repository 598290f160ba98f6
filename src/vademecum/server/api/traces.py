"""What happened while one question was answered, and what would happen now?"""

from dataclasses import asdict
from uuid import UUID

from starlette.responses import Response

from vademecum import interface
from vademecum.errors import Forbidden
from vademecum.model.ids import TraceId
from vademecum.server.forms import NO_REPLAY_FORM, ReplayForm
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Serving

routes = Routes()


@routes.add("GET", "/api/v1/traces/{trace_id}", permission="read", spends="read")
async def show(trace_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Show candidates, signals and times of a search or an answer of one's own."""
    return Json(asdict(await service.app.catalogue.records.trace(scope, TraceId(trace_id))))


@routes.add(
    "POST", "/api/v1/traces/{trace_id}/replay", permission="read", spends="work", audit="retrieval"
)
async def replay(
    trace_id: UUID, service: Serving, scope: Seeing, form: ReplayForm = NO_REPLAY_FORM
) -> Response:
    """Search and answer again, and say what differs and why."""
    ranking = form.over(service.app.answer_parts.retrieve.ranking)
    if ranking is not None and not scope.operator:
        raise Forbidden("only an operator may try another ranking", hint="leave the settings out")
    done = await service.app.replay(TraceId(trace_id), scope=scope, ranking=ranking)
    return Json(interface.replay_json(done))
