"""Does an operator see how far another build of the index is, and what answers cost?"""

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from http_server import Served, put, serve_bench
from pages_client import browser
from support import OPERATOR

from vademecum.postgres.generation.store import PostgresGenerations


async def test_another_build_shows_how_far_it_is(served: Served) -> None:
    await put(served, await served.key())
    boss = await served.key("user:boss", "read", "admin")
    generations = PostgresGenerations(served.bench.app.catalogue.pool)
    async with browser(served, boss) as client:
        page = (await client.get("/status")).text
        assert "No other index is being built." in page
        assert "/status/builds" not in page, "nothing is waited for"
        current = await generations.current()
        assert current is not None
        own = current.generation
        await generations.add(
            own.space, own.analyser, own.average_length, state="building", embedding="x"
        )
        page = (await client.get("/status")).text
        assert "being built" in page
        assert 'hx-get="/status/builds"' in page
        part = await client.get("/status/builds", headers={"HX-Request": "true"})
        assert part.headers["cache-control"] == "private, no-store"
        assert "<html" not in part.text
        assert re.search(r'Meaning of chunks</th><td>\s*<span class="percent">0 %', part.text)
        assert re.search(r'Memories</th><td>\s*<span class="percent">100 %', part.text), (
            "there is none to index"
        )
        served.bench.sql(
            "INSERT INTO vademecum.chunk_vector SELECT (jsonb_populate_record(v, jsonb_build_object("
            "'generation', (SELECT max(id) FROM vademecum.index_generation)))).*"
            " FROM vademecum.chunk_vector v"
        )
        part = await client.get("/status/builds")
        assert re.search(r'Meaning of chunks</th><td>\s*<span class="percent">100 %', part.text)
        assert re.search(r'Words of chunks</th><td>\s*<span class="percent">0 %', part.text)
    async with browser(served, await served.key()) as client:
        assert (await client.get("/status/builds")).status_code == 403


def spend(served: Served, day: date, tokens: int, cost: float, tenant: str = "default") -> None:
    served.bench.sql(
        "INSERT INTO vademecum.spending (tenant, day, holder, prompt_tokens, completion_tokens, cost)"
        " VALUES (%s, %s, gen_random_uuid(), %s, 0, %s)",
        tenant, day, tokens, cost,
    )  # fmt: skip


async def test_the_cost_of_the_day_and_the_month_is_shown(served: Served, tmp_path: Path) -> None:
    boss = await served.key("user:boss", "read", "admin")
    today = datetime.now(UTC).date()
    spend(served, today, 300, 0.25)
    spend(served, today, 200, 0.25)
    spend(served, today - timedelta(days=40), 9_999, 9.0)
    spend(served, today, 77_777, 7.0, tenant="other")
    store = served.bench.app.catalogue.spending
    found = await store.by_day(OPERATOR, today - timedelta(days=31))
    assert {day: (own.usage.prompt_tokens, own.cost) for day, own in found.items()} == {
        today: (500, 0.5)
    }
    async with browser(served, boss) as client:
        page = (await client.get("/status")).text
        assert re.search(r'Today</th><td class="num">500</td><td>', page), "no price, no money"
        assert "No price is set" in page
        assert "no budget is set" in page
        assert "77,777" not in page
        assert "9,999" not in page
    priced = serve_bench(
        served.bench,
        tmp_path,
        limits__tenant_tokens_per_day=1_000,
        limits__tenant_cost_per_day=0.5,
        limits__prompt_price=3.0,
    )
    async with browser(priced, boss) as client:
        page = (await client.get("/status")).text
        assert re.search(r'Today</th><td class="num">500</td><td class="num">0.50</td>', page)
        assert "100 %" in page
        assert ">spent<" in page
        assert "the highest column is 500" in page
