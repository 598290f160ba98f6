"""How good are the answers to one's own questions? Runs of golden sets, for operators."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from vademecum.evaluate.gates import check, gates_of
from vademecum.evaluate.golden import golden_of
from vademecum.evaluating import Wish, evaluate
from vademecum.interface import evaluation_json, run_json
from vademecum.model.ids import EvaluationId
from vademecum.server.forms import Form, Name
from vademecum.server.problems import Json
from vademecum.server.routes import MEGABYTE, Routes
from vademecum.server.service import Seeing, Serving

routes = Routes()
_MOST_QUESTIONS = 200


class EvaluationForm(Form):
    """A golden set, as the lines of a file of one; `gates` maps metrics to the least they may be.
    A larger set is for `vade eval run`."""

    name: Name
    questions: list[dict[str, Any]] = Field(min_length=1, max_length=_MOST_QUESTIONS)
    gates: dict[Name, float] = Field(default_factory=dict, max_length=100)
    collections: list[Name] | None = Field(default=None, max_length=100)
    judge: bool = True


@routes.add(
    "POST",
    "/api/v1/evaluations",
    permission="admin",
    spends="work",
    audit="retrieval",
    most_bytes=2 * MEGABYTE,
    status_code=201,
)
async def run(form: EvaluationForm, service: Serving, scope: Seeing) -> Response:
    """Ask every question, measure, and keep the numbers; answers when it is done."""
    golden = golden_of(form.questions, form.name, form.gates)
    gates = gates_of(golden.gates)
    wish = Wish(
        collections=frozenset(form.collections) if form.collections else None, judged=form.judge
    )
    made, results = await evaluate(
        service.app, golden, scope=scope, loaded=service.loaded, wish=wish
    )
    return Json(evaluation_json(made, results, check(gates, made.summaries)), 201)


@routes.add("GET", "/api/v1/evaluations", permission="admin", spends="read")
async def list_evaluations(
    service: Serving, scope: Seeing, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> Response:
    """List the runs, the newest first, without their questions."""
    runs = await service.app.catalogue.evaluations.all(scope, limit)
    return Json({"evaluations": [run_json(one) for one in runs]})


@routes.add("GET", "/api/v1/evaluations/{evaluation_id}", permission="admin", spends="read")
async def show(evaluation_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Show one run with every question and the refusal curve."""
    made, results = await service.app.catalogue.evaluations.get(scope, EvaluationId(evaluation_id))
    return Json(evaluation_json(made, results))
