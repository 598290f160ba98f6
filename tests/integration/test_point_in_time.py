"""Is an answer that of its day, does it say so, and are sources that disagree shown?"""

from datetime import date, timedelta
from pathlib import Path

import pytest
from support import OPERATOR, TODAY, Bench, make_bench, source

from vademecum.interface import answer_json
from vademecum.postgres.pool import Pool

ASKED = "What lens may a camera have in the stadium?"
RULE = "In the stadium a camera may have a lens of up to {mm} mm."


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


async def test_a_past_day_is_answered_from_its_revision_with_its_metadata(bench: Bench) -> None:
    last, this = date(TODAY.year - 1, 1, 1), date(TODAY.year, 1, 1)
    for day, mm in ((last, 100), (this, 200)):
        rule = RULE.format(mm=mm)
        await bench.ingest(
            source("rules", rule, metadata={"effective_from": day.isoformat(), "season": day.year})
        )
    now = await bench.app.ask(ASKED, scope=OPERATOR)
    then = await bench.app.ask(ASKED, scope=OPERATOR, as_of=this - timedelta(days=1))
    assert ("200 mm" in now.text, "100 mm" in then.text) == (True, True)
    assert ("100 mm" in now.text, "200 mm" in then.text) == (False, False)
    assert (now.as_of, then.as_of) == (None, this - timedelta(days=1))
    assert answer_json(then)["as_of"] == this - timedelta(days=1)
    old, new = then.passages[0].source, now.passages[0].source
    assert (old.revision, new.revision) == (1, 2)
    assert (old.metadata["effective_from"], new.metadata["effective_from"]) == (
        last.isoformat(),
        this.isoformat(),
    )
    assert (old.since.date(), new.since.date()) == (last, this)
    assert (now.conflicts, then.conflicts) == ((), ()), "one document does not contradict itself"


async def test_two_documents_that_disagree_are_shown_with_their_days(bench: Bench) -> None:
    await bench.ingest(
        source("rules", RULE.format(mm=200), metadata={"effective_from": "2026-01-01"}),
        source("faq", RULE.format(mm=100), metadata={"effective_from": "2024-01-01"}),
        source("bags", "In the stadium a bag may have a side of up to 30 cm."),
    )
    answer = await bench.app.ask(ASKED, scope=OPERATOR)
    told = {(answer.citations[0].uri, c.other.uri, c.kind) for c in answer.conflicts}
    both = {("rules", "faq", "number"), ("faq", "rules", "number")}
    quoted = {citation.uri for citation in answer.citations}
    if quoted == {"rules", "faq"}:
        assert [s.text.count("mm") for s in answer.sentences] == [1, 1], "both stand in the answer"
    assert told & both
    days = {c.since.date().isoformat() for c in answer.conflicts}
    days |= {c.other_since.date().isoformat() for c in answer.conflicts}
    assert days == {"2026-01-01", "2024-01-01"}
    written = answer_json(answer)["conflicts"][0]
    assert (written["kind"], "mm" in written["other"]["quote"]) == ("number", True)
    trace = await bench.app.catalogue.records.trace(OPERATOR, answer.trace_id)
    assert trace.record["conflicts"][0]["chunk_id"] == str(answer.conflicts[0].other.chunk_id)
    assert "mm" not in str(trace.record["conflicts"])


async def test_what_may_not_be_seen_contradicts_nothing(bench: Bench) -> None:
    await bench.ingest(
        source("rules", RULE.format(mm=200)),
        source("draft", RULE.format(mm=100), access=["group:board"]),
    )
    reader = OPERATOR.as_person()
    answer = await bench.app.ask(ASKED, scope=reader)
    assert "200 mm" in answer.text
    assert answer.conflicts == ()
