"""What people think of answers: each gives their own word, the operator reads all."""

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

from fastapi import Query
from starlette.responses import Response

from vademecum.model.feedback import Verdict
from vademecum.model.ids import FeedbackId, TraceId
from vademecum.server.forms import FeedbackForm
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Serving

routes = Routes()


@routes.add(
    "POST",
    "/api/v1/feedback",
    permission="read",
    spends="work",
    repeatable=True,
    status_code=201,
)
async def give(form: FeedbackForm, service: Serving, scope: Seeing) -> Response:
    """Say whether an answer was right; said again, the last word counts."""
    given = await service.app.catalogue.feedback.give(
        scope, TraceId(form.trace_id), form.verdict, form.reason, form.note
    )
    return Json(asdict(given), 201)


@routes.add("GET", "/api/v1/feedback", permission="read", spends="read")
async def list_feedback(
    service: Serving,
    scope: Seeing,
    verdict: Verdict | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Response:
    """List one's own, as the operator everybody's, the newest first."""
    found = await service.app.catalogue.feedback.all(scope, verdict, limit)
    return Json({"feedback": [asdict(feedback) for feedback in found]})


@routes.add("GET", "/api/v1/feedback/{feedback_id}", permission="read", spends="read")
async def show(feedback_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Show one word on an answer."""
    return Json(asdict(await service.app.catalogue.feedback.get(scope, FeedbackId(feedback_id))))
