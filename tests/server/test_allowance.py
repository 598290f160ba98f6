"""Do limits of answers, tokens and money hold, in every process, and before the work?"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from http_server import Served, put, serve_bench
from support import OPERATOR, Bench, make_bench

from vademecum.errors import BudgetSpent, TooMany
from vademecum.model.answer import Event, Usage
from vademecum.model.ids import Tenant
from vademecum.model.serving.key import Caller
from vademecum.model.serving.spending import Price
from vademecum.postgres.pool import Pool
from vademecum.server.allowance import MAY
from vademecum.testing.language_models import ModelFault, ScriptedModel

SAID = "Cameras with a lens of at most 200 mm are allowed in Hall Norte [1]."
QUESTION = {"question": "Which cameras are allowed in Hall Norte?"}


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel([[SAID]])


@pytest.fixture
async def written(pool: Pool, database_url: str, tmp_path: Path, model: ScriptedModel) -> Bench:
    """A bench with a model that writes."""
    return await make_bench(pool, database_url, tmp_path / "blobs", language_model=model)


async def caller_of(served: Served, key: str) -> Caller:
    caller = await served.bench.app.catalogue.keyring.enter(key)
    assert caller is not None
    return caller


async def slow() -> AsyncGenerator[Event, None]:
    await asyncio.sleep(60)
    yield  # type: ignore[misc]


async def alive() -> bool:
    return True


async def asked(served: Served, key: str, **body: Any) -> Any:
    async with served.client(key) as client:
        return await client.post("/api/v1/ask", json=QUESTION | body)


async def begun_in(bench: Bench) -> None:
    """Wait until an answer is under way."""
    for _ in range(500):
        if bench.count("answer_lease"):
            return
        await asyncio.sleep(0.01)
    pytest.fail("no answer began")


# ---- answers at the same time


async def test_answers_at_the_same_time_count_in_every_process(
    bench: Bench, tmp_path: Path
) -> None:
    here, there = (serve_bench(bench, tmp_path, limits__streams=1) for _ in range(2))
    key = await here.key()
    caller = await caller_of(here, key)
    session = await bench.app.catalogue.keyring.open_session(caller, timedelta(hours=1))
    first = here.service.streams.follow(caller, slow(), alive)
    waiting = asyncio.create_task(anext(first))
    await begun_in(bench)
    for text in (key, session.text):
        answer = await asked(there, text)
        assert (answer.status_code, answer.json()["code"]) == (429, "too-many"), text
        assert int(answer.headers["retry-after"]) >= 1
    assert bench.count("conversation") == 0, "refused before the work"
    other = await asked(there, await here.key("user:other"))
    assert other.status_code == 200
    waiting.cancel()
    await asyncio.wait({waiting})
    await first.aclose()
    await here.service.streams.close()
    assert (await asked(there, key)).status_code == 200


async def test_an_answer_of_a_process_that_died_counts_for_a_minute(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowance = served.service.streams._allowance
    allowance = replace(allowance, allowed=replace(allowance.allowed, streams=1))
    caller = await caller_of(served, await served.key())
    begun = await allowance.begin(caller)
    served.bench.sql("UPDATE vademecum.answer_lease SET lease_until = now() + interval '1 s'")
    await allowance.renew(caller, begun)
    [(left,)] = served.bench.sql("SELECT lease_until - now() FROM vademecum.answer_lease")
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)
    with pytest.raises(TooMany):
        await allowance.begin(caller)
    served.bench.sql("UPDATE vademecum.answer_lease SET lease_until = now() - interval '1 s'")
    await allowance.begin(caller)


async def test_a_long_answer_stays_counted(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vademecum.server.streams._RENEW_SECONDS", 0.05)
    caller = await caller_of(served, await served.key())
    events = served.service.streams.follow(caller, slow(), alive)
    waiting = asyncio.create_task(anext(events))
    await begun_in(served.bench)
    before = served.bench.sql("SELECT lease_until FROM vademecum.answer_lease")
    await asyncio.sleep(0.3)
    assert served.bench.sql("SELECT lease_until FROM vademecum.answer_lease") > before
    waiting.cancel()
    await asyncio.wait({waiting})
    await events.aclose()
    await served.service.streams.close()
    assert served.bench.count("answer_lease") == 0


# ---- what is spent


async def test_what_the_model_reports_is_counted_for_the_key_that_pays(
    written: Bench, model: ScriptedModel, tmp_path: Path
) -> None:
    served = serve_bench(written, tmp_path, limits__prompt_price=2.0, limits__completion_price=10.0)
    key = await served.key()
    await put(served, key)
    answer = (await asked(served, key)).json()
    await served.service.streams.close()
    caller = await caller_of(served, key)
    spending = written.app.catalogue.spending
    today = datetime.now(UTC).date()
    mine = await spending.spent(caller.scope, today, caller.key_id)
    [prompt] = model.prompts
    words = len(f"{prompt.system} {prompt.user}".split())
    assert mine.usage == Usage(prompt_tokens=words, completion_tokens=len(SAID.split()))
    wrote = len(SAID.split())
    assert answer["usage"] == {"prompt_tokens": words, "completion_tokens": wrote}
    assert mine.cost == pytest.approx((2.0 * words + 10.0 * wrote) / 1_000_000)
    assert await spending.spent(caller.scope, today, None) == mine
    stranger = await caller_of(served, await served.key("user:other"))
    other = await spending.spent(stranger.scope, today, stranger.key_id)
    assert other.usage == Usage(prompt_tokens=0, completion_tokens=0)
    async with served.client(await served.key("user:boss", "admin")) as boss:
        text = (await boss.get("/metrics")).text
    assert f'vademecum_tokens_total{{kind="prompt"}} {float(words)}' in text
    assert f'vademecum_tokens_total{{kind="completion"}} {float(wrote)}' in text
    [cost] = [line.split()[1] for line in text.splitlines() if line.startswith("vademecum_cost_t")]
    assert float(cost) == pytest.approx(mine.cost)


async def test_an_answer_that_is_broken_off_is_counted_all_the_same(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    """Whoever always leaves before the end must not have it for nothing."""
    model = ScriptedModel([[SAID, " And so on."]], faults={1: ModelFault(after=1, stall=60)})
    bench = await make_bench(pool, database_url, tmp_path / "blobs", language_model=model)
    served = serve_bench(bench, tmp_path, limits__idle_seconds=0.3)
    key = await served.key()
    await put(served, key)
    assert (await asked(served, key)).status_code == 503
    await served.service.streams.close()
    [(prompt, completion)] = bench.sql(
        "SELECT prompt_tokens, completion_tokens FROM vademecum.spending"
    )
    counter = bench.embedder
    [sent] = model.prompts
    assert prompt == counter.count(sent.system) + counter.count(sent.user)
    assert completion == counter.count(SAID)


@pytest.mark.parametrize(
    ("limits", "who"),
    [
        ({"limits__tokens_per_day": 1}, "this key"),
        ({"limits__cost_per_day": 0.000001, "limits__prompt_price": 1.0}, "this key"),
        ({"limits__tenant_tokens_per_day": 1}, "everybody"),
        (
            {"limits__tenant_cost_per_day": 0.000001, "limits__completion_price": 1.0},
            "everybody",
        ),
    ],
)
async def test_a_budget_that_is_spent_refuses_before_the_work(
    written: Bench, model: ScriptedModel, tmp_path: Path, limits: dict[str, Any], who: str
) -> None:
    served = serve_bench(written, tmp_path, **limits)
    key = await served.key()
    await put(served, key)
    assert (await asked(served, key)).status_code == 200
    await served.service.streams.close()
    before = (len(model.prompts), written.count("turn"), written.count("trace"))
    for body in ({}, {"stream": True}, {"temporary": True}):
        answer = await asked(served, key, **body)
        assert (answer.status_code, answer.json()["code"]) == (429, "budget-spent")
        assert who in answer.json()["message"]
        assert 1 <= int(answer.headers["retry-after"]) <= 86_400
    async with served.client(key) as client:
        chat = await client.post(
            "/v1/chat/completions",
            json={"model": "vademecum", "messages": [{"role": "user", "content": "x?"}]},
        )
    assert (chat.status_code, chat.json()["error"]["code"]) == (429, "budget-spent")
    assert (len(model.prompts), written.count("turn"), written.count("trace")) == before
    colleague = await asked(served, await served.key("user:colleague"))
    assert colleague.status_code == (200 if who == "this key" else 429)
    assert (await asked(served, await served.key(tenant="other"))).status_code == 200
    async with served.client(await served.key("user:boss", "admin")) as boss:
        text = (await boss.get("/metrics")).text
    assert "vademecum_refusals_total{limit=" in text
    written.sql("UPDATE vademecum.spending SET day = day - 1")
    assert (await asked(served, key)).status_code == 200, "a new day"


async def test_many_at_once_spend_at_most_one_answer_too_much(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threat 16: fifty at the same time, of fifty keys, where one call is left."""
    allowance = served.service.streams._allowance
    allowed = replace(allowance.allowed, tenant=replace(allowance.allowed.tenant, tokens=1))
    allowance = replace(allowance, allowed=allowed)
    callers = [await caller_of(served, await served.key(f"user:p{n}")) for n in range(50)]
    told = await asyncio.gather(
        *(allowance.begin(caller) for caller in callers), return_exceptions=True
    )
    refused = [error for error in told if isinstance(error, BudgetSpent)]
    assert len(refused) == 49
    assert MAY.prompt_tokens + MAY.completion_tokens >= 1


