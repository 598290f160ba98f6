"""Do the pages work in a real browser, for everybody, and does nothing that they show ever act?"""

import asyncio
import importlib.util
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
from browsing import Watched, browser, watch
from http_server import Served, listening, serve_bench
from playwright.async_api import expect
from support import Bench, make_bench, source

from vademecum.adapters.parsers.jail import ChildParser
from vademecum.app import App
from vademecum.model.answer import (
    Answer,
    Checked,
    Citation,
    Done,
    Event,
    Retrieved,
    Sentence,
    Usage,
)
from vademecum.model.feedback import Reason
from vademecum.model.ids import ChunkId, DocumentId, TraceId, new_uuid
from vademecum.postgres.pool import Pool
from vademecum.testing.language_models import ModelFault, ScriptedModel

ROOT = Path(__file__).parents[2]
RULES = """# Cameras

Cameras with a lens of at most 200 mm are allowed in Hall Norte.

# Access

Sector C has step-free access by lift 4.
"""
PORTO = ROOT / "examples/boxoffice/documents/venues/teatro-do-porto-regras-2026.pdf"


def _beside(name: str) -> ModuleType:
    """Load a module that stands beside this one."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OUTPUTS: list[str] = _beside("hostile").OUTPUTS


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    parser = ChildParser()
    yield await make_bench(pool, database_url, tmp_path / "blobs", parser=parser, tokens=60)
    await parser.aclose()


@pytest.fixture
def served(bench: Bench, tmp_path: Path) -> Served:
    return serve_bench(bench, tmp_path, limits__requests_per_minute=1000)


@pytest.fixture
async def eyes(served: Served) -> AsyncIterator[Watched]:
    """A page of a browser on a server, with nobody signed in."""
    async with listening(served) as base, browser() as started:
        context = await started.new_context(viewport={"width": 1360, "height": 860})
        yield await watch(context, base)


async def test_a_person_asks_and_is_one_click_from_the_proof(eyes: Watched, served: Served) -> None:
    await served.bench.ingest(source("rules.md", RULES))
    await eyes.sign_in(await served.key())
    await eyes.accessible()
    await eyes.ask("Which cameras are allowed in Hall Norte?")
    page = eyes.page
    assert "/c/" in page.url
    chip = page.locator("a.chip").first
    await chip.hover()
    await expect(page.locator(".tip").first).to_be_visible()
    await expect(page.locator(".tip").first).to_contain_text("200 mm")
    await chip.click()
    await expect(page.locator("#cited")).to_have_text(
        "Cameras with a lens of at most 200 mm are allowed in Hall Norte."
    )
    await eyes.accessible()
    await page.keyboard.press("Escape")
    assert await page.evaluate("document.activeElement.className") == "chip"
    before = await page.locator("[data-answer] .said .words").all_inner_texts()
    await page.reload()
    assert await page.locator("[data-answer] .said .words").all_inner_texts() == before
    await expect(page.locator(".talk-list a[aria-current]")).to_contain_text("Which cameras")
    await page.locator("[data-again] button").click()
    await expect(page.locator("#send")).to_be_enabled()
    await page.reload()
    await expect(page.locator("details.variants")).to_have_count(1)
    eyes.check()


async def test_a_word_on_an_answer_is_kept_with_its_reason(eyes: Watched, served: Served) -> None:
    await served.bench.ingest(source("rules.md", RULES))
    await eyes.sign_in(await served.key())
    await eyes.ask("Which cameras are allowed in Hall Norte?")
    page = eyes.page
    await page.locator(".feedback summary").click()
    await page.locator("[data-feedback] input[value=down]").check()
    for reason in get_args(Reason):
        await page.locator("[data-feedback] select").select_option(reason)
    await page.fill("[data-feedback] input[name=note]", "It was about Hall Sul.")
    await page.locator("[data-feedback] button").click()
    await expect(page.locator(".feedback")).to_contain_text("Thank you")
    kept = await page.evaluate("async () => (await fetch('/api/v1/feedback')).json()")
    given = kept["feedback"][0]
    assert (given["verdict"], given["reason"]) == ("down", "off_topic")
    assert given["note"] == "It was about Hall Sul."
    eyes.check()


async def test_keys_go_from_proof_to_proof(eyes: Watched, served: Served) -> None:
    await served.bench.ingest(source("rules.md", RULES), source("b.md", "Lift 4 is by gate B."))
    await eyes.sign_in(await served.key())
    await eyes.ask("Which cameras are allowed in Hall Norte? Where is lift 4?")
    page = eyes.page
    chips = await page.locator("a.chip").count()
    assert chips >= 2
    await page.locator("a.chip").first.click()
    await page.locator("[data-evidence-shown]").wait_for()
    first = await page.locator("#cited").inner_text()
    await page.keyboard.press("n")
    await expect(page.locator("a.chip").nth(1)).to_have_class("chip open")
    assert await page.locator("#cited").inner_text() != first
    await page.keyboard.press("p")
    await expect(page.locator("#cited")).to_have_text(first)
    eyes.check()


async def test_a_pdf_shows_its_page_with_the_words_marked(eyes: Watched, served: Served) -> None:
    await served.bench.ingest(source("porto.pdf", PORTO.read_bytes(), language="pt"))
    await eyes.sign_in(await served.key())
    await eyes.ask("Qual é o tamanho máximo de bolsa no Teatro do Porto?")
    page = eyes.page
    await page.locator("a.chip").first.click()
    picture = page.locator("img[data-sheet]")
    await picture.wait_for()
    for _ in range(100):
        if await picture.evaluate("picture => picture.complete && picture.naturalWidth"):
            break
        await asyncio.sleep(0.1)
    assert await picture.evaluate("picture => picture.naturalWidth") > 900
    await eyes.accessible()
    eyes.check()


async def test_stop_keeps_what_was_written(pool: Pool, database_url: str, tmp_path: Path) -> None:
    pieces = ["Cameras with a lens of at most 200 mm are allowed in Hall Norte [1]. ", "Mo", "re."]
    model = ScriptedModel([pieces], faults={1: ModelFault(after=2, stall=60)})
    bench = await make_bench(
        pool, database_url, tmp_path / "blobs", tokens=60, language_model=model
    )
    served = serve_bench(bench, tmp_path)
    await bench.ingest(source("rules.md", RULES))
    async with listening(served) as base, browser() as started:
        eyes = await watch(await started.new_context(), base)
        await eyes.sign_in(await served.key())
        page = eyes.page
        await page.fill("#question", "Which cameras are allowed?")
        await page.click("#send")
        await page.locator(".sentences .said").first.wait_for()
        await expect(page.locator(".stage li[aria-current]")).to_have_text("Writing")
        await page.click("#stop")
        await expect(page.locator(".answer .pill")).to_contain_text("Stopped")
        for _ in range(40):
            if model.closed:
                break
            await asyncio.sleep(0.05)
        assert model.closed == 1, "the model's call ends with the reader, within two seconds"
        await page.goto(f"{base}/")
        await page.locator(".talk-list a").first.click()
        await expect(page.locator("[data-answer]")).to_contain_text("200 mm")
        await expect(page.locator("[data-answer]")).to_contain_text("stopped before its end")
        eyes.check()


async def test_files_come_in_and_go_out(eyes: Watched, served: Served) -> None:
    await eyes.sign_in(await served.key())
    page = eyes.page
    await page.goto(f"{eyes.base}/sources")
    await expect(page.locator(".empty")).to_contain_text("Drop the first one here")
    await eyes.accessible()
    await page.set_input_files(
        "input[type=file]", {"name": "a.md", "mimeType": "text/markdown", "buffer": RULES.encode()}
    )
    await page.click("#upload button.primary")
    await expect(page.locator("#brought")).to_contain_text("a.md")
    await expect(page.locator("table.sources .pill")).to_have_text("being read")
    await served.bench.ingest(source("z.md", "Z."))
    await expect(page.locator("table.sources .pill").first).to_have_text("ready", timeout=15_000)
    await page.locator("table.sources th a").first.click()
    await expect(page.locator(".stretch.chunk").first).to_contain_text("200 mm")
    await eyes.accessible()
    await page.locator("a.danger").click()
    await page.locator("form button.danger").click()
    await expect(page.locator("main .pill")).to_contain_text("Complete")
    await eyes.accessible()
    eyes.check()


async def test_memories_are_kept_edited_and_erased(eyes: Watched, served: Served) -> None:
    key = await served.key()
    async with served.client(key) as client:
        for text in ("I like jazz.", "I use a wheelchair."):
            await client.post("/api/v1/memories", json={"text": text, "client": "player"})
    await eyes.sign_in(key)
    page = eyes.page
    await page.goto(f"{eyes.base}/memory")
    await expect(page.locator(".pending")).to_have_count(2)
    await eyes.accessible()
    await page.locator(".pending form[action$=confirm] button").first.click()
    await expect(page.locator(".pending")).to_have_count(1)
    await page.locator(".pending form[action$=reject] button").click()
    await expect(page.locator(".pending")).to_have_count(0)
    await expect(page.locator(".memories li")).to_have_count(1)
    await page.goto(f"{eyes.base}/memory/erase")
    await eyes.accessible()
    await page.fill("#confirm", "user:reader")
    await page.locator("form button.danger").click()
    await expect(page.locator("h1")).to_have_text("You were forgotten")
    await page.goto(f"{eyes.base}/memory")
    assert page.url.endswith("/sign-in")
    eyes.check()


async def test_the_pages_work_on_a_phone_and_without_a_script(served: Served, bench: Bench) -> None:
    await bench.ingest(source("rules.md", RULES))
    key = await served.key()
    async with listening(served) as base, browser() as started:
        phone = await started.new_context(viewport={"width": 360, "height": 740})
        eyes = await watch(phone, base)
        await eyes.sign_in(key)
        await eyes.ask("Which cameras are allowed?")
        await eyes.page.locator("a.chip").first.click()
        await expect(eyes.page.locator("#evidence")).to_be_visible()
        await eyes.page.locator("[data-close]").click()
        await expect(eyes.page.locator("#evidence")).to_be_hidden()
        for path in ("/", "/sources", "/memory"):
            await eyes.page.goto(base + path)
            wide = await eyes.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 360, f"{path} is {wide} wide"
            await eyes.accessible()
        eyes.check()
        bare = await started.new_context(java_script_enabled=False)
        reader = await watch(bare, base)
        await reader.sign_in(key)
        await reader.page.fill("#question", "Which cameras are allowed?")
        await reader.page.click("#send")
        await expect(reader.page.locator("[data-answer]")).to_contain_text("200 mm")
        await reader.page.locator("a.chip").first.click()
        await expect(reader.page.locator("#cited")).to_contain_text("200 mm")
        await reader.page.select_option("#theme", "dark")
        await reader.page.locator(".top-end button.quiet").first.click()
        await expect(reader.page.locator("html")).to_have_attribute("data-theme", "dark")
        reader.check()


async def test_dark_is_as_readable_as_light(served: Served, bench: Bench) -> None:
    await bench.ingest(source("rules.md", RULES))
    async with listening(served) as base, browser() as started:
        context = await started.new_context(color_scheme="dark")
        eyes = await watch(context, base)
        await eyes.sign_in(await served.key())
        ground = await eyes.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(21, 24, 28)"
        await eyes.ask("Which cameras are allowed?")
        for path in ("", "/sources", "/memory", "/memory/erase", "/?temporary=1"):
            if path:
                await eyes.page.goto(base + path)
            await eyes.accessible()
        await eyes.page.select_option("#theme", "light")
        await eyes.page.wait_for_load_state()
        await expect(eyes.page.locator("html")).to_have_attribute("data-theme", "light")
        eyes.check()


async def test_operators_look_inside(eyes: Watched, served: Served) -> None:
    await served.bench.ingest(source("rules.md", RULES))
    await eyes.sign_in(await served.key("user:boss", "read", "admin"))
    await eyes.ask("Which cameras are allowed?")
    page = eyes.page
    await page.get_by_text("Why this answer").click()
    await expect(page.locator("svg.chart")).to_be_visible()
    await eyes.accessible()
    for path in ("/inspect", "/evaluate", "/status"):
        await page.goto(eyes.base + path)
        await eyes.accessible()
    await expect(page.locator("svg.chart text").first).to_be_visible()
    eyes.check()


async def test_operators_see_runs_on_a_desk_a_phone_in_the_dark_and_without_a_script(
    served: Served, bench: Bench
) -> None:
    await bench.ingest(source("rules.md", RULES))
    boss = await served.key("user:boss", "read", "admin")
    asked = {"id": "cameras", "question": "Which cameras are allowed in Hall Norte?",
             "kind": "concept", "relevant": [{"document": "rules.md"}]}  # fmt: skip
    none = {"id": "none", "question": "Zorblax?", "kind": "unanswerable", "relevant": []}
    async with served.client(boss) as client:
        for _ in range(2):
            golden = {"name": "halls", "questions": [asked, none]}
            run = (await client.post("/api/v1/evaluations", json=golden)).json()
        found = await client.post("/api/v1/search", json={"query": "Which cameras?"})
        word = {"trace_id": found.json()["trace_id"], "verdict": "down", "reason": "wrong"}
        thumb = (await client.post("/api/v1/feedback", json=word)).json()
    places = ("/evaluate", f"/evaluate/{run['id']}", f"/evaluate/question/{thumb['id']}")
    async with listening(served) as base, browser() as started:
        for way in ({}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}):
            eyes = await watch(await started.new_context(**way), base)
            await eyes.sign_in(boss)
            for path in places:
                await eyes.page.goto(base + path)
                wide = await eyes.page.evaluate("document.documentElement.scrollWidth")
                assert wide <= (360 if "viewport" in way else 1280), f"{path} is {wide} wide"
                await eyes.accessible()
            eyes.check()
        bare = await watch(await started.new_context(java_script_enabled=False), base)
        await bare.sign_in(boss)
        await bare.page.goto(f"{base}/evaluate")
        await expect(bare.page.locator("svg.chart .line").first).to_be_attached()
        await bare.page.locator("a[href^='/evaluate/0']").first.click()
        await bare.page.locator("select[name=against]").select_option(index=1)
        await bare.page.locator("main form button").first.click()
        await expect(bare.page.locator("main")).to_contain_text("What changed")
        await bare.page.goto(f"{base}/evaluate/question/{thumb['id']}")
        await bare.page.check("input[name=relevant] >> nth=0")
        await bare.page.locator("main form button").click()
        await expect(bare.page.locator("pre.raw")).to_contain_text('"document": "rules.md"')
        bare.check()


# ---- nothing that is shown acts


def _hostile_answer(number: int) -> tuple[list[Checked], Answer]:
    """Return an answer whose twenty sentences, and whose sources, would act if they could."""
    checked = []
    for place, text in enumerate(OUTPUTS[20 * number : 20 * number + 20]):
        cited = Citation(
            marker=1 + place,
            chunk_id=ChunkId(new_uuid()),
            document_id=DocumentId(new_uuid()),
            uri=text,
            title=text,
            page_start=None,
            page_end=None,
            start=0,
            end=1,
            quote=text,
            support="supported",
        )
        support = ("supported", "partly", "unsupported")[place % 3]
        sentence = Sentence(
            text=text,
            markers=(1 + place,),
            support=support,  # type: ignore[arg-type]
            why=text if place % 3 else "",
        )
        checked.append(Checked(mode="generated", sentence=sentence, citations=(cited,)))
    answer = Answer(
        question=OUTPUTS[number],
        text="\n".join(one.sentence.text for one in checked),
        abstained=number % 5 == 4,
        mode="generated",
        sentences=tuple(one.sentence for one in checked),
        citations=tuple(c for one in checked for c in one.citations),
        passages=(),
        degraded=tuple(OUTPUTS[number : number + 3]),
        usage=Usage(prompt_tokens=0, completion_tokens=0),
        timings_ms={"total": 1.0},
        conversation_id=None,
        turn_id=None,
        trace_id=TraceId(new_uuid()),
        asked_turn_id=None,
    )
    return checked, answer


async def test_two_hundred_hostile_answers_are_inert(
    eyes: Watched, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SE-07, SAFETY threat 7: no script runs, nothing is loaded, the policy has nothing to do."""
    assert len(OUTPUTS) >= 200
    rounds = iter(range(len(OUTPUTS) // 20))

    def stream(_self: App, *_: Any, **__: Any) -> AsyncGenerator[Event, None]:
        async def events() -> AsyncGenerator[Event, None]:
            yield Retrieved(passages=())
            checked, answer = _hostile_answer(next(rounds))
            for one in checked:
                yield one
            yield Done(answer=answer)

        return events()

    monkeypatch.setattr(App, "stream", stream)
    await served.bench.ingest(source("rules.md", RULES))
    await eyes.sign_in(await served.key())
    page = eyes.page
    own = await page.locator("script").count()
    for number in range(len(OUTPUTS) // 20):
        await eyes.ask(OUTPUTS[number])
    await asyncio.sleep(0.5)
    assert await page.locator("script").count() == own
    turns = page.locator("#turns")
    for tag in ("script", "img", "svg", "iframe", "object", "embed", "link", "style", "meta",
                "base", "video", "audio", "math", "template", "input[autofocus]"):  # fmt: skip
        assert await turns.locator(tag).count() == 0, tag
    acting = await turns.evaluate(
        """turns => [...turns.querySelectorAll('*')].flatMap(e => [...e.attributes]
           .filter(a => a.name.startsWith('on') || a.name === 'style'
                        || /^(java|vb)script:|^data:/i.test(a.value.trim()) && a.name !== 'value'
                           && !a.name.startsWith('data-') && a.name !== 'aria-label')
           .map(a => `${e.tagName} ${a.name}=${a.value}`))"""
    )
    assert acting == []
    links = await turns.locator(".said a:not(.chip)").all()
    assert len(links) > 10, "links that may stand are still links"
    for link in links:
        assert await link.get_attribute("rel") == "noopener noreferrer nofollow"
        assert (await link.get_attribute("href") or "").startswith(("http:", "https:"))
    eyes.check()


async def test_what_acts_would_be_seen(eyes: Watched, served: Served) -> None:
    """The watch itself: a picture from elsewhere, a dialog and a script in the page are noticed."""
    await eyes.sign_in(await served.key())
    await eyes.page.evaluate("new Image().src = 'https://evil.example/x'")
    await eyes.page.evaluate("alert(1)")
    await eyes.page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'alert(2)'}))"
    )
    await eyes.page.evaluate("setTimeout(() => { throw new Error('broke') })")
    await asyncio.sleep(0.3)
    assert len(eyes.refused) == 2
    assert (eyes.dialogs, len(eyes.errors)) == (["1"], 1)
    await eyes.page.evaluate(
        "document.body.append(Object.assign(document.createElement('input'), {id: 'bare'}))"
    )
    with pytest.raises(AssertionError, match="label"):
        await eyes.accessible()


