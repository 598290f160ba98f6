"""Do the pages show what is there, to whom it is for, and only as text?"""

import html
import json
import re
import struct
import zlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args
from uuid import UUID

import httpx
import numpy as np
import pytest
from http_server import RULES, Served, events_of, put, serve_bench
from pages_client import browser
from support import OPERATOR, make_bench, source

from vademecum import errors
from vademecum.adapters.parsers.jail import ChildParser
from vademecum.errors import ConversationNotFound, TooMany
from vademecum.model.answer import Support
from vademecum.model.document import State
from vademecum.model.ids import ConversationId
from vademecum.model.memory import KINDS, Confidence, MemorySignals, Outcome, SourceKind
from vademecum.model.principal import Scope
from vademecum.postgres.generation.store import OPEN
from vademecum.postgres.pool import Pool
from vademecum.postgres.trace.overview import Overview
from vademecum.server.application import ROUTES
from vademecum.server.web.languages import NAMES, chosen, language
from vademecum.server.web.markup import marked_up
from vademecum.server.web.pages.sign_in import Attempts
from vademecum.server.web.site import THEMES
from vademecum.testing.language_models import ScriptedModel

WEB = Path(__file__).parents[2] / "src" / "vademecum" / "server" / "web"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


# ---- coming in


async def test_a_key_opens_a_session_that_ends_with_it(served: Served) -> None:
    key = await served.key()
    async with browser(served) as client:
        answer = await client.get("/")
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        door = await client.get("/sign-in")
        assert 'name="key"' in door.text
        signed = await client.post("/sign-in", data={"key": key})
        assert (signed.status_code, signed.headers["location"]) == (303, "/")
        cookie = signed.headers["set-cookie"]
        assert cookie.startswith("vade=")
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert key not in cookie
        assert (await client.get("/")).status_code == 200
        out = await client.post("/sign-out")
        assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
        session = cookie.split("=", 1)[1].split(";")[0]
        client.cookies.set("vade", session)
        assert (await client.get("/")).status_code == 303, "the session is over, not only forgotten"


async def test_over_https_the_cookie_is_this_hosts_alone(served: Served) -> None:
    transport = httpx.ASGITransport(served.asgi)
    base = "https://localhost"
    headers = {"Origin": base, "Sec-Fetch-Site": "same-origin"}
    async with httpx.AsyncClient(transport=transport, base_url=base, headers=headers) as client:
        signed = await client.post("/sign-in", data={"key": await served.key()})
        cookie = signed.headers["set-cookie"]
        assert cookie.startswith("__Host-vade=")
        assert "Secure" in cookie
        assert "Domain" not in cookie
        assert (await client.get("/")).status_code == 200


async def test_a_wrong_key_waits_and_another_site_signs_nobody_in(served: Served) -> None:
    key = await served.key()
    async with browser(served) as client:
        wrong = await client.post("/sign-in", data={"key": key[:-3] + "abc"})
        assert wrong.status_code == 401
        assert "set-cookie" not in wrong.headers
        assert key[:-3] not in wrong.text
    for other in (
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {},
    ):
        async with served.client(None, other) as client:
            assert (await client.post("/sign-in", data={"key": key})).status_code == 403
    # What a browser says of a form on a page that tells no referrer.
    async with served.client(None, {"Origin": "null", "Sec-Fetch-Site": "same-origin"}) as client:
        assert (await client.post("/sign-in", data={"key": key})).status_code == 303


def test_failures_make_the_next_wait_longer_until_none_is_taken() -> None:
    attempts = Attempts(first_seconds=0.25, most=4, forget=60)
    assert [attempts.fail("a", 0.0) for _ in range(4)] == [0.25, 0.5, 1.0, 2.0]
    with pytest.raises(TooMany):
        attempts.check("a", 1.0)
    attempts.check("b", 1.0)
    attempts.check("a", 61.0)
    attempts.clear("a")
    attempts.check("a", 1.0)


async def test_a_session_begets_no_session(served: Served) -> None:
    async with browser(served, await served.key()) as client:
        session = client.cookies["vade"]
    async with browser(served) as client:
        assert (await client.post("/sign-in", data={"key": session})).status_code == 401


