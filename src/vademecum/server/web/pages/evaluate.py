"""How good is it on our own questions, and did it get better? For operators."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from fastapi import Request
from markupsafe import Markup
from starlette.responses import Response

from vademecum.evaluate import plot
from vademecum.evaluate.compare import Comparison, compare
from vademecum.evaluate.golden import KINDS
from vademecum.evaluate.report import refusal
from vademecum.evaluating import candidate_from_thumb
from vademecum.model.evaluation import Result, Summary
from vademecum.model.ids import EvaluationId, FeedbackId
from vademecum.retrieve.abstain import REFUSE_BELOW
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Serving
from vademecum.server.web.languages import Language
from vademecum.server.web.site import language_of, page
from vademecum.text.language import detect

routes = Routes()
_LISTED = 100
_THUMBS = 20
_OVER_TIME = ("ndcg@10", "relevance", "refused", "wrongly_refused")
# What a table of kinds or languages shows; the chart above it has every metric of all.
_SHORT = ("recall@5", "ndcg@10", "mrr", "citation_precision", "relevance", "judged", "refused",
          "wrongly_refused")  # fmt: skip


@routes.add("GET", "/evaluate", permission="admin", spends="read", page=True)
async def runs(request: Request, service: Serving, scope: Seeing, name: str = "") -> Response:
    """List the runs of a golden set, the newest's unless another is named, and thumbs down."""
    every = await service.app.catalogue.evaluations.all(scope, _LISTED)
    names = list(dict.fromkeys(run.name for run in every))
    chosen = name if name in names else next(iter(names), "")
    shown = [run for run in every if run.name == chosen]
    charts = [(metric, plot.over_time(shown[::-1], metric)) for metric in _OVER_TIME]
    return page(
        request,
        "evaluate.html",
        names=names,
        chosen=chosen,
        runs=[(run, {one.metric: one for one in run.summaries if not one.group}) for run in shown],
        columns=_OVER_TIME,
        charts=[_shown(figure, metric) for metric, figure in charts if figure],
        thumbs=await service.app.catalogue.feedback.all(scope, "down", _THUMBS),
    )


@routes.add("GET", "/evaluate/{evaluation_id}", permission="admin", spends="read", page=True)
async def show(
    evaluation_id: UUID, request: Request, service: Serving, scope: Seeing, against: str = ""
) -> Response:
    """Show one run, and what changed against another one."""
    store = service.app.catalogue.evaluations
    run, results = await store.get(scope, EvaluationId(evaluation_id))
    others = [one for one in await store.all(scope, _LISTED) if one.id != run.id]
    other = next((one for one in others if str(one.id) == against), None)
    changed = None
    if other is not None:
        changed = compare(await store.get(scope, other.id), (run, results))
    return page(
        request,
        "evaluation.html",
        run=run,
        others=others,
        other=other,
        changed=changed,
        groups=[(kind, *_grouped(run.summaries, kind)) for kind in ("kind", "language")],
        apart=[one for one in run.summaries if not one.group and one.apart],
        chart=_shown(plot.intervals(run.summaries), language_of(request).say("evaluate.metrics")),
        curve=_curve(results, language_of(request)),
        rows=_ordered(results, changed),
    )


def _curve(results: Sequence[Result], spoken: Language) -> dict[str, Any] | None:
    found = refusal(results, REFUSE_BELOW)
    if found is None:
        return None
    figure = plot.curve(
        found,
        spoken.say("evaluate.across"),
        spoken.say("evaluate.up"),
        spoken.say("evaluate.at", threshold=f"{found.chosen.threshold:g}"),
    )
    return {"auc": f"{found.auc:.3f}", "chart": _shown(figure, spoken.say("evaluate.refusal"))}


def _shown(figure: plot.Figure, label: str) -> Markup:
    """Return a picture as markup: it is ours, and the names in it are escaped."""
    return Markup(figure.svg(label))  # noqa: S704


def _grouped(
    summaries: Sequence[Summary], kind: str
) -> tuple[list[str], list[tuple[str, list[Summary | None]]]]:
    """Return the metrics that a table of kinds or languages has, and its rows."""
    held = {
        (one.group.partition(":")[2], one.metric): one
        for one in summaries
        if one.group.startswith(f"{kind}:")
    }
    columns = [name for name in _SHORT if any(metric == name for _, metric in held)]
    names = dict.fromkeys(name for name, _ in held)
    return columns, [(name, [held.get((name, metric)) for metric in columns]) for name in names]


def _ordered(
    results: Sequence[Result], changed: Comparison | None
) -> list[tuple[Result, Any | None]]:
    """Return each question with how it moved, those that moved most first; alone, as they came."""
    if changed is None:
        return [(one, None) for one in results]
    moved = {one.question: one for one in changed.moved}
    return sorted(
        ((one, moved.get(one.question)) for one in results),
        key=lambda row: -abs(row[1].by) if row[1] else 0.0,
    )


@routes.add("GET", "/evaluate/question/{feedback_id}", permission="admin", spends="read", page=True)
async def propose(feedback_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Show what a thumb down could ask. The text of somebody else's question is left out."""
    trace, made = await candidate_from_thumb(service.app, FeedbackId(feedback_id), scope=scope)
    own = trace.principal == scope.principal
    return page(
        request,
        "golden.html",
        feedback_id=feedback_id,
        made=made if own else made | {"question": "", "kind": "concept"},
        own=own,
        kinds=KINDS,
        chosen=frozenset[int](),
        expected="",
        line="",
    )


@routes.add(
    "POST", "/evaluate/question/{feedback_id}", permission="admin", spends="work", page=True
)
async def write(feedback_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Write the line of a golden set that the form says; nothing is kept."""
    trace, made = await candidate_from_thumb(service.app, FeedbackId(feedback_id), scope=scope)
    async with request.form() as form:
        asked = str(form.get("question") or "").strip()
        kind = str(form.get("kind") or "")
        told = str(form.get("expected") or "")
        places = {str(value) for value in form.getlist("relevant")}
        confirmed = form.get("confirmed") == "1"
    chosen = frozenset(at for at in range(len(made["relevant"])) if str(at) in places)
    entry = made | {
        "question": asked,
        "language": detect(asked),
        "kind": kind if chosen and kind in KINDS else "concept" if chosen else "unanswerable",
        "relevant": [one for at, one in enumerate(made["relevant"]) if at in chosen],
        "expected": [line.strip() for line in told.splitlines() if line.strip()],
        "confirmed": confirmed and bool(asked),
    }
    return page(
        request,
        "golden.html",
        feedback_id=feedback_id,
        made=made | {"question": asked, "kind": kind},
        own=trace.principal == scope.principal,
        kinds=KINDS,
        chosen=chosen,
        expected=told,
        line=json.dumps(entry, ensure_ascii=False),
    )