async def test_hostile_documents_titles_names_and_memories_are_inert(
    eyes: Watched, served: Served
) -> None:
    """SE-07: in titles, file names, texts, metadata, collections, questions and memories."""
    some = OUTPUTS[:: len(OUTPUTS) // 24]
    for number, text in enumerate(some):
        await served.bench.ingest(
            source(
                f"{number} {text}"[:300],
                f"# {text}\n\nLocker {number} is free. {text}\n",
                collection=text[:60],
                metadata={text[:40]: text},
                title=text,
            )
        )
    key = await served.key("user:reader", "read", "write", "memory")
    async with served.client(key) as client:
        for text in some[:12]:
            await client.post(
                "/api/v1/memories", json={"text": f"I like {text}", "client": text[:80]}
            )
    await eyes.sign_in(key)
    page = eyes.page
    for text in some[:8]:
        await eyes.ask(f"Which locker is free? {text}")
        if await page.locator("a.chip").count():
            await page.locator("a.chip").last.hover()
            await page.locator("a.chip").last.click()
            await page.locator("[data-evidence-shown]").wait_for()
    places = ["/sources", "/memory", "/", "/memory/erase"]
    async with served.client(key) as client:
        listed = (await client.get("/api/v1/documents")).json()["documents"]
        places += [f"/sources/{document['id']}" for document in listed[:12]]
        talks = (await client.get("/api/v1/conversations")).json()["conversations"]
        places += [f"/c/{talk['id']}" for talk in talks]
    for place in places:
        await page.goto(eyes.base + place)
        scripts = await page.locator("script:not([src])").count()
        assert scripts == 0, place
        assert await page.locator("main img:not([src^='/sources/'])").count() == 0, place
        assert await page.locator("main iframe, main object, main embed, main svg").count() == 0
    eyes.check()