async def test_choices_go_back_only_to_our_own_pages(served: Served) -> None:
    async with browser(served) as client:
        for place in ("https://evil.example/", "//evil.example", "/\\evil.example", "x", ""):
            answer = await client.post("/preferences", data={"language": "pt", "next": place})
            assert answer.headers["location"] == "/"
        answer = await client.post("/preferences", data={"theme": "dark", "next": "/sign-in?a=1"})
        assert answer.headers["location"] == "/sign-in?a=1"
        shown = (await client.get("/sign-in")).text
        assert '<html lang="pt" data-theme="dark">' in shown
        await client.post("/preferences", data={"theme": "<x>", "language": "xx"})
        assert '<html lang="pt" data-theme="dark">' in (await client.get("/sign-in")).text


# ---- languages


def test_every_text_is_there_in_every_language_with_the_same_places() -> None:
    places = re.compile(r"\{(\w+)\}")
    english = language("en").texts
    for code in NAMES:
        own = language(code).texts
        assert own.keys() == english.keys(), code
        for key, text in own.items():
            assert text.strip(), (code, key)
            assert sorted(places.findall(text)) == sorted(places.findall(english[key])), (code, key)


def test_every_text_that_a_page_names_is_there() -> None:
    texts = language("en").texts
    named: set[str] = set()
    for path in (WEB / "templates").rglob("*.html"):
        for function, key in re.findall(r"\b([tn])\('([\w. ]+)'[,)]", path.read_text("utf-8")):
            named |= {key} if function == "t" else {f"{key}.one", f"{key}.many"}
    assert len(named) > 150
    assert named - texts.keys() == set()


def test_every_value_of_the_system_that_a_page_names_has_a_name() -> None:
    texts = language("en").texts
    groups: dict[str, Iterable[str]] = {
        "state": [state.value for state in State],
        "kind": KINDS,
        "confidence": get_args(Confidence),
        "memory.source": get_args(SourceKind),
        "memory.state": ("held", "archived"),
        "memory.kept": get_args(Outcome),
        "signal": MemorySignals.__dataclass_fields__,
        "support.name": get_args(Support),
        "inspect.kind": ("search", "ask"),
        "theme": THEMES,
        "status.kind": ("chunks", "words", "memories", "turns"),
        "status.build": OPEN,
        "prompt": ("system", "sources", "memories", "question", "history", "answer"),
        "status": ("waiting", "working", "dead", "documents", "revisions", "chunks"),
    }
    for group, names in groups.items():
        for name in names:
            assert f"{group}.{name}" in texts


@pytest.mark.parametrize(
    ("cookie", "accepted", "code"),
    [
        ("", "", "en"),
        ("", "de, pt-BR;q=0.8, en;q=0.5", "pt"),
        ("", "en;q=0.1, es-AR;q=0.2", "es"),
        ("es", "pt", "es"),
        ("xx", "pt", "pt"),
        ("", "pt;q=x", "en"),
    ],
)
def test_the_language_is_the_chosen_one_or_the_best_liked(
    cookie: str, accepted: str, code: str
) -> None:
    assert chosen({"language": cookie} if cookie else {}, accepted).code == code


async def test_the_pages_speak_the_readers_language(served: Served) -> None:
    key = await served.key()
    for code, words in (("pt-BR", "Perguntar"), ("es", "Preguntar"), ("en", "Ask")):
        async with browser(served, key, code) as client:
            assert f">{words}</a>" in (await client.get("/")).text


def test_every_kind_of_error_that_has_words_is_one() -> None:
    kinds = vars(errors).values()
    codes = {kind.code for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception)}
    named = {key.removeprefix("problem.") for key in language("pt").texts if "problem." in key}
    assert len(named) > 15
    assert named <= codes


