"""Why was it answered like this? One trace, for operators: what was found, and what it took."""

import json
from collections.abc import Mapping
from typing import Any, get_args
from uuid import UUID

from fastapi import Request
from pydantic import ValidationError
from starlette.responses import Response

from vademecum.errors import UsageError
from vademecum.model.ids import ChunkId, TraceId
from vademecum.model.memory import STATES
from vademecum.model.principal import Scope
from vademecum.postgres.trace.overview import Overview
from vademecum.rank.fuse import Method
from vademecum.server.forms import ReplayForm
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Service, Serving
from vademecum.server.web.chart import candidates_of, stages_of, waterfall
from vademecum.server.web.prompted import PromptView, candidates_in, had_prompt, prompted
from vademecum.server.web.site import page

routes = Routes()
_LISTED = 50
_METHODS = get_args(Method)
# What the trace of a search alone has not.
_OF_AN_ANSWER: dict[str, Any] = {
    "given_before": None,
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
        prompt=await _prompt(service, scope, record, own=own),
        raw=json.dumps(dict(trace.record), indent=1, ensure_ascii=False) if own else "",
        form={},
        methods=_METHODS,
    )


async def _prompt(
    service: Service, scope: Scope, record: Mapping[str, Any], *, own: bool
) -> PromptView | None:
    """Return the prompt of an answer as far as it can be told, None where there was none."""
    if not had_prompt(record):
        return None
    wanted = [ChunkId(UUID(one["chunk_id"])) for one in candidates_in(record)]
    found = await service.app.catalogue.documents.confirm(scope, wanted, None, sections=True)
    memories = None
    if own:
        every = await service.app.memories(scope=scope, states=STATES)
        memories = {memory.id: memory for memory in every}
    return await prompted(service.app.answer_parts, record, found, memories)


@routes.add(
    "POST",
    "/inspect/{trace_id}/replay",
    permission="admin",
    spends="work",
    audit="retrieval",
    page=True,
)
async def replay(trace_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Show what the same question finds now, with the ranking that the form names."""
    own = service.app.answer_parts.retrieve.ranking
    async with request.form() as fields:
        given = {key: fields.get(key) or None for key in ("fusion", "dense_weight", "rerank")}
    try:
        form = ReplayForm.model_validate(given)
    except ValidationError as error:
        raise UsageError("the ranking is none", hint="choose from the lists") from error
    done = await service.app.replay(TraceId(trace_id), scope=scope, ranking=form.over(own))
    trace = await service.app.catalogue.records.trace(scope, TraceId(trace_id))
    mine = trace.principal == scope.principal
    return page(
        request, "replay.html", trace=trace, replay=done, own=mine, form=given, methods=_METHODS
    )
