"""Is what a model was given told again as it was, and only to whom it may be told?"""

import html
import re
from pathlib import Path

from http_server import Served, put, serve_bench
from pages_client import browser
from support import make_bench

from vademecum.postgres.pool import Pool
from vademecum.testing.language_models import ScriptedModel

RULES = "Cameras with a lens of at most 200 mm are allowed in Hall Norte."
BAGS = "Bags of up to 30 litres are allowed in Hall Norte."
QUESTION = "Which cameras are allowed in Hall Norte?"


def sections(prompt: str) -> list[str]:
    """The sources and memories of a prompt, without the marks that are new for each."""
    found = re.findall(
        r"<(source|profile|memories)-[0-9a-f]{16}([^>]*)>\n(.*?)\n</", prompt, re.DOTALL
    )
    return [f"{name}{rest}\n{text}" for name, rest, text in found]


async def served_with(model: ScriptedModel, pool: Pool, url: str, folder: Path) -> Served:
    bench = await make_bench(pool, url, folder / "blobs", tokens=60, language_model=model)
    return serve_bench(bench, folder)


async def asked(served: Served, key: str) -> str:
    """Ask, and return the address of the trace."""
    async with served.client(key) as client:
        answer = (await client.post("/api/v1/ask", json={"question": QUESTION})).json()
    assert answer["mode"] == "generated"
    return f"/inspect/{answer['trace_id']}"


async def test_a_prompt_is_built_again_as_it_was(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel([f"{RULES} [1]"])
    served = await served_with(model, pool, database_url, tmp_path)
    key = await served.key("user:boss", "read", "write", "memory", "admin")
    await put(served, key, RULES)
    await put(served, key, BAGS, uri="bags.md")
    async with served.client(key) as client:
        said = {"text": "I use a wheelchair.", "pinned": True}
        memory = (await client.post("/api/v1/memories", json=said)).json()["memory"]["id"]
    trace = await asked(served, key)
    given = model.prompts[-1]
    async with browser(served, key) as client:
        page = (await client.get(trace)).text
        shown = re.findall(r'<pre class="raw" tabindex="0">(.*?)</pre>', page, re.DOTALL)
        plain = [html.unescape(text) for text in shown]
        assert plain[0].strip() == given.system.strip()
        assert sections(plain[1]) == sections(given.user)
        assert len(sections(plain[1])) == 3, "two sources and a profile"
        assert f"/memory#m-{memory}" in page
        counted = len(f"{given.system} {given.user}".split())
        assert f"The provider counted {counted} tokens." in page
        assert re.search(r"Answer</th><td class=\"num\">15</td><td class=\"num\">800</td>", page)
        assert '<span class="pill good">cited</span>' in page
        assert 'class="part-sources"' in page
        await client.post(f"/memory/{memory}/forget")
        await put(served, key, "Another rule stands here now.", uri="bags.md")
        later = (await client.get(trace)).text
        assert memory not in later.split("<details", 1)[0]
        assert "1 more, forgotten or changed since" in later
        assert "gone since" in later


async def test_of_another_persons_answer_only_the_sources_are_told(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel([f"{RULES} [1]"])
    served = await served_with(model, pool, database_url, tmp_path)
    reader = await served.key("user:reader", "read", "write", "memory")
    await put(served, reader, RULES)
    async with served.client(reader) as client:
        said = {"text": "I like zqjazz.", "pinned": True}
        memory = (await client.post("/api/v1/memories", json=said)).json()["memory"]["id"]
    trace = await asked(served, reader)
    async with browser(served, await served.key("user:boss", "read", "memory", "admin")) as client:
        page = (await client.get(trace)).text
    assert "What the model was given" in page
    assert "Another person asked" in page
    assert "rules.md" in page
    for private in ("zqjazz", memory, "Which cameras", "at most 200 mm"):
        assert private not in page, private


async def test_where_no_model_wrote_there_was_no_prompt(served: Served) -> None:
    key = await served.key("user:boss", "read", "write", "admin")
    await put(served, key, RULES)
    async with served.client(key) as client:
        answer = (await client.post("/api/v1/ask", json={"question": QUESTION})).json()
    async with browser(served, key) as client:
        page = (await client.get(f"/inspect/{answer['trace_id']}")).text
    assert "No prompt" in page
    assert "What the model was given" not in page