async def test_an_error_speaks_the_readers_language(served: Served) -> None:
    key = await served.key()
    missing = "/c/01890000-0000-7000-8000-000000000000"
    for code, words in (
        ("pt-BR", "Essa conversa não está entre as suas."),
        ("es", "Esa conversación no está entre las tuyas."),
        ("en", "no conversation 01890000"),
    ):
        async with browser(served, key, code) as client:
            answer = await client.get(missing)
        assert answer.status_code == 404
        assert words in answer.text
        assert "<code>conversation-not-found</code>" in answer.text
    async with browser(served, key, "pt-BR") as client:  # no words of its own: the English line
        answer = await client.post("/ask", data={"question": " "})
        assert "this is no question" in answer.text


# ---- what may run


def test_no_page_has_a_script_or_a_style_of_its_own() -> None:
    for path in (WEB / "templates").rglob("*.html"):
        text = path.read_text("utf-8")
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), path
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe\b", text), path
        assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", text), path


async def test_files_have_their_hash_in_the_address(served: Served) -> None:
    async with browser(served) as client:
        text = (await client.get("/sign-in")).text
        found = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
        assert {Path(name).suffix for name in found} == {".css", ".js", ".svg"}
        for name in found:
            answer = await client.get(name)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
        assert (await client.get("/static/0000000000000000/app.css")).status_code == 404
        digest = found[0].split("/")[2]
        assert (await client.get(f"/static/{digest}/htmx.LICENSE")).status_code == 404
        assert (await client.get(f"/static/{digest}/..%2f..%2fsite.py")).status_code == 404


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("**bold** and `code`", "<strong>bold</strong> and <code>code</code>"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("<b onclick=x>b</b>", "&lt;b onclick=x&gt;b&lt;/b&gt;"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](data:text/html,hi)", "[x](data:text/html,hi)"),
        ("[x](/memory/erase)", "x"),
        ("[x](//evil.example/a)", "x"),
        (
            "[x](https://a.example/b)",
            ('<a href="https://a.example/b" rel="noopener noreferrer nofollow">x</a>'
            '<span class="host"> (a.example)</span>'),
        ),
        (
            "![pixel](https://a.example/p.png)",
            ('<a href="https://a.example/p.png" rel="noopener noreferrer nofollow">pixel</a>'
            '<span class="host"> (a.example)</span>'),
        ),
        ("![p](data:image/png;base64,AA)", "p"),
        ("# Title", "Title"),
        ("- one", "<ul>\n<li>one</li>\n</ul>"),
        ("[\u202egro.live](https://a.example)",
         ('<a href="https://a.example" rel="noopener noreferrer nofollow">gro.live</a>'
         '<span class="host"> (a.example)</span>')),
    ],
)  # fmt: skip
def test_markdown_becomes_inert(text: str, shown: str) -> None:
    """SE-07: nothing of an answer acts, and pictures elsewhere are links that name their host."""
    assert str(marked_up(text)) == shown


# ---- asking


async def test_an_answer_streams_as_parts_of_the_page(served: Served) -> None:
    key = await served.key()
    await put(served, key)
    asked = {"question": "Which cameras are allowed in Hall Norte?"}
    async with browser(served, key) as client:
        answer = await client.post("/ask", data=asked, headers={"Accept": "text/event-stream"})
        events = [(name, json.loads(data)) for name, data in events_of(answer.text)]
        names = [name for name, _ in events]
        assert names[0] == "stage"
        assert events[0][1]["text"].startswith("Reading ")
        assert "sentence" in names
        assert names[-1] == "done"
        assert names.count("done") == 1
        done = events[-1][1]
        kept = await client.get(done["url"])
    said = [data["html"] for name, data in events if name == "sentence"]
    assert "200 mm" in said[0]
    for page in (done["html"], kept.text):
        assert "200 mm are allowed in Hall Norte" in page
        assert 'class="said supported"' in page
        assert re.search(r'href="/sources/[0-9a-f-]+/passage\?chunk=', page)
        assert "Cameras" in page
    assert said[0].strip() in kept.text, "what was streamed stands there when it is loaded again"


