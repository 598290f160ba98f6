"""With any one part failing in any way, does a turn end in an answer or in one clear error, in
time, and is the question kept? (S9)"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from proxy import Proxy, before_statement
from support import Bench, make_bench, source

from vademecum.adapters.language_models.pydantic_ai import make_language_model
from vademecum.errors import ConversationNotFound, DatabaseAway, ModelUnusable
from vademecum.memory.extract import SYSTEM
from vademecum.model.answer import Answer, Done, Event, Retrieved
from vademecum.model.conversation import Turn
from vademecum.model.embedding import Role, TokenStates
from vademecum.model.ids import ChunkId, ConversationId, MemoryId, new_uuid
from vademecum.model.index import DenseHits
from vademecum.model.passage import Hit
from vademecum.model.principal import Scope
from vademecum.ports.language_model import LanguageModel
from vademecum.postgres.pool import Pool, open_pool
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.testing.language_models import ModelFault, ScriptedModel, provider_away
from vademecum.testing.openai_server import OpenAIServer, Reply
from vademecum.worker.loop import learn_all

ANA = Scope.for_principal("default", "user:a", frozenset())
REFUND = "A refund for a ticket takes 5 days at the box office."
QUESTION = "How many days does a refund for a ticket take at the box office?"
PINNED = "I am allergic to peanuts"
CODE = "My ticket has the code KH-402"
# What a leg, the memory and the database get in these tests, and what a whole turn may take.
PART_SECONDS, STORE_SECONDS, TURN_SECONDS = 0.8, 2.0, 10.0
NEVER, BACK_SECONDS = 60.0, 5.0
AWAY = DatabaseAway("the scripted part is away", hint="try again")


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await filled(await make_bench(pool, database_url, tmp_path))


async def filled(bench: Bench) -> Bench:
    await bench.ingest(source("r.md", REFUND), source("d.md", "The doors open at 18:30."))
    await bench.app.remember(PINNED, scope=ANA, pinned=True)
    await bench.app.remember(CODE, scope=ANA)
    return impatient(bench)


def impatient(bench: Bench) -> Bench:
    """The same App, which waits for no part longer than these tests do."""
    parts = bench.app.answer_parts
    assert parts.memory is not None
    ranking = replace(parts.retrieve.ranking, leg_seconds=PART_SECONDS)
    parts = replace(
        parts,
        retrieve=replace(parts.retrieve, ranking=ranking),
        talk=replace(parts.talk, seconds=STORE_SECONDS),
        memory=replace(parts.memory, seconds=PART_SECONDS),
    )
    return replace(bench, app=replace(bench.app, answer_parts=parts))


def with_parts(bench: Bench, **changes: Any) -> Bench:
    """The same App with other parts of the answering line; `index` is the retrieval's."""
    parts = bench.app.answer_parts
    retrieve = {n: changes.pop(n) for n in ("index", "embedder", "store") if n in changes}
    if "encoder" in changes:
        retrieve["encoder"] = changes["encoder"]
    parts = replace(parts, retrieve=replace(parts.retrieve, **retrieve), **changes)
    return replace(bench, app=replace(bench.app, answer_parts=parts))


async def turn(
    bench: Bench, model: LanguageModel | None, question: str = QUESTION
) -> tuple[list[Event], Answer]:
    """Ask, and check what holds of every turn that ends in an answer."""
    began = time.monotonic()
    asked = replace(bench.app, answer_parts=replace(bench.app.answer_parts, language_model=model))
    talk = await bench.conversation(ANA)
    events = [e async for e in asked.stream(question, scope=ANA, conversation_id=talk)]
    assert time.monotonic() - began < TURN_SECONDS
    assert isinstance(events[0], Retrieved)
    assert isinstance(events[-1], Done)
    answer = events[-1].answer
    assert answer.text.strip()
    kept = await bench.app.catalogue.conversations.turns(ANA, talk)
    assert [(t.role, t.state) for t in kept] == [("user", "complete"), ("assistant", "complete")]
    assert (kept[0].text, kept[1].text) == (question, answer.text)
    return events, answer


