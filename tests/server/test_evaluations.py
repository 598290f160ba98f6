"""Are evaluations there for operators, over HTTP and as pages, and for nobody else?"""

import html
import json
import re
from typing import Any

from http_server import Served, put
from pages_client import browser

ASKED: dict[str, Any] = {
    "id": "cameras",
    "question": "Which cameras are allowed in Hall Norte?",
    "kind": "concept",
    "relevant": [{"document": "rules.md", "quote": "at most 200 mm"}],
    "expected": ["200 mm"],
}
NONE = {"id": "none", "question": "Zorblax quux?", "kind": "unanswerable", "relevant": []}


def form(**values: Any) -> dict[str, Any]:
    return {"name": "halls", "questions": [ASKED, NONE]} | values


async def test_an_operator_runs_lists_and_shows(served: Served) -> None:
    boss = await served.key("user:boss", "read", "write", "admin")
    await put(served, boss)
    async with served.client(boss) as client:
        answer = await client.post(
            "/api/v1/evaluations", json=form(gates={"mrr": 1.0, "refused": 1.0, "judged": 0.5})
        )
        assert answer.status_code == 201, answer.text
        made = answer.json()
        assert [(one["gate"], one["holds"]) for one in made["gates"]] == [
            ("mrr>=1", True), ("refused>=1", True), ("judged>=0.5", False),
        ]  # fmt: skip
        assert {one["question"] for one in made["results"]} == {"cameras", "none"}
        listed = (await client.get("/api/v1/evaluations")).json()["evaluations"]
        assert [one["id"] for one in listed] == [made["id"]]
        assert "results" not in listed[0]
        shown = (await client.get(f"/api/v1/evaluations/{made['id']}")).json()
        assert shown["results"] == made["results"]
        assert shown["refusal"]["chosen"]["threshold"] == 0.5
        assert "Hall Norte" not in json.dumps(shown)


async def test_what_is_wrong_with_a_golden_set_is_said(served: Served) -> None:
    async with served.client(await served.key("user:boss", "admin")) as client:
        for change, told in (
            ({"questions": [{**ASKED, "kind": "hard"}]}, "halls question 1: kind is 'hard'"),
            ({"questions": [ASKED]}, "document 'rules.md' is not there"),
            ({"gates": {"bleu": 0.5}, "questions": [NONE]}, "there is no metric 'bleu'"),
            ({"questions": []}, "questions is not valid"),
            ({"questions": [{**NONE, "id": "a\0"}]}, "id holds a character that is none"),
        ):
            answer = await client.post("/api/v1/evaluations", json=form(**change))
            assert answer.status_code == 400, answer.text
            assert told in answer.json()["message"]
        assert (await client.get("/api/v1/evaluations")).json() == {"evaluations": []}


async def test_who_is_no_operator_sees_and_runs_nothing(served: Served) -> None:
    async with served.client(await served.key()) as client:
        assert (await client.get("/api/v1/evaluations")).status_code == 403
        assert (await client.post("/api/v1/evaluations", json=form())).status_code == 403
    async with browser(served, await served.key()) as client:
        assert (await client.get("/evaluate")).status_code == 403


async def test_the_page_shows_runs_over_time_one_run_and_what_changed(served: Served) -> None:
    boss = await served.key("user:boss", "read", "write", "admin")
    await put(served, boss)
    async with browser(served, boss) as client:
        assert "Nothing was evaluated yet" in (await client.get("/evaluate")).text
        for questions in ([ASKED, NONE], [{**ASKED, "expected": ["300 mm"]}, NONE]):
            answer = await client.post("/api/v1/evaluations", json=form(questions=questions))
            assert answer.status_code == 201
        listed = (await client.get("/evaluate")).text
        newer, older = re.findall(r'href="(/evaluate/[0-9a-f-]{36})"', listed)
        assert listed.count('<svg class="chart"') == 4
        assert listed.count('<circle class="dot"') == 8
        shown = (await client.get(newer)).text
        assert "about a thing" in shown
        assert "without an answer" in shown
        assert 'class="chosen"' in shown
        trace = re.findall(r'href="(/inspect/[0-9a-f-]+)"', shown)[0]
        assert "rules.md" in (await client.get(trace)).text
        changed = (await client.get(newer, params={"against": older.rpartition("/")[2]})).text
        assert "relevance 1.00 → 0.00" in changed
        rows = re.findall(r'<th scope="row"><bdi>(cameras|none)</bdi>', changed)
        assert rows == ["cameras", "none"], "the question that changed stands first"
        for language, words in (("pt", "Perguntas"), ("es", "Preguntas")):
            async with browser(served, boss, language) as other:
                assert words in (await other.get(newer)).text


async def test_a_thumb_down_becomes_a_line_and_another_s_question_is_not_shown(
    served: Served,
) -> None:
    boss = await served.key("user:boss", "read", "write", "admin")
    reader = await served.key()
    await put(served, boss)
    for key, asked in ((reader, "Which zqsecret cameras?"), (boss, "Which cameras are allowed?")):
        async with served.client(key) as client:
            trace = (await client.post("/api/v1/search", json={"query": asked})).json()["trace_id"]
            word = {"trace_id": trace, "verdict": "down", "reason": "wrong", "note": "<b>no"}
            assert (await client.post("/api/v1/feedback", json=word)).status_code == 201
    async with browser(served, boss) as client:
        listed = (await client.get("/evaluate")).text
        assert "&lt;b&gt;no" in listed
        own, other = re.findall(r'href="(/evaluate/question/[0-9a-f-]+)"', listed)
        foreign = (await client.get(other)).text
        assert "zqsecret" not in foreign
        assert "is not shown" in foreign
        assert "Which cameras are allowed?" in (await client.get(own)).text
        sent = {"question": "Which lens?", "kind": "concept", "relevant": ["0", "99"],
                "expected": "200 mm\n\n", "confirmed": "1"}  # fmt: skip
        page = (await client.post(own, data=sent)).text
        line = json.loads(html.unescape(re.findall(r'<pre class="raw"[^>]*>(.*?)</pre>', page)[0]))
        assert (line["question"], line["expected"], line["confirmed"]) == (
            "Which lens?", ["200 mm"], True,
        )  # fmt: skip
        assert len(line["relevant"]) == 1
        run = await client.post("/api/v1/evaluations", json=form(questions=[line]))
        assert run.status_code == 201, run.text
        nothing = (await client.post(own, data={"question": "Parking?", "kind": "concept"})).text
        line = json.loads(
            html.unescape(re.findall(r'<pre class="raw"[^>]*>(.*?)</pre>', nothing)[0])
        )
        assert (line["kind"], line["relevant"], line["confirmed"]) == ("unanswerable", [], False)
