"""Does blocking code get the same results, errors and ends as asynchronous code?"""

import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import OPERATOR, make_bench, source

from vademecum import composing, sync
from vademecum.app import App
from vademecum.errors import ConversationNotFound, Forbidden
from vademecum.model.answer import Checked, Done, Retrieved
from vademecum.model.principal import Scope
from vademecum.postgres.pool import open_pool
from vademecum.testing.language_models import ModelFault, ScriptedModel

TEXT = "The quokka sleeps beside the north gate until the doors open at nine."


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel([[f"{TEXT} [1]\n\nAnd the gate", " is grey. [1]"]])


@pytest.fixture
def app(
    database_url: str, tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> Iterator[sync.App]:
    """`vademecum.sync.open` over a bench, which has the hash embedder for a model."""

    @asynccontextmanager
    async def opened(
        loaded: Any, *, overrides: Mapping[str, Any] | None, tell: composing.Tell
    ) -> AsyncIterator[App]:
        async with open_pool(database_url, size=4) as pool:
            made = (await make_bench(pool, database_url, tmp_path)).app
            parts = replace(made.answer_parts, language_model=model)
            tell("opened")
            yield replace(made, answer_parts=parts)

    monkeypatch.setattr(composing, "open", opened)
    told: list[str] = []
    before = threading.active_count()
    with sync.open(tell=told.append) as blocking:
        assert told == ["opened"]
        assert threading.active_count() > before
        yield blocking
    assert threading.active_count() == before


def test_ingest_search_and_ask(app: sync.App) -> None:
    counted: list[tuple[int, int]] = []
    [result] = app.ingest(
        [source("a", TEXT)], scope=OPERATOR, on_progress=lambda *pair: counted.append(pair)
    )
    assert result.status == "ready"
    assert counted[-1] == (1, 1)
    found = app.search("quokka", scope=OPERATOR, k=1)
    assert [p.source.chunk.text for p in found.retrieval.passages] == [TEXT]
    answer = app.ask("Where does the quokka sleep?", scope=OPERATOR)
    assert answer.sentences[0].text == TEXT
    events = list(app.stream("Where does the quokka sleep?", scope=OPERATOR))
    assert isinstance(events[0], Retrieved)
    assert isinstance(events[-1], Done)
    assert events[-1].answer.text == answer.text


def test_errors_are_those_of_the_asynchronous_app(app: sync.App) -> None:
    alice = Scope.for_principal("default", "user:alice", frozenset())
    with pytest.raises(Forbidden):
        app.ingest([source("a", TEXT, access=("role:other",))], scope=alice)
    with pytest.raises(ValueError, match="k must not be negative"):
        app.search("x", scope=OPERATOR, k=-1)
    conversation = app.ask("Where?", scope=OPERATOR).conversation_id
    with pytest.raises(ConversationNotFound):
        list(app.stream("Where?", scope=alice, conversation_id=conversation))


def test_leaving_a_stream_early_ends_the_model(app: sync.App, model: ScriptedModel) -> None:
    app.ingest([source("a", TEXT)], scope=OPERATOR)
    model._faults[1] = ModelFault(after=1, stall=60)
    started = time.monotonic()
    for event in app.stream("Where does the quokka sleep?", scope=OPERATOR):
        if isinstance(event, Checked):
            break
    else:
        raise AssertionError("no sentence came")
    assert app.ask("Where does the quokka sleep?", scope=OPERATOR).text
    assert model.closed == 1
    assert time.monotonic() - started < 30


def test_several_threads_may_use_it(app: sync.App) -> None:
    app.ingest([source("a", TEXT)], scope=OPERATOR)
    found: list[int] = []

    def search() -> None:
        found.append(len(app.search("quokka", scope=OPERATOR).retrieval.passages))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1, 1, 1, 1]