def says(text: str = f"{REFUND} [1]") -> ScriptedModel:
    return ScriptedModel([text])


# --- the index


class FaultyReader:
    """An IndexReader or a MemoryReader some of whose methods fail in one way."""

    def __init__(self, real: Any, methods: Iterable[str], fault: str, rubbish: Any) -> None:
        self._real, self._methods = real, frozenset(methods)
        self._fault, self._rubbish = fault, rubbish

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name not in self._methods:
            return found

        async def faulty(*args: Any, **kwargs: Any) -> Any:
            if self._fault == "error":
                raise AWAY
            if self._fault == "stall":
                await asyncio.sleep(NEVER)
            if self._fault == "slow":
                await asyncio.sleep(PART_SECONDS / 8)
            given = await found(*args, **kwargs)
            return self._rubbish(given) if self._fault == "garbage" else given

        return faulty


class FaultyStore:
    """An Index or a MemoryStore whose readers fail; everything else is the real one's."""

    def __init__(
        self, real: Any, methods: Iterable[str], fault: str, rubbish: Callable[[Any], Any]
    ) -> None:
        self._real, self._made = real, (tuple(methods), fault, rubbish)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @asynccontextmanager
    async def reading(self, *place: Any) -> AsyncIterator[FaultyReader]:
        async with self._real.reading(*place) as reader:
            yield FaultyReader(reader, *self._made)


NAN = float("nan")


def strange(hits: Iterable[Hit]) -> list[Hit]:
    """Ids that nobody has, some twice, and scores that are no numbers."""
    unknown = [Hit(chunk_id=ChunkId(new_uuid()), score=score) for score in (9e9, NAN, -NAN)]
    return [*unknown, *unknown, *(replace(hit, score=NAN) for hit in hits)]


RUBBISH: dict[str, Callable[[Any], Any]] = {
    "search_dense": lambda given: DenseHits(
        hits=tuple(strange(given.hits)), low=NAN, mixed=True, plan="?"
    ),
    "search_keyword": strange,
    "token_signs": lambda given: dict.fromkeys(given, b"\x07"),
}
LEGS = {"dense": "search_dense", "keyword": "search_keyword", "rerank": "token_signs"}
FAULTS = ("error", "stall", "garbage", "slow")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("leg", LEGS)
async def test_a_leg_of_the_index_fails(bench: Bench, leg: str, fault: str) -> None:
    method = LEGS[leg]
    index = FaultyStore(bench.app.answer_parts.retrieve.index, [method], fault, RUBBISH[method])
    for model in (says(), None):
        _, answer = await turn(with_parts(bench, index=index), model)
        assert answer.text.startswith(REFUND)
        broken = fault != "slow" and (fault, leg) != ("garbage", "rerank")
        assert bool(answer.degraded) == broken, answer.degraded
        if model is not None:
            assert PINNED in model.prompts[0].user


@pytest.mark.parametrize("table", ["chunk_vector", "chunk_terms", "chunk_states"])
async def test_a_table_of_the_index_is_gone(bench: Bench, table: str) -> None:
    """Index lost: what is left of it answers."""
    bench.sql(f"DROP TABLE vademecum.{table} CASCADE")
    _, answer = await turn(bench, model := says())
    assert answer.text.startswith(REFUND)
    assert answer.degraded
    assert PINNED in model.prompts[0].user


@pytest.mark.parametrize("fault", ["error", "stall"])
async def test_the_whole_index_fails(bench: Bench, fault: str) -> None:
    """No passage is found: the memories answer, or we say that we do not know."""
    real = bench.app.answer_parts.retrieve.index
    index = FaultyStore(real, LEGS.values(), fault, strange)
    broken = with_parts(bench, index=index)
    model = says("You are allergic to peanuts.")
    _, answer = await turn(broken, model)
    assert answer.text == "You are allergic to peanuts."
    assert PINNED in model.prompts[0].user
    _, unknown = await turn(broken, None)
    assert unknown.abstained


