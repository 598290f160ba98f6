"""Chat, models and embeddings, as the OpenAI API has them."""

import base64
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import numpy as np
from fastapi import Request
from starlette.responses import Response, StreamingResponse

from vademecum import interface, jsontext
from vademecum.answer.pipeline import whole
from vademecum.answer.unknown import reply_language
from vademecum.errors import UsageError, VademecumError
from vademecum.model.answer import Answer, Checked, Done, Event
from vademecum.model.conversation import Turn
from vademecum.model.embedding import Role
from vademecum.model.ids import ConversationId, TurnId, new_uuid
from vademecum.model.serving.key import Caller
from vademecum.server.api.search import EVENTS, followed, opened
from vademecum.server.compatible.forms import ChatForm, EmbeddingForm
from vademecum.server.leaving import unless_gone
from vademecum.server.problems import Json, openai_error
from vademecum.server.routes import MEGABYTE, Routes
from vademecum.server.service import Calling, Seeing, Service, Serving

routes = Routes()
EVERY_COLLECTION = "vademecum"


@routes.add(
    "POST",
    "/v1/chat/completions",
    permission="read",
    spends="work",
    audit="retrieval",
    most_bytes=2 * MEGABYTE,
)
async def chat(request: Request, form: ChatForm, service: Serving, caller: Calling) -> Response:
    """Answer the last message. The answer's `citations` stand beside its choices; while it streams
    they come in the chunk before the last."""
    events = _events(request, form, service, caller)
    if form.stream:
        first = await opened(events)
        return StreamingResponse(_chunks(first, form), media_type=EVENTS)
    answer = await unless_gone(request, whole(events))
    return Json(_completion(answer, form.model))


def _events(
    request: Request, form: ChatForm, service: Service, caller: Caller
) -> AsyncGenerator[Event, None]:
    extra = form.vademecum
    stored = ConversationId(extra.conversation_id) if extra.conversation_id else None
    events = service.app.stream(
        form.question(),
        scope=caller.scope,
        collections=collections_of(form.model),
        conversation_id=stored,
        persona=extra.persona,
        temporary=stored is None,
        said=() if stored else _said(form),
    )
    return followed(service, caller, events, request)


def collections_of(name: str) -> frozenset[str] | None:
    """Return the collections that the name of a model stands for."""
    return None if name == EVERY_COLLECTION else frozenset({name})


def _said(form: ChatForm) -> tuple[Turn, ...]:
    """Return the messages before the question as turns."""
    now = form.messages[:-1]
    return tuple(
        Turn(
            id=TurnId(new_uuid()),
            position=place,
            role="user" if message.role == "user" else "assistant",
            text=message.said,
            state="complete",
            created_at=datetime.now(UTC),
            language=reply_language(message.said),
        )
        for place, message in enumerate(now, start=1)
        if message.role in ("user", "assistant") and message.said.strip()
    )


def _head(answer_id: str, kind: str, model: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer_id}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
    }


def _extras(answer: Answer) -> dict[str, Any]:
    """Return what we add to their form, under names that it does not use."""
    return {
        "citations": [interface.citation_json(citation) for citation in answer.citations],
        "sentences": [interface.sentence_json(sentence) for sentence in answer.sentences],
        "abstained": answer.abstained,
        "mode": answer.mode,
        "degraded": list(answer.degraded),
        "trace_id": answer.trace_id,
        "conversation_id": answer.conversation_id,
    }


def _usage(answer: Answer) -> dict[str, int]:
    used = answer.usage
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
    }


def _completion(answer: Answer, model: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return (
        _head(str(answer.trace_id), "chat.completion", model)
        | {"choices": [choice], "usage": _usage(answer)}
        | _extras(answer)
    )


async def _chunks(events: AsyncGenerator[Event, None], form: ChatForm) -> AsyncIterator[bytes]:
    """Yield an answer as chunks: a sentence each, the citations, the end, and always `[DONE]`."""
    name = new_uuid().hex
    begun = False
    async with aclosing(events):
        try:
            async for event in events:
                if isinstance(event, Checked):
                    before = "\n" if begun else ""
                    delta = {"content": before + _marked(event)}
                    yield _chunk(name, form, delta if begun else {"role": "assistant"} | delta)
                    begun = True
                elif isinstance(event, Done):
                    for chunk in _ending(name, form, event.answer, begun=begun):
                        yield chunk
        except VademecumError as error:
            yield _line(openai_error(error))
    yield b"data: [DONE]\n\n"


def _marked(checked: Checked) -> str:
    """Return a sentence as the whole answer has it: with its markers."""
    markers = "".join(f" [{marker}]" for marker in checked.sentence.markers)
    return checked.sentence.text + markers


def _ending(name: str, form: ChatForm, answer: Answer, *, begun: bool) -> list[bytes]:
    said = {} if begun else {"role": "assistant", "content": answer.text}
    lines = [_chunk(name, form, said, **_extras(answer)), _chunk(name, form, {}, "stop")]
    if form.stream_options and form.stream_options.include_usage:
        head = _head(name, "chat.completion.chunk", form.model)
        lines.append(_line(head | {"choices": [], "usage": _usage(answer)}))
    return lines


def _chunk(
    name: str, form: ChatForm, delta: dict[str, Any], reason: str | None = None, **extras: Any
) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
    head = _head(name, "chat.completion.chunk", form.model)
    return _line(head | {"choices": [choice]} | extras)


def _line(data: dict[str, Any]) -> bytes:
    return f"data: {jsontext.written(data)}\n\n".encode("utf-8", "backslashreplace")


@routes.add("GET", "/v1/models", permission="read", spends="read")
async def models(service: Serving, scope: Seeing) -> Response:
    """List the collections that the key may see, and the name of all together."""
    names = [EVERY_COLLECTION, *await service.app.catalogue.documents.collections(scope)]
    return Json({"object": "list", "data": [_model(name) for name in names]})


@routes.add("GET", "/v1/models/{name}", permission="read", spends="read")
async def model(name: str) -> Response:
    """Name one of them. A collection that nobody may see looks as one that is empty."""
    return Json(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "vademecum"}


@routes.add("POST", "/v1/embeddings", permission="read", spends="work", most_bytes=2 * MEGABYTE)
async def embeddings(form: EmbeddingForm, service: Serving) -> Response:
    """Embed texts with the model that this server searches by."""
    embedder = service.app.ingest_parts.embedder
    space, texts = embedder.space, form.texts
    if form.dimensions not in (None, space.dimension):
        raise UsageError(
            f"this model has {space.dimension} dimensions", hint="leave `dimensions` out"
        )
    role: Role = "query" if "query" in form.input_type else "passage"
    vectors = await embedder.embed(texts, role)
    tokens = sum(service.app.ingest_parts.tokenizer.count(text) for text in texts)
    data = [
        {
            "object": "embedding",
            "index": place,
            "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode()
            if form.encoding_format == "base64"
            else np.asarray(row, float).tolist(),
        }
        for place, row in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Json({"object": "list", "data": data, "model": space.name, "usage": usage})
