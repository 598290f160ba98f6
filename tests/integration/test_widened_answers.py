"""Does an answer use what a model adds to its search, and count it?"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from support import OPERATOR, Bench, make_bench, source

from vademecum.model.query import Queries
from vademecum.opening import DEFAULT_SEARCH
from vademecum.ports.language_model import Prompt
from vademecum.postgres.pool import Pool
from vademecum.testing.language_models import ModelFault, ScriptedModel, provider_away

ASKED = "Compare bags at the arena with the gates of the stadium."
MADE = ["Where do bags stay at the arena?", "When do the gates of the stadium open?"]
PARTS = "Where do bags stay at the arena, and when do the gates of the stadium open?"
ARENA, STADIUM = (
    "Bags stay in the cloakroom of the arena.",
    "The gates of the stadium open at nine.",
)


class Writer(ScriptedModel):
    """Adds to a query what it was made with, and answers every question with both sentences."""

    def __init__(self, added: dict[str, Any], faults: dict[int, ModelFault] | None = None) -> None:
        super().__init__(self._write, faults=faults)
        self._added = json.dumps(added)

    def _write(self, prompt: Prompt) -> str:
        if "search engine" in prompt.system:
            return self._added
        return "I don't know."


async def bench_with(
    pool: Pool, database_url: str, folder: Path, how: Queries, model: ScriptedModel | None
) -> Bench:
    rules = replace(DEFAULT_SEARCH, queries=how)
    bench = await make_bench(pool, database_url, folder, language_model=model, search=rules)
    await bench.ingest(
        source("arena", ARENA, title="Arena"),
        source("stadium", STADIUM, title="Stadium"),
        source("other", "Tickets cost twenty dollars this season."),
    )
    return bench


async def record(bench: Bench, trace_id: Any) -> dict[str, Any]:
    trace = await bench.app.catalogue.records.trace(OPERATOR, trace_id)
    return dict(trace.record)


async def test_a_divided_question_is_searched_question_by_question(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    model = Writer({"questions": MADE})
    bench = await bench_with(pool, database_url, tmp_path, "decompose", model)
    answer = await bench.app.ask(ASKED, scope=OPERATOR)
    assert answer.searched == (ASKED, *MADE)
    assert {p.source.uri for p in answer.passages[:2]} == {"arena", "stadium"}
    assert len({p.source.chunk.id for p in answer.passages}) == len(answer.passages)
    told = await record(bench, answer.trace_id)
    assert [one["query"] for one in told["searches"]] == [ASKED, *MADE]
    assert told["versions"]["search.queries"] == "decompose"
    adding, writing = model.prompts
    words = [len(f"{p.system} {p.user}".split()) for p in (adding, writing)]
    assert answer.usage.prompt_tokens == sum(words), "what was added counts too"
    assert told["usage"]["prompt_tokens"] == sum(words)


async def test_where_the_writer_fails_the_questions_are_quoted_for(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    model = Writer({"questions": MADE}, faults={2: provider_away()})
    bench = await bench_with(pool, database_url, tmp_path, "decompose", model)
    answer = await bench.app.ask(ASKED, scope=OPERATOR)
    assert answer.mode == "extractive"
    assert [sentence.text for sentence in answer.sentences] == [ARENA, STADIUM]


async def test_without_a_model_a_search_falls_into_its_parts(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    bench = await bench_with(pool, database_url, tmp_path, "decompose", None)
    found = await bench.app.search(PARTS, scope=OPERATOR, k=2)
    assert {p.source.uri for p in found.retrieval.passages} == {"arena", "stadium"}
    answer = await bench.app.ask(PARTS, scope=OPERATOR)
    assert answer.degraded == ()
    assert {ARENA, STADIUM} <= {sentence.text for sentence in answer.sentences}


async def test_an_invented_passage_is_nowhere_in_the_answer_or_its_trace(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    invented = "The zeppelin of the arena carries every bag to its cloakroom."
    model = Writer({"passage": invented})
    bench = await bench_with(pool, database_url, tmp_path, "hyde", model)
    answer = await bench.app.ask("Where does a rucksack stay at the arena?", scope=OPERATOR)
    assert answer.passages[0].source.uri == "arena"
    assert answer.degraded == ()
    assert bench.tables_with("zeppelin") == []
    assert "zeppelin" not in model.prompts[1].user


async def test_a_replay_searches_for_the_wordings_of_before(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    model = Writer({"queries": ["Where do bags stay at the arena?"]})
    bench = await bench_with(pool, database_url, tmp_path, "multi", model)
    found = await bench.app.search("cloakroom in the arena", scope=OPERATOR)
    assert found.retrieval.fusion["queries"]["lists"] == 2
    asked = len(model.prompts)
    replay = await bench.app.replay(found.trace_id, scope=OPERATOR)
    assert replay.same
    assert len(model.prompts) == asked, "nobody was asked again"
    answer = await bench.app.ask("Which cloakroom is in the arena?", scope=OPERATOR)
    assert (await bench.app.replay(answer.trace_id, scope=OPERATOR)).searches[0].overlap == 1.0


async def test_several_parts_are_not_widened(pool: Pool, database_url: str, tmp_path: Path) -> None:
    model = Writer({"queries": ["Where do bags stay at the arena?"]})
    bench = await bench_with(pool, database_url, tmp_path, "multi", model)
    answer = await bench.app.ask(PARTS, scope=OPERATOR)
    assert len(model.prompts) == 1, "it wrote the answer"
    replay = await bench.app.replay(answer.trace_id, scope=OPERATOR)
    assert all(one.moved == () for one in replay.searches)


async def test_a_model_that_is_away_costs_an_answer_only_a_word(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    model = Writer({}, faults={1: provider_away(), 2: provider_away()})
    bench = await bench_with(pool, database_url, tmp_path, "multi", model)
    answer = await bench.app.ask("Where do bags stay at the arena?", scope=OPERATOR)
    assert answer.degraded == ("queries: provider-away", "language_model: provider-away")
    assert answer.sentences[0].text == ARENA