async def test_without_a_script_the_answer_is_a_page(served: Served) -> None:
    key = await served.key()
    await put(served, key)
    async with browser(served, key) as client:
        answer = await client.post("/ask", data={"question": "Which cameras are allowed?"})
        assert answer.status_code == 303
        place = answer.headers["location"]
        page = (await client.get(place)).text
        assert "200 mm" in page
        temporary = await client.post(
            "/ask", data={"question": "Which cameras are allowed?", "temporary": "1"}
        )
        assert (temporary.status_code, "200 mm" in temporary.text) == (200, True)
        assert 'class="asking temporary"' in temporary.text
    conversations = await served.service.app.talking.list(
        scope=Scope.for_principal("default", "user:reader", frozenset())
    )
    assert len(conversations) == 1, "nothing is kept of the temporary one"


async def test_a_citation_opens_its_passage_in_its_document(served: Served) -> None:
    """CI-01: the chip leads to the very words, live and after reload."""
    key = await served.key()
    await put(served, key, uri="other.md", text="# Other\n\nBags of 20 litres are allowed.\n")
    await put(served, key)
    async with browser(served, key) as client:
        answer = await client.post("/ask", data={"question": "Which cameras are allowed?"})
        page = (await client.get(answer.headers["location"])).text
        link = html.unescape(re.findall(r'class="chip" href="([^"]+)"', page)[0])
        shown = (await client.get(link)).text
        part = (await client.get(link, headers={"HX-Request": "true"})).text
    for text in (shown, part):
        marked = re.search(r'<mark id="cited">([^<]+)</mark>', text)
        assert marked
        assert marked[1] == "Cameras with a lens of at most 200 mm are allowed in Hall Norte."
    assert "<html" in shown
    assert "<html" not in part


async def test_a_passage_that_is_gone_is_said_to_be_gone(served: Served) -> None:
    key = await served.key()
    await put(served, key)
    async with browser(served, key) as client:
        answer = await client.post("/ask", data={"question": "Which cameras are allowed?"})
        place = answer.headers["location"]
        await put(served, key, text="# Cameras\n\nNo camera is allowed.\n")
        page = (await client.get(place)).text
        assert "chip gone" in page
        link = html.unescape(re.findall(r'class="chip gone" href="([^"]+)"', page)[0])
        shown = (await client.get(link)).text
        assert "no longer in force" in shown
        assert "<mark" not in shown


