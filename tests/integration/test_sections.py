"""Does the section of a small chunk answer in its place, always of the revision in force?"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import psycopg
import pytest
from answering import ask, number_of, numbered
from support import OPERATOR, TODAY, Bench, make_bench, source

from vademecum.model.document import MetadataValue, Source
from vademecum.model.ids import DocumentId
from vademecum.model.principal import Scope
from vademecum.opening import ReuseRules
from vademecum.ports.language_model import Prompt
from vademecum.postgres.pool import Pool
from vademecum.retrieve.sections import in_sections
from vademecum.server.web.views import chip, place_of
from vademecum.testing.language_models import ScriptedModel

FOUND = "Every visitor of the quokka gallery must show a paper lantern at the northern gate."
BESIDE = "Whoever has lost it may borrow another one for 4 days beside the cloakroom stairs."
LATER = "Whoever has lost it may borrow another one for 9 days beside the cloakroom stairs."
OTHER = "Soup with lentils and cumin is served in the western hall on Sundays until eight."
ASKED = "Must a visitor of the quokka gallery show a paper lantern at the northern gate?"


def rules(
    beside: str = BESIDE,
    *,
    access: Sequence[str] = ("tenant",),
    metadata: dict[str, MetadataValue] | None = None,
) -> Source:
    text = f"# Lanterns\n\n{FOUND}\n\n{beside}\n\n# Soup\n\n{OTHER}\n"
    made = source("rules.md", text, access=access, metadata=metadata)
    return replace(made, chunker="parent")


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


async def only(bench: Bench) -> DocumentId:
    [document] = await bench.documents.all(OPERATOR)
    return document.id


def saying(sentence: str, words: str) -> ScriptedModel:
    """A model that says a sentence and cites the source that holds some words."""
    return ScriptedModel(lambda prompt: f"{sentence} [{number_of(prompt, words)}]")


async def test_small_chunks_are_found_and_each_knows_its_section(bench: Bench) -> None:
    await bench.ingest(rules())
    document = await only(bench)
    text = await bench.documents.text(OPERATOR, document)
    chunks = await bench.documents.chunks(OPERATOR, document)
    assert [chunk.text.count("\n") for chunk in chunks] == [2, 0, 2], "headings are with their text"
    assert [chunk.text.splitlines()[-1] for chunk in chunks] == [FOUND, BESIDE, OTHER]
    whole = f"# Lanterns\n\n{FOUND}\n\n{BESIDE}"
    assert [text[slice(*chunk.section or ())] for chunk in chunks][:2] == [whole, whole]
    assert text[slice(*chunks[2].section or ())] == f"# Soup\n\n{OTHER}"
    found = await bench.found(ASKED)
    assert found[0] == f"# Lanterns\n\n{FOUND}", "a search gives the chunk itself"


async def test_a_generated_answer_may_cite_what_stands_beside_the_found_chunk(bench: Bench) -> None:
    await bench.ingest(rules())
    model = saying(BESIDE, "northern gate")
    asked = await ask(bench, model, ASKED)
    prompt: Prompt = model.prompts[0]
    holding = [text for text in numbered(prompt).values() if BESIDE in text]
    assert len(holding) == 1, "one section once, though both of its chunks were found"
    assert FOUND in holding[0]
    [citation] = asked.answer.citations
    assert (citation.quote, citation.support) == (BESIDE, "supported")
    text = await bench.documents.text(OPERATOR, citation.document_id)
    assert text[citation.start : citation.end] == BESIDE
    chunks = {c.id: c for c in await bench.documents.chunks(OPERATOR, citation.document_id)}
    assert FOUND in chunks[citation.chunk_id].text, "it names the chunk by which it was found"
    # As pages show it from the record: the same words.
    kept = await bench.documents.confirm(OPERATOR, [citation.chunk_id], None, sections=True)
    assert chip(place_of(citation), kept[citation.chunk_id]).quote == BESIDE


async def test_what_the_section_does_not_say_is_not_shown(bench: Bench) -> None:
    await bench.ingest(rules())
    asked = await ask(bench, saying(LATER, "northern gate"), ASKED)
    assert asked.answer.abstained
    asked = await ask(bench, saying(OTHER, "northern gate"), ASKED)
    assert asked.answer.abstained, "another section is another source"


async def test_an_extractive_answer_reads_sections_and_quotes_exactly(bench: Bench) -> None:
    await bench.ingest(rules())
    asked = await ask(bench, None, ASKED)
    assert asked.answer.citations[0].quote == FOUND
    places = [(p.source.chunk.start, p.source.chunk.end) for p in asked.answer.passages]
    assert len(places) == len(set(places)) == 2
    assert asked.answer.passages[0].source.chunk.text == f"# Lanterns\n\n{FOUND}\n\n{BESIDE}"
    assert [p.rank for p in asked.answer.passages] == [1, 2]
    trace = await bench.app.catalogue.records.trace(OPERATOR, asked.answer.trace_id)
    candidates = trace.record["searches"][0]["candidates"]
    assert len(candidates) == 3, "the trace tells which chunks were found"


async def test_a_revision_that_changes_replaces_chunks_and_sections_together(bench: Bench) -> None:
    await bench.ingest(rules())
    old = [c.id for c in await bench.documents.chunks(OPERATOR, await only(bench))]
    await bench.ingest(rules(LATER))
    model = saying(LATER, "northern gate")
    asked = await ask(bench, model, ASKED)
    assert asked.answer.citations[0].quote == LATER
    assert BESIDE not in model.prompts[0].user
    assert await bench.documents.confirm(OPERATOR, old, None, sections=True) == {}
    stored = bench.sql(
        "SELECT c.text, substr(r.text, c.section_start + 1, c.section_end - c.section_start)"
        " FROM vademecum.chunk c JOIN vademecum.revision r ON r.id = c.revision"
    )
    assert len(stored) == 6
    assert all(text in section for text, section in stored)
    # The first chunk's text is the same in both revisions, its section is not.
    lanterns = {section for text, section in stored if FOUND in text}
    assert len(lanterns) == 2


async def test_divided_without_sections_again_nothing_is_left_of_them(bench: Bench) -> None:
    await bench.ingest(rules())
    await bench.ingest(replace(rules(), chunker="structure"))
    chunks = await bench.documents.chunks(OPERATOR, await only(bench))
    assert [chunk.section for chunk in chunks] == [None] * 3
    asked = await ask(bench, saying(BESIDE, "northern gate"), ASKED)
    assert asked.answer.abstained, "the chunk that was cited does not say it"


async def test_what_was_replaced_between_search_and_reading_is_left_out(bench: Bench) -> None:
    await bench.ingest(rules())
    found = (await bench.app.search(ASKED, scope=OPERATOR, k=5)).retrieval
    await bench.ingest(rules(LATER))
    [read] = await in_sections(bench.documents, OPERATOR, [found], None, 5.0)
    assert found.passages
    assert read.passages == ()


async def test_a_past_day_reads_the_section_of_its_revision(bench: Bench) -> None:
    last, this = date(TODAY.year - 1, 1, 1), date(TODAY.year, 1, 1)
    for day, beside in ((last, BESIDE), (this, LATER)):
        await bench.ingest(rules(beside, metadata={"effective_from": day.isoformat()}))
    then = await bench.app.ask(ASKED, scope=OPERATOR, as_of=this - timedelta(days=1))
    now = await bench.app.ask(ASKED, scope=OPERATOR)
    assert BESIDE in then.passages[0].source.chunk.text
    assert LATER in now.passages[0].source.chunk.text


async def test_a_section_is_seen_by_whoever_sees_its_document(bench: Bench) -> None:
    await bench.ingest(rules(access=["group:keepers"]))
    keeper = Scope.for_principal("default", "user:k", frozenset({"group:keepers"}))
    visitor = Scope.for_principal("default", "user:v", frozenset())
    found = (await bench.app.search(ASKED, scope=keeper, k=5)).retrieval
    [mine] = await in_sections(bench.documents, keeper, [found], None, 5.0)
    [theirs] = await in_sections(bench.documents, visitor, [found], None, 5.0)
    [elsewhere] = await in_sections(bench.documents, Scope.for_operator("b"), [found], None, 5.0)
    assert BESIDE in mine.passages[0].source.chunk.text
    assert theirs.passages == elsewhere.passages == ()
    answer = await bench.app.ask(ASKED, scope=visitor)
    assert (answer.abstained, answer.passages) == (True, ())


async def test_an_answer_given_again_has_its_sections(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    reuse = ReuseRules(lasts=timedelta(hours=1), most=5, settings="")
    bench = await make_bench(pool, database_url, tmp_path, reuse=reuse)
    await bench.ingest(rules())
    person = Scope.for_principal("default", "user:v", frozenset({"tenant"}))
    first = await bench.app.ask(ASKED, scope=person)
    again = await bench.app.ask(ASKED, scope=person)
    assert again.given_before == first.trace_id
    assert [p.source.chunk for p in again.passages] == [p.source.chunk for p in first.passages]
    assert again.citations == first.citations


def test_a_chunk_outside_its_section_cannot_be_stored(bench: Bench) -> None:
    for start, end in ((1, 9), (0, 1), (None, 9), (0, None)):
        with pytest.raises(psycopg.errors.CheckViolation):
            bench.sql(
                "INSERT INTO vademecum.chunk (tenant, id, document, revision, ordinal,"
                " start_offset, end_offset, tokens, heading_path, language, text, context,"
                " text_hash, section_start, section_end) VALUES ('t', gen_random_uuid(),"
                " gen_random_uuid(), gen_random_uuid(), 0, 0, 5, 1, '{}', 'en', 'x', '', 'h',"
                " %s, %s)",
                start,
                end,
            )


async def test_a_semantic_document_is_read_as_any_other(bench: Bench) -> None:
    lines = " ".join([FOUND, FOUND.replace("paper", "silk"), OTHER, OTHER.replace("eight", "six")])
    given = replace(source("mixed.txt", lines), chunker="semantic")
    [result] = await bench.ingest(given)
    assert result.status == "ready"
    [again] = await bench.ingest(given)
    assert (again.status, again.embedded) == ("unchanged", 0)
    document = await only(bench)
    text = await bench.documents.text(OPERATOR, document)
    chunks = await bench.documents.chunks(OPERATOR, document)
    assert [text[chunk.start : chunk.end] for chunk in chunks] == [c.text for c in chunks]
    assert (await ask(bench, None, ASKED)).answer.citations[0].quote in text