async def test_what_nobody_limits_is_not_limited(written: Bench, tmp_path: Path) -> None:
    served = serve_bench(written, tmp_path)
    key = await served.key()
    await put(served, key)
    for _ in range(3):
        assert (await asked(served, key)).status_code == 200


async def test_old_spending_is_let_go_and_stays_with_its_tenant(served: Served) -> None:
    catalogue = served.bench.app.catalogue
    caller = await caller_of(served, await served.key())
    allowance = served.service.streams._allowance
    used = Usage(prompt_tokens=7, completion_tokens=3)
    await allowance.end(caller, await allowance.begin(caller), used)
    await allowance.end(caller, await allowance.begin(caller), used)
    today = datetime.now(UTC).date()
    spent = await catalogue.spending.spent(OPERATOR, today, None)
    assert spent.usage == Usage(prompt_tokens=14, completion_tokens=6)
    other = replace(OPERATOR, tenant=Tenant("other"))
    assert (await catalogue.spending.spent(other, today, None)).usage.prompt_tokens == 0
    served.bench.sql("UPDATE vademecum.spending SET day = day - 62")
    assert await catalogue.let_go(Tenant("default")) == 0
    served.bench.sql("UPDATE vademecum.spending SET day = day - 1")
    assert await catalogue.let_go(Tenant("default")) == 1


def test_a_price_is_of_a_million_tokens() -> None:
    price = Price(prompt=3.0, completion=15.0)
    assert price.of(Usage(prompt_tokens=1_000_000, completion_tokens=200_000)) == 6.0
