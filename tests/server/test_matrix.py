"""Does a foreign id answer byte for byte like a missing one, on every route that takes an id?

Made from the registry, so that a new route is in it by itself: every route with a slot, and every
body with an id in it, x {own, colleague, other tenant} x {read, write, memory, admin}.
"""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from http_server import EVERYTHING, Served

from vademecum.model.ids import DocumentId
from vademecum.model.principal import Scope
from vademecum.server.application import ROUTES

MISSING = "01890000-0000-7000-8000-000000000000"
OWNER = "user:owner"
# A request whose id stands in the body: its path, and the body with the id in it.
BODIES: dict[str, tuple[str, Any]] = {
    "ask": ("/api/v1/ask", {"question": "And then?", "conversation_id": "{conversation_id}"}),
    "ask again": (
        "/api/v1/ask",
        {"question": "And then?", "conversation_id": "{conversation_id}", "again": True},
    ),
    "recall": (
        "/api/v1/memories/recall",
        {"text": "And then?", "conversation_id": "{conversation_id}"},
    ),
    "feedback": ("/api/v1/feedback", {"trace_id": "{trace_id}", "verdict": "up"}),
    "chat": (
        "/v1/chat/completions",
        {
            "model": "vademecum",
            "messages": [{"role": "user", "content": "And then?"}],
            "vademecum": {"conversation_id": "{conversation_id}"},
        },
    ),
}
# What a page's forms send; each reads its own.
FORM = {"title": "x", "text": "x", "pinned": "1"}
# The place of a passage, for the pages that show one.
PLACE = {"chunk": "01890000-0000-7000-8000-0000000000ff", "start": 0, "end": 3}
VALID: dict[tuple[str, str], Any] = {
    ("PATCH", "/api/v1/memories/{memory_id}"): {"pinned": True},
}


@dataclass(frozen=True, kw_only=True)
class Owned:
    """Things of one person, by the names that slots have, and the canaries in them."""

    ids: dict[str, str]
    canaries: tuple[str, ...]


async def owned(served: Served) -> Owned:
    """One of everything that has an id, private to its owner."""
    async with served.client(await served.key(OWNER)) as client:
        document = (
            await client.post(
                "/api/v1/documents",
                json={"uri": "zqprivate.md", "text": "The zqcanary gate opens at nine.",
                      "access": [OWNER], "wait": True, "language": "en"},
            )
        ).json()["documents"][0]  # fmt: skip
        answer = (
            await client.post("/api/v1/ask", json={"question": "When does the zqcanary gate open?"})
        ).json()
        assert "nine" in answer["answer"]
        memory = (await client.post("/api/v1/memories", json={"text": "I like zqjazz."})).json()
        word = {"trace_id": answer["trace_id"], "verdict": "up", "note": "zqnote"}
        feedback = (await client.post("/api/v1/feedback", json=word)).json()
        key_id = (await client.get("/api/v1/me")).json()["key_id"]
    question = {
        "id": "zqcanary",
        "question": "Who opens it?",
        "kind": "unanswerable",
        "relevant": [],
    }
    async with served.client(await served.key("user:operator", "admin")) as client:
        golden = {"name": "zqgolden", "questions": [question]}
        run = (await client.post("/api/v1/evaluations", json=golden)).json()
    return Owned(
        ids={
            "document_id": document["id"],
            "conversation_id": answer["conversation_id"],
            "trace_id": answer["trace_id"],
            "memory_id": memory["memory"]["id"],
            "feedback_id": feedback["id"],
            "key_id": key_id,
            "evaluation_id": run["id"],
        },
        canaries=("zqcanary", "zqjazz", "zqnote", "zqprivate", OWNER),
    )


SLOTTED = [route for route in ROUTES if "{" in route.path and route.permission is not None]


def test_every_slot_is_one_that_the_matrix_knows() -> None:
    names = {name for route in SLOTTED for name in re.findall(r"\{(\w+)", route.path)}
    known = {
        "document_id", "conversation_id", "trace_id", "memory_id", "feedback_id", "key_id",
        "evaluation_id",
    }  # fmt: skip
    assert names - known <= {"name", "number"}, "a model's name and a page's number are no ids"


async def test_a_foreign_id_is_a_missing_one(served: Served) -> None:
    things = await owned(served)
    strangers = {
        "colleague": ("user:colleague", "default", EVERYTHING[:3]),
        "other tenant": (OWNER, "other", EVERYTHING[:3]),
        "operator of another": ("user:boss", "other", EVERYTHING),
    }
    seen = 0
    for name, (principal, tenant, permissions) in strangers.items():
        key = await served.key(principal, *permissions, tenant=tenant)
        async with served.client(key) as client:
            for route in SLOTTED:
                body = VALID.get((route.method, route.path))
                form = FORM if route.page and route.method == "POST" else None
                answers = []
                for ids in (things.ids, dict.fromkeys(things.ids, MISSING)):
                    path = route.path.format(**ids, name="x", number=1)
                    answer = await client.request(
                        route.method, path, json=body, data=form, params=PLACE
                    )
                    answers.append((answer.status_code, neutral(answer.text, ids)))
                if "{name}" in route.path:
                    continue
                assert answers[0] == answers[1], (name, route.method, route.path)
                assert answers[0][0] in (403, 404), (name, route.method, route.path, answers[0])
                assert not any(canary in answers[0][1] for canary in things.canaries[:4])
                seen += 1
            for what, (path, form) in BODIES.items():
                answers = []
                for ids in (things.ids, dict.fromkeys(things.ids, MISSING)):
                    answer = await client.post(path, json=filled(form, ids))
                    answers.append((answer.status_code, neutral(answer.text, ids)))
                if what == "recall":  # a conversation only adds its last turn to what is asked
                    assert answers[0][0] == answers[1][0] == 200
                else:
                    assert answers[0] == answers[1], (name, what)
                    assert answers[0][0] == 404, (name, what)
                assert not any(canary in answers[0][1] for canary in things.canaries[:4])
                seen += 1
    assert seen == len(strangers) * (len(SLOTTED) - 1 + len(BODIES))
    await still_there(served, things)


async def still_there(served: Served, things: Owned) -> None:
    """Nothing that strangers tried has changed or taken anything."""
    async with served.client(await served.key(OWNER)) as client:
        for noun, slot in (
            ("documents", "document_id"), ("conversations", "conversation_id"),
            ("memories", "memory_id"), ("traces", "trace_id"), ("feedback", "feedback_id"),
        ):  # fmt: skip
            answer = await client.get(f"/api/v1/{noun}/{things.ids[slot]}")
            assert answer.status_code == 200, noun
        memory = (await client.get(f"/api/v1/memories/{things.ids['memory_id']}")).json()
        assert memory["pinned"] is False


def neutral(text: str, ids: dict[str, str]) -> str:
    for value in ids.values():
        text = text.replace(value, "ID")
    return text


def filled(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled(inner, ids) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, ids) for inner in value]
    if isinstance(value, str) and value.startswith("{"):
        return ids[value[1:-1]]
    return value


async def test_a_fallen_wall_is_found(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix can fail: a read that forgets whose it is gives another's document away."""
    things = await owned(served)
    store = type(served.bench.app.catalogue.documents)
    read = store.get

    async def careless(self: Any, _scope: Scope, document_id: DocumentId) -> object:
        return await read(self, Scope.for_operator("default"), document_id)

    monkeypatch.setattr(store, "get", careless)
    async with served.client(await served.key("user:colleague")) as client:
        answer = await client.get(f"/api/v1/documents/{things.ids['document_id']}")
    assert answer.status_code == 200
    assert "zqprivate" in answer.text
