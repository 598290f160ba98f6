"""Reordering texts as Cohere and Jina do, and finding them as Dify asks for."""

from typing import Any

from starlette.responses import Response

from vademecum.errors import InvalidFilter
from vademecum.model.filter import Filter, Or, all_of
from vademecum.model.filter_json import parse_filter
from vademecum.model.ids import new_uuid
from vademecum.model.passage import Passage
from vademecum.retrieve.relevance import relevance
from vademecum.server.compatible.forms import Condition, RerankForm, RetrievalForm
from vademecum.server.compatible.openai import collections_of
from vademecum.server.problems import Json
from vademecum.server.routes import MEGABYTE, Routes
from vademecum.server.service import Seeing, Service, Serving

routes = Routes()
# Dify's words for what our filters can say. Others are refused: a condition that is left out
# would show more than was asked for.
_OPERATORS = {
    "is": "eq", "=": "eq", "is not": "ne", "≠": "ne", ">": "gt", "<": "lt", "≥": "gte",
    "≤": "lte", "in": "in", "after": "gt", "before": "lt",
}  # fmt: skip


@routes.add("POST", "/v1/rerank", permission="read", spends="work", most_bytes=4 * MEGABYTE)
async def rerank(form: RerankForm, service: Serving) -> Response:
    """Order texts by a query, the nearest first; scores lie in 0..1. The texts come back as well,
    as Jina sends them, unless `return_documents` is false."""
    return await _reranked(form, service, texts=form.return_documents is not False)


@routes.add("POST", "/v2/rerank", permission="read", spends="work", most_bytes=4 * MEGABYTE)
async def rerank_places(form: RerankForm, service: Serving) -> Response:
    """Order texts by a query as Cohere's second API does: places and scores, never texts."""
    return await _reranked(form, service, texts=False)


async def _reranked(form: RerankForm, service: Service, *, texts: bool) -> Response:
    parts = service.app.ingest_parts
    given = form.texts()
    most = parts.embedder.max_tokens
    scores = await relevance(parts.encoder, parts.tokenizer, most, form.query, given)
    order = sorted(range(len(given)), key=lambda place: (-scores[place], place))
    results = [
        {"index": place, "relevance_score": scores[place]}
        | ({"document": {"text": given[place]}} if texts else {})
        for place in order[: form.top_n]
    ]
    tokens = sum(parts.tokenizer.count(text) for text in [form.query, *given])
    return Json(
        {"id": new_uuid(), "model": form.model or "local:maxsim", "results": results}
        | {"object": "list", "usage": {"total_tokens": tokens}}
        | {"meta": {"api_version": {"version": "2"}}}
    )


@routes.add("POST", "/retrieval", permission="read", spends="work", audit="retrieval")
async def retrieval(form: RetrievalForm, service: Serving, scope: Seeing) -> Response:
    """Find passages of a collection as records of external knowledge, of at least a score."""
    setting = form.retrieval_setting
    found = await service.app.search(
        form.query,
        scope=scope,
        k=setting.top_k,
        collections=collections_of(form.knowledge_id),
        filter=_filter(form),
    )
    records = [_record(passage) for passage in found.retrieval.passages]
    return Json({"records": [r for r in records if r["score"] >= setting.score_threshold]})


def _record(passage: Passage) -> dict[str, Any]:
    source = passage.source
    return {
        "content": source.chunk.text,
        "score": min(1.0, max(0.0, passage.signals.fused or 0.0)),
        "title": source.title,
        "metadata": dict(source.metadata)
        | {"uri": source.uri, "document_id": source.document_id, "chunk_id": source.chunk.id}
        | {"page": source.chunk.page_start},
    }


def _filter(form: RetrievalForm) -> Filter | None:
    condition = form.metadata_condition
    if condition is None or not condition.conditions:
        return None
    parts = [part for each in condition.conditions for part in _parts(each)]
    return Or(parts=tuple(parts)) if condition.logical_operator == "or" else all_of(parts)


def _parts(condition: Condition) -> list[Filter]:
    operator = _OPERATORS.get(condition.comparison_operator)
    if operator is None:
        raise InvalidFilter(
            f"there is no condition {condition.comparison_operator!r} here",
            hint=f"use {', '.join(_OPERATORS)}",
        )
    names = [condition.name] if isinstance(condition.name, str) else condition.name
    return [parse_filter({operator: [name, condition.value]}) for name in names]
