"""Do the pages that compare, explain, switch and count work in a real browser: on a desk, in the
dark, on a phone, by keys and without a script?"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from browsing import browser, watch
from http_server import Served, listening, put, serve_bench
from playwright.async_api import expect
from support import make_bench

from vademecum.postgres.generation.store import PostgresGenerations
from vademecum.postgres.pool import Pool
from vademecum.testing.language_models import ScriptedModel

HOSTILE = "<script>document.title='zqran'</script><img src=//evil.example/x onerror=alert(2)>"
BEFORE = f"""# Cameras

Cameras with a lens of at most 200 mm are allowed in Hall Norte.

Tripods stay in the cloakroom. {HOSTILE}

# Access

Sector C has step-free access by lift 4.
"""
AFTER = f"""# Cameras

Cameras with a lens of at most 300 mm are allowed in Hall Norte and in Hall Sul.

Tripods stay in the cloakroom. {HOSTILE} {HOSTILE}

# Access

Sector C has step-free access by lift 4.

Sector D has step-free access by the ramp at gate {"averyveryverylongnameofagate" * 8}.
"""
SAID = "Cameras with a lens of at most 300 mm are allowed in Hall Norte and in Hall Sul. [1]"
WAYS: dict[str, dict[str, Any]] = {
    "desk": {"viewport": {"width": 1360, "height": 860}},
    "dark": {"viewport": {"width": 1360, "height": 860}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}},
}


@pytest.fixture
async def served(pool: Pool, database_url: str, tmp_path: Path) -> Served:
    """Two revisions, an answer by a model, another build of the index, and some spending."""
    bench = await make_bench(
        pool, database_url, tmp_path / "blobs", tokens=60, language_model=ScriptedModel([SAID])
    )
    served = serve_bench(
        bench,
        tmp_path,
        limits__requests_per_minute=1000,
        limits__tenant_tokens_per_day=5_000,
        limits__prompt_price=3.0,
    )
    generations = PostgresGenerations(pool)
    current = await generations.current()
    assert current is not None
    own = current.generation
    await generations.add(
        own.space, own.analyser, own.average_length, state="building", embedding="x"
    )
    bench.sql(
        "INSERT INTO vademecum.spending (tenant, day, holder, prompt_tokens, completion_tokens, cost)"
        " SELECT 'default', %s::date - n, gen_random_uuid(), 90 * n + 400, 7 * n, n / 10.0"
        " FROM generate_series(0, 24) AS n",
        datetime.now(UTC).date(),
    )
    return served


async def prepared(served: Served) -> tuple[str, list[str]]:
    """Return an operator's key, and the places of the pages."""
    key = await served.key("user:boss", "read", "write", "memory", "admin")
    document = await put(served, key, BEFORE)
    await put(served, key, AFTER)
    async with served.client(key) as client:
        pinned = {"text": "I use a wheelchair.", "pinned": True}
        await client.post("/api/v1/memories", json=pinned)
        asked = {"question": "Which cameras are allowed in Hall Norte?"}
        answer = (await client.post("/api/v1/ask", json=asked)).json()
    assert answer["mode"] == "generated"
    return key, [
        f"/sources/{document['id']}/changes",
        f"/inspect/{answer['trace_id']}",
        "/memory",
        "/status",
    ]


async def test_these_pages_are_readable_on_a_desk_in_the_dark_and_on_a_phone(
    served: Served,
) -> None:
    key, places = await prepared(served)
    async with listening(served) as base, browser() as started:
        for way, options in WAYS.items():
            eyes = await watch(await started.new_context(**options), base)
            await eyes.sign_in(key)
            for place in places:
                await eyes.page.goto(base + place)
                await eyes.accessible()
                wide = await eyes.page.evaluate("document.documentElement.scrollWidth")
                assert wide <= options["viewport"]["width"], f"{place} is {wide} wide on a {way}"
            assert "zqran" not in await eyes.page.title()
            eyes.check()


async def test_changes_stand_side_by_side_or_one_under_the_other(served: Served) -> None:
    key, places = await prepared(served)
    async with listening(served) as base, browser() as started:
        for way, options in WAYS.items():
            eyes = await watch(await started.new_context(**options), base)
            await eyes.sign_in(key)
            page = eyes.page
            await page.goto(base + places[0])
            changed = page.locator(".change", has=page.locator("del", has_text="200")).first
            await expect(changed.locator("ins").first).to_have_text("300")
            old = await changed.locator(".out").bounding_box()
            new = await changed.locator(".in").bounding_box()
            assert old
            assert new
            if way == "phone":
                assert new["y"] >= old["y"] + old["height"]
                await expect(changed.locator(".side-name").first).to_be_visible()
            else:
                assert new["x"] >= old["x"] + old["width"]
                assert new["y"] == old["y"]
            line = "getComputedStyle(document.querySelector('.changes del')).textDecorationLine"
            assert await page.evaluate(line) == "line-through", "not by colour alone"
            await expect(page.locator(".changes")).to_contain_text("<script>")
            eyes.check()


async def test_remembering_is_switched_by_keys_and_without_a_script(served: Served) -> None:
    key, _ = await prepared(served)
    async with listening(served) as base, browser() as started:
        for scripted in (True, False):
            context = await started.new_context(java_script_enabled=scripted)
            eyes = await watch(context, base)
            await eyes.sign_in(key)
            page = eyes.page
            await page.goto(f"{base}/memory")
            switch = page.locator("form[action='/memory/remembering'] button")
            await expect(switch).to_have_text("Switch off")
            await switch.focus()
            await page.keyboard.press("Enter")
            await expect(page.locator("#remembering")).to_have_text("Remembering: off")
            await expect(page.locator(".memories li")).to_have_count(1)
            if scripted:
                await eyes.accessible()
            await page.locator("form[action='/memory/remembering'] button").press("Enter")
            await expect(page.locator("#remembering")).to_have_text("Remembering: on")
            eyes.check()


async def test_the_progress_of_a_build_comes_by_itself(served: Served) -> None:
    key, _ = await prepared(served)
    async with listening(served) as base, browser() as started:
        eyes = await watch(await started.new_context(), base)
        await eyes.sign_in(key)
        await eyes.page.goto(f"{base}/status")
        builds = eyes.page.locator("#builds")
        await expect(builds).to_contain_text("being built")
        served.bench.sql(
            "UPDATE vademecum.index_generation SET state = 'retired' WHERE state = 'building'"
        )
        await expect(builds).to_contain_text("No other index is being built", timeout=15_000)
        eyes.check()