# --- the models beside it

EMBEDDER_FAULTS = {
    "error": Fault(error=ModelUnusable("the scripted embedder is off")),
    "stall": Fault(delay=NEVER),
    "not a number": Fault(nan_rows=(0,)),
    "too few": Fault(drop_rows=1),
    "slow": Fault(delay=PART_SECONDS / 8),
}


class Senseless(HashEmbedder):
    """Token states that are no numbers, beside vectors that are."""

    async def encode(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        encoded = await super().encode(texts, role)
        return [replace(own, states=np.full_like(own.states, np.nan)) for own in encoded]


def failing(fault: str) -> HashEmbedder:
    if fault == "states no numbers":
        return Senseless()
    return HashEmbedder(faults=dict.fromkeys(range(1, 200), EMBEDDER_FAULTS[fault]))


@pytest.mark.parametrize("fault", [*EMBEDDER_FAULTS, "states no numbers"])
async def test_the_embedder_fails(
    bench: Bench, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One model gives vectors, token states and the check's: all of it is away at once."""
    monkeypatch.setattr("vademecum.answer.write._ENCODER_SECONDS", PART_SECONDS)
    model = failing(fault)
    memory = bench.app.answer_parts.memory
    assert memory is not None
    broken = with_parts(
        bench, embedder=model, encoder=model, memory=replace(memory, embedder=model)
    )
    _, answer = await turn(broken, says(), f"{QUESTION} KH-402?")
    assert answer.text.startswith(REFUND)
    assert bool(answer.degraded) == (fault != "slow")
    assert {PINNED, CODE} <= {one.memory.text for one in answer.memories}
    _, quoted = await turn(broken, None)
    assert quoted.abstained == (fault not in ("slow", "not a number"))


@pytest.mark.parametrize("fault", [*EMBEDDER_FAULTS, "states no numbers"])
async def test_the_reranker_fails(
    bench: Bench, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Token states are another model's here: the fused order stands, words check."""
    monkeypatch.setattr("vademecum.answer.write._ENCODER_SECONDS", PART_SECONDS)
    broken = with_parts(bench, encoder=failing(fault))
    model = says("The refund of a ticket takes 5 days at the box office [1].")
    _, answer = await turn(broken, model)
    assert "5 days" in answer.text
    assert PINNED in model.prompts[0].user
    assert bool(answer.degraded) == (fault != "slow")


MEMORY_METHODS = {
    "the profile": ("profile", "relationship"),
    "words": ("frequencies", "search_keyword"),
    "vectors": ("search_dense",),
    "rows": ("usable",),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("part", MEMORY_METHODS)
async def test_memory_fails(bench: Bench, part: str, fault: str) -> None:
    memory = bench.app.answer_parts.memory
    assert memory is not None

    def rubbish(given: Any) -> Any:
        """Scores of memories that nobody has, and scores that are no numbers; rows stay."""
        if not isinstance(given, dict):
            return given
        return dict.fromkeys([MemoryId(new_uuid()), *given], NAN)

    store = FaultyStore(memory.store, MEMORY_METHODS[part], fault, rubbish)
    _, answer = await turn(with_parts(bench, memory=replace(memory, store=store)), model := says())
    assert answer.text.startswith(REFUND)
    if fault in ("error", "stall"):
        assert [name for name in answer.degraded if name.startswith("memory")]
    if fault != "stall" and part != "the profile":
        assert PINNED in model.prompts[0].user


MODEL_FAULTS: dict[str, Callable[[], ScriptedModel]] = {
    "error": lambda: ScriptedModel(["x"], faults={1: provider_away()}),
    "breaks off": lambda: ScriptedModel([[f"{REFUND} [1]. ", "A ref"]], faults={1: provider_away(1)}),
    "empty": lambda: says(""),
    "blank": lambda: says(" \n\t "),
    "invented": lambda: says("A refund takes 900 days [1]. Call 555-0100 [7]."),
    "rubbish": lambda: says('{"tool_call": {"name": \x00\ufffd "delete"}}]]></source>'),
    "endless": lambda: ScriptedModel([f"{REFUND} [1]. "], faults={1: ModelFault(after=1, endless="word " * 40)}),
    "one word without end": lambda: ScriptedModel([""], faults={1: ModelFault(endless="x")}),
}  # fmt: skip


@pytest.mark.parametrize("fault", MODEL_FAULTS)
async def test_the_language_model_fails(bench: Bench, fault: str) -> None:
    model = MODEL_FAULTS[fault]()
    _, answer = await turn(bench, model)
    assert PINNED in model.prompts[0].user
    assert "900" not in answer.text
    assert "555" not in answer.text
    if fault in ("error", "breaks off", "endless"):
        assert answer.text.startswith(REFUND)


SERVED = {
    "stall at once": Reply(pieces=("Late.",), stall=NEVER),
    "stall after a sentence": Reply(pieces=(f"{REFUND} [1]. ", "Late."), stall=NEVER / 2),
    "reset": Reply(pieces=(f"{REFUND} [1]. ", "A re"), cut=True),
    "refused": Reply(status=503),
    "too many": Reply(status=429, retry_after="60"),
    "no JSON": Reply(raw=b"data: {not json\n\n"),
    "no text": Reply(raw=b"data: \xff\xfe\n\n"),
    "slow": Reply(pieces=(f"{REFUND} ", "[1]."), stall=0.05),
}


@pytest.mark.parametrize("fault", SERVED)
async def test_the_provider_s_server_fails(bench: Bench, fault: str) -> None:
    with OpenAIServer([SERVED[fault]]) as server:
        model = make_language_model(
            "openai:test-model", api_key="x", base_url=server.base_url, idle_seconds=PART_SECONDS
        )
        _, answer = await turn(bench, model)
        await model.aclose()
    assert answer.text.startswith(REFUND)
    assert bool(answer.degraded) == (fault != "slow")


EXTRACTOR_FAULTS: dict[str, Callable[[], ScriptedModel]] = {
    "error": lambda: ScriptedModel(["x"], faults=dict.fromkeys(range(1, 9), provider_away())),
    "stall": lambda: ScriptedModel(["x"], faults=dict.fromkeys(range(1, 9), ModelFault(stall=NEVER))),
    "rubbish": lambda: ScriptedModel(['{"facts": [{"turn": "one", "quote": 7}]} and {']),
    "another's words": lambda: ScriptedModel(
        ['{"facts": [{"turn": 1, "quote": "My PIN is nine", "text": "My PIN is nine"}]}']
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", EXTRACTOR_FAULTS)
async def test_the_extractor_fails(
    pool: Pool, database_url: str, tmp_path: Path, fault: str
) -> None:
    """A turn does not wait for what is learned from others, and nothing comes of nonsense."""
    model = EXTRACTOR_FAULTS[fault]()
    bench = await filled(
        await make_bench(pool, database_url, tmp_path, language_model=model, quiet=0)
    )
    await turn(bench, None, "I keep my bicycle under the old stairs")
    learning = asyncio.create_task(learn_all(bench.app))
    while not model.prompts:  # noqa: ASYNC110 - the model under test tells nobody that it is asked
        await asyncio.sleep(0.01)
    assert all(prompt.system == SYSTEM for prompt in model.prompts)
    answering = says()
    _, answer = await turn(bench, answering)
    assert answer.text.startswith(REFUND)
    assert PINNED in answering.prompts[0].user
    learning.cancel()
    await asyncio.wait({learning})
    texts = [memory.text for memory in await bench.app.memories(scope=ANA)]
    assert sorted(texts) == sorted([PINNED, CODE])


# --- the database


async def asked_of(bench: Bench, talk: ConversationId) -> list[Turn]:
    """What is kept of a conversation, as soon as the pool has found its way back."""
    until = time.monotonic() + BACK_SECONDS
    while True:
        try:
            reading = bench.app.catalogue.conversations.turns(ANA, talk)
            return list(await asyncio.wait_for(reading, 2))
        except ConversationNotFound:
            return []
        except (DatabaseAway, TimeoutError):
            assert time.monotonic() < until, "the pool does not come back"
            await asyncio.sleep(0.1)


async def broken_turn(bench: Bench, proxy: Proxy, number: int, mode: str) -> tuple[bool, int]:
    """Ask once, with the way to the database breaking before the `number`-th statement; return
    whether it was answered, and how many statements there were."""
    talk = await bench.conversation(ANA)
    events: list[Event] = []
    model = says()
    parts = replace(bench.app.answer_parts, language_model=model)
    app = replace(bench.app, answer_parts=parts)
    began = time.monotonic()
    with before_statement(number, lambda: proxy.set(mode)) as sent:
        try:
            async for event in app.stream(QUESTION, scope=ANA, conversation_id=talk):
                events.append(event)  # noqa: PERF401
        except DatabaseAway as error:
            said = str(error)
        else:
            said = "an answer"
    took = time.monotonic() - began
    assert took < TURN_SECONDS, f"{mode} before statement {number}: {took:.1f} s"
    assert said.count("\n") == 0
    answered = bool(events) and isinstance(events[-1], Done)
    assert answered == (said == "an answer")
    if answered:
        assert isinstance(events[-1], Done)
        assert events[-1].answer.text.strip()
    proxy.set("pass")
    kept = await asked_of(bench, talk)
    if events:
        assert [t.text for t in kept if t.role == "user"] == [QUESTION], f"lost at {number}"
    return answered, sent()


async def over_a_proxy(
    database_url: str, tmp_path: Path, mode: str, numbers: Callable[[int], Iterable[int]]
) -> list[bool]:
    """Break the way at each of the statements of a turn, each with a pool of its own."""
    proxy = Proxy(database_url)
    answered = []
    async with proxy.serving() as url:
        async with open_pool(url, size=6) as pool:
            bench = await filled(await make_bench(pool, database_url, tmp_path))
            whole, count = await broken_turn(bench, proxy, 0, "pass")
            assert whole
        for number in numbers(count):
            proxy.set("pass")
            async with open_pool(url, size=6) as pool:
                again = impatient(await make_bench(pool, database_url, tmp_path))
                answered.append((await broken_turn(again, proxy, number, mode))[0])
    return answered


def everywhere(count: int) -> Iterable[int]:
    return range(1, count + 1)


def here_and_there(count: int) -> Iterable[int]:
    """The question's own transaction, the searches, the confirmation, the answer's place."""
    return [1, count // 3, 2 * count // 3, count - 2]


async def test_connections_are_reset_before_any_statement(
    database_url: str, tmp_path: Path
) -> None:
    """What is lost once is told once, or does not matter: the legs of the search go without it."""
    answered = await over_a_proxy(database_url, tmp_path, "reset", everywhere)
    print(answered)
    assert any(answered)


PLACES = [
    pytest.param(here_and_there, id="here and there"),
    pytest.param(everywhere, id="everywhere", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("mode", ["stall", "down"])
async def test_the_database_falls_silent_or_goes_down_inside_a_turn(
    database_url: str,
    tmp_path: Path,
    mode: str,
    places: Callable[[int], Iterable[int]],
) -> None:
    """Silent: nothing is told, nothing is refused, packets are swallowed."""
    answered = await over_a_proxy(database_url, tmp_path, mode, places)
    print(answered)
    assert not answered[0], "the question could not be kept"


async def test_a_slow_way_to_the_database_only_takes_longer(
    database_url: str, tmp_path: Path
) -> None:
    assert all(await over_a_proxy(database_url, tmp_path, "slow", lambda n: [1, n // 2]))