async def test_what_is_not_known_is_a_card_with_the_nearest_passages(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel(["I don't know."])
    bench = await make_bench(
        pool, database_url, tmp_path / "blobs", tokens=60, language_model=model
    )
    served = serve_bench(bench, tmp_path)
    key = await served.key()
    await put(served, key)
    # Quotations stand in only for a model that failed; this one says that it does not know.
    async with browser(served, key) as client:
        answer = await client.post("/ask", data={"question": "What does a zebra weigh?"})
        page = (await client.get(answer.headers["location"])).text
    assert "unknown-card" in page
    assert "The nearest passages" in page
    assert "Searched for:" in page
    assert "data-differently" in page
    assert "/passage?chunk=" in page


async def test_support_is_told_in_words(pool: Pool, database_url: str, tmp_path: Path) -> None:
    said = (
        "Cameras with a lens of at most 200 mm are allowed in Hall Norte [1].\n"
        "Elephants are welcome in every hall of the moon on Sundays [1]."
    )
    bench = await make_bench(
        pool, database_url, tmp_path / "blobs", tokens=60, language_model=ScriptedModel([said])
    )
    parts = replace(bench.app.answer_parts, show_unsupported=True)
    bench = replace(bench, app=replace(bench.app, answer_parts=parts))
    served = serve_bench(bench, tmp_path)
    key = await served.key()
    await put(served, key, text=f"{RULES}\n# {HOSTILE}\n\nLockers are free. {HOSTILE}\n")
    async with browser(served, key) as client:
        answer = await client.post("/ask", data={"question": "Which cameras are allowed?"})
        page = (await client.get(answer.headers["location"])).text
    assert 'class="said supported"' in page
    assert 'class="said unsupported"' in page
    assert "no source says this" in page


async def test_conversations_are_found_renamed_and_deleted(served: Served) -> None:
    key = await served.key()
    await put(served, key)
    async with browser(served, key) as client:
        first = await client.post("/ask", data={"question": "Which cameras are allowed?"})
        await client.post("/ask", data={"question": "Where is step-free access?"})
        place = first.headers["location"].removesuffix("#end")
        found = (await client.get("/", params={"q": "CAMERAS"})).text
        assert place in found
        assert "step-free" not in found
        renamed = await client.post(f"{place}/rename", data={"title": f"  My {HOSTILE}  rules "})
        assert renamed.status_code == 303
        page = (await client.get(place)).text
        assert "My &lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "<script>alert" not in page
        assert (await client.post(f"{place}/rename", data={"title": " "})).status_code == 400
        gone = await client.post(f"{place}/delete")
        assert "Complete: nothing is left" in gone.text
        assert (await client.get(place)).status_code == 404
    identity = ConversationId(UUID(place.removeprefix("/c/")))
    scope = Scope.for_principal("default", "user:reader", frozenset())
    with pytest.raises(ConversationNotFound):
        await served.service.app.talking.rename(identity, "x", scope=scope)


async def test_only_its_owner_renames_a_conversation(served: Served) -> None:
    own, other = await served.key(), await served.key("user:colleague")
    await put(served, own)
    async with browser(served, own) as client:
        answer = await client.post("/ask", data={"question": "Which cameras are allowed?"})
        place = answer.headers["location"].removesuffix("#end")
    missing = "/c/01890000-0000-7000-8000-000000000000"
    async with browser(served, other) as client:
        foreign = await client.post(f"{place}/rename", data={"title": "mine"})
        unknown = await client.post(f"{missing}/rename", data={"title": "mine"})
        assert foreign.status_code == unknown.status_code == 404
    async with browser(served, own) as client:
        assert ">mine<" not in (await client.get(place)).text


# ---- sources


async def test_files_come_in_are_listed_read_and_deleted_with_a_receipt(served: Served) -> None:
    key = await served.key()
    name = f"{HOSTILE}.md".replace("/", "_")
    async with browser(served, key) as client:
        sent = await client.post("/sources", files=[("file", (name, RULES.encode()))])
        assert sent.status_code == 303
        listed = (await client.get("/sources")).text
        assert "being read" in listed
        assert 'hx-trigger="load' in listed
        assert "<script>alert" not in listed
        assert "<img src=x" not in listed
        document = (await client.get("/api/v1/documents")).json()["documents"][0]
    await served.bench.ingest()
    await put(served, key, uri="b.md", text=f"# {HOSTILE}\n\nSector C has step-free access.\n")
    async with browser(served, key) as client:
        page = (await client.get("/sources", params={"state": "ready"})).text
        assert "b.md" in page
        assert "&lt;script&gt;" in page
        assert "<script>alert" not in page
        nothing = (await client.get("/sources", params={"q": "zebra"})).text
        assert "No document fits" in nothing
        every = (await client.get("/api/v1/documents")).json()["documents"]
        one = next(d for d in every if d["uri"] == "b.md")
        shown = (await client.get(f"/sources/{one['id']}")).text
        assert "Sector C has step-free access." in shown
        assert "Chunk 1" in shown
        assert "<script>alert" not in shown
        before = (await client.get(f"/sources/{one['id']}/delete")).text
        assert "This will go" in before
        receipt = await client.post(f"/sources/{one['id']}/delete")
        assert "Complete: nothing is left" in receipt.text
        assert (await client.get(f"/sources/{one['id']}")).status_code == 404
        row = await client.get(f"/sources/{document['id']}/row", headers={"HX-Request": "true"})
        assert row.text.lstrip().startswith("<tr")


async def test_the_list_goes_on_page_by_page_under_its_filters(served: Served) -> None:
    key = await served.key()
    for number in range(52):
        await served.bench.accept(source(f"a{number:02}.md", f"Rule {number}."))
    async with browser(served, key) as client:
        first = (await client.get("/sources", params={"collection": "default"})).text
        assert first.count("/row") == 50
        link = html.unescape(re.findall(r'href="(/sources\?[^"]*after=[^"]*)"', first)[0])
        assert "collection=default" in link
        second = (await client.get(link)).text
        assert second.count("/row") == 2


async def test_a_page_of_a_pdf_is_painted_with_the_cited_words_marked(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    parser = ChildParser()
    try:
        bench = await make_bench(pool, database_url, tmp_path / "blobs", parser=parser, tokens=60)
        served = serve_bench(bench, tmp_path)
        key = await served.key()
        original = (
            Path(__file__).parents[2]
            / "examples/boxoffice/documents/venues/teatro-do-porto-regras-2026.pdf"
        ).read_bytes()
        async with browser(served, key) as client:
            data = {"wait": "true"}
            done = await client.post(
                "/api/v1/uploads", files=[("file", ("rules.pdf", original))], data=data
            )
            document = done.json()["documents"][0]["id"]
            text = (await client.get(f"/api/v1/documents/{document}/text")).json()["text"]
            words = "o tamanho máximo de bolsa no Teatro do Porto é de 30 x 25 x 15 cm"
            start = text.index(words)
            place = f"/sources/{document}/pages/1.png"
            plain = await client.get(place)
            marked = await client.get(f"{place}?start={start}&end={start + len(words)}")
            assert plain.headers["content-type"] == marked.headers["content-type"] == "image/png"
            assert plain.content.startswith(b"\x89PNG")
            assert _yellow(plain.content) == 0
            # One line of 66 letters at 1.6 pixels a point: a box of about 640 x 20 pixels.
            assert 3_000 < _yellow(marked.content) < 20_000
            assert (await client.get(f"/sources/{document}/pages/99.png")).status_code >= 400
            assert (await client.get(f"/sources/{document}/pages/0.png")).status_code >= 400
        async with browser(served, await served.key("user:x", tenant="other")) as client:
            assert (await client.get(place)).status_code == 404
    finally:
        await parser.aclose()


def _yellow(png: bytes) -> int:
    """Count the pixels that are the marker's colour."""
    width, height = struct.unpack(">II", png[16:24])
    at, data = 33, b""
    while at < len(png):
        length = struct.unpack(">I", png[at : at + 4])[0]
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + 3 * width)[:, 1:]
    pixels = rows.reshape(height, width, 3)
    return int((pixels == (255, 236, 130)).all(axis=2).sum())


# ---- memory


async def test_memories_wait_are_kept_changed_and_forgotten(served: Served) -> None:
    key = await served.key()
    async with served.client(key) as client:
        waiting = await client.post(
            "/api/v1/memories", json={"text": f"I like jazz. {HOSTILE}", "client": HOSTILE}
        )
        pending = waiting.json()["memory"]["id"]
    async with browser(served, key) as client:
        await client.post("/memory", data={"text": "I use a wheelchair."})
        page = (await client.get("/memory")).text
        assert "<script>alert" not in page
        assert page.index("Waiting for your word") < page.index("<bdi>I use a wheelchair.")
        assert "says of you, since" in page
        kept = await client.post(f"/memory/{pending}/edit", data={"text": "I like old jazz."})
        assert kept.status_code == 303
        page = (await client.get("/memory")).text
        assert "I like old jazz." in page
        assert "Waiting for your word" not in page
        found = (await client.get("/api/v1/memories")).json()["memories"]
        chair = next(m["id"] for m in found if "wheelchair" in m["text"])
        await client.post(f"/memory/{chair}/pin", data={"pinned": "1"})
        assert ">pinned<" in (await client.get("/memory")).text
        await client.post(f"/memory/{chair}/forget")
        assert "wheelchair." not in (await client.get("/memory")).text.replace(
            'placeholder="I use a wheelchair."', ""
        )


async def test_what_was_replaced_is_folded_under_what_is_so_now(served: Served) -> None:
    key = await served.key()
    async with browser(served, key) as client:
        await client.post("/memory", data={"text": "I live in Lisbon."})
        await client.post("/memory", data={"text": "I live in Porto."})
        page = (await client.get("/memory")).text
    assert "1 earlier version" in page
    assert page.index("I live in Porto.") < page.index("I live in Lisbon.")


async def test_a_statement_of_oneself_is_offered_in_its_own_words(served: Served) -> None:
    key = await served.key()
    await put(served, key)
    asked = {"question": "I live in Porto. Which cameras are allowed?"}
    async with browser(served, key) as client:
        answer = await client.post("/ask", data=asked)
        page = (await client.get(answer.headers["location"])).text
        assert "Remember this?" in page
        assert 'name="text" value="I live in Porto."' in page
        kept = await client.post(
            "/memory", data={"text": "I live in Porto."}, headers={"HX-Request": "true"}
        )
        assert "Remembered:" in kept.text
    async with browser(served, await served.key("user:two", "read")) as client:
        answer = await client.post("/ask", data=asked)
        page = (await client.get(answer.headers["location"])).text
        assert "Remember this?" not in page, "without the permission there is no offer"


async def test_who_types_themselves_is_erased_with_a_receipt(served: Served) -> None:
    key = await served.key()
    async with browser(served, key) as client:
        await client.post("/memory", data={"text": "I use a wheelchair."})
        before = (await client.get("/memory/erase")).text
        assert "postgres.memory" in before
        wrong = await client.post("/memory/erase", data={"confirm": "user:other"})
        assert wrong.status_code == 400
        assert "Nothing was erased" in wrong.text
        done = await client.post("/memory/erase", data={"confirm": "user:reader"})
        assert done.status_code == 200
        assert "You were forgotten" in done.text
        assert "postgres.memory" in done.text
        assert (await client.get("/memory")).status_code == 303


# ---- who may


async def test_a_page_tells_errors_as_a_page(served: Served) -> None:
    async with browser(served, await served.key("user:two", "read")) as client:
        answer = await client.get("/memory")
        assert answer.status_code == 403
        assert answer.headers["content-type"].startswith("text/html")
        assert "forbidden" in answer.text
        part = await client.get("/memory", headers={"HX-Request": "true"})
        assert "<html" not in part.text
        nowhere = await client.get("/nowhere")
        assert (nowhere.status_code, "<html" in nowhere.text) == (404, True)
        api = await client.get("/api/v1/nowhere", headers={"Accept": "application/json"})
        assert api.headers["content-type"] == "application/problem+json"
        missing = await client.get("/c/01890000-0000-7000-8000-000000000000")
        assert missing.status_code == 404
        assert missing.headers["content-type"].startswith("text/html")
        assert (await client.post("/ask", data={"question": " "})).status_code == 400
        assert (await client.get("/c/not-an-id")).status_code == 400
        assert (await client.post("/sources", files=[("file", ("a.md", b"x"))])).status_code == 403


async def test_every_page_needs_a_credential_but_the_door() -> None:
    open_to_all = {
        (route.method, route.path) for route in ROUTES if route.page and route.permission is None
    }
    assert open_to_all == {
        ("GET", "/sign-in"), ("POST", "/sign-in"), ("POST", "/sign-out"), ("POST", "/preferences"),
        ("GET", "/sign-in/issuer"), ("GET", "/sign-in/back"),
    }  # fmt: skip


async def test_nobody_changes_anything_from_another_site(served: Served) -> None:
    key = await served.key()
    async with browser(served, key) as client:
        cookies = dict(client.cookies)
    evil = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    for route in ROUTES:
        if route.method != "POST" or not route.page:
            continue
        path = re.sub(r"\{\w+\}", "01890000-0000-7000-8000-000000000000", route.path)
        async with served.client(None, evil) as client:
            client.cookies.update(cookies)
            assert (await client.post(path)).status_code == 403, path


# ---- operators


async def test_operators_see_why_and_how_it_is_but_not_what_others_asked(served: Served) -> None:
    reader, boss = await served.key(), await served.key("user:boss", "read", "admin")
    await put(served, reader)
    async with browser(served, reader) as client:
        asked = {"question": "Which cameras are allowed in Hall Norte?"}
        answer = await client.post("/ask", data=asked)
        page = (await client.get(answer.headers["location"])).text
        assert "/inspect/" not in page
        for path in ("/inspect", "/status", "/evaluate"):
            assert (await client.get(path)).status_code == 403
        turns = await client.get(f"/api/v1{_conversation(answer)}/turns")
        foreign = turns.json()["turns"][-1]["trace_id"]
        assert (await client.get(f"/inspect/{foreign}")).status_code == 403
    async with browser(served, boss) as client:
        answer = await client.post("/ask", data={"question": "Where is step-free access?"})
        page = (await client.get(answer.headers["location"])).text
        own = re.findall(r'href="(/inspect/[0-9a-f-]+)"', page)[0]
        shown = (await client.get(own)).text
        assert "Where is step-free access?" in shown
        assert shown.count('<rect class="bar"') > 5
        assert "rules.md" in shown
        replayed = await client.post(f"{own}/replay", data={"fusion": "rrf", "rerank": "false"})
        assert "search.fusion" in replayed.text
        assert "Where is step-free access?" in replayed.text
        assert "another setting" in replayed.text or "stands where it stood" in replayed.text
        again = (await client.post(f"{own}/replay", data={"fusion": "", "rerank": ""})).text
        assert "the same" in again
        assert "stands where it stood" in again
        assert (await client.post(f"{own}/replay", data={"fusion": "none"})).status_code == 400
        hidden = (await client.post(f"/inspect/{foreign}/replay", data={})).text
        assert "Hall Norte" not in hidden
        other = (await client.get(f"/inspect/{foreign}")).text
        listed = (await client.get("/inspect")).text
        for text in (other, listed):
            assert "Hall Norte" not in text
            assert "are not shown" in text
        status = (await client.get("/status")).text
        assert "answer.write" in status
        assert "Nothing waits." in status
        assert re.search(r"<dt>Answers</dt><dd>2</dd>", status)
        assert re.search(r"<dt>Documents</dt><dd>1</dd>", status)
        assert "Nothing was evaluated yet" in (await client.get("/evaluate")).text
    async with browser(served, await served.key("user:boss", "admin", tenant="other")) as client:
        assert (await client.get(f"/inspect/{foreign}")).status_code == 404
        assert re.search(r"<dt>Documents</dt><dd>0</dd>", (await client.get("/status")).text)
        assert "Nothing was asked yet" in (await client.get("/inspect")).text


def _conversation(answer: httpx.Response) -> str:
    return answer.headers["location"].replace("/c/", "/conversations/").removesuffix("#end")


async def test_the_last_days_times_and_shares_are_counted(served: Served) -> None:
    """p50 and p95 as PostgreSQL's percentile_cont gives them: of 10, 20 and 30 they are 20, 29."""
    bench = served.bench
    records = [
        {"timings_ms": {"write": 10 * number}, "searches": [
            {"timings_ms": {"dense": number}, "abstain": {"confidence": 0.2 * number}}
        ], "abstained": number == 1}
        for number in (1, 2, 3)
    ]  # fmt: skip
    for record in records:
        bench.sql(
            "INSERT INTO vademecum.trace (tenant, id, principal, kind, documents, record)"
            " VALUES ('default', gen_random_uuid(), 'user:x', 'ask', '{}', %s::jsonb)",
            json.dumps(record),
        )
    bench.sql(
        "INSERT INTO vademecum.trace (tenant, id, principal, kind, documents, record, created_at)"
        " VALUES ('default', gen_random_uuid(), 'user:x', 'ask', '{}', %s::jsonb,"
        " now() - interval '2 days')",
        json.dumps(records[0]),
    )
    overview = Overview(pool=bench.app.catalogue.pool)
    since = datetime.now(UTC) - timedelta(days=1)
    times = {time.stage: time for time in await overview.stage_times(OPERATOR, since)}
    assert (times["answer.write"].count, times["answer.write"].middle) == (3, 20.0)
    assert times["answer.write"].slow == pytest.approx(29.0)
    assert times["search.dense"].middle == 2.0
    shares = await overview.shares(OPERATOR, since, 0.5)
    assert (shares.asked, shares.refused, shares.searches, shares.low) == (3, 1, 3, 2)
    stranger = Scope.for_principal("default", "user:y", frozenset())
    assert await overview.stage_times(stranger, since) == []
