"""CASES section 8: faults of citations that users of such systems met, on real PostgreSQL.

The first part of each name is the row; the model is scripted, everything else is ours.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from answering import Asked, ask, number_of
from paper import Paper
from support import OPERATOR, Bench, make_bench, source

from vademecum.answer.cite import verify
from vademecum.answer.markers import Claim, read_markers
from vademecum.model.answer import Checked, Usage
from vademecum.model.principal import Scope
from vademecum.ports.language_model import Prompt
from vademecum.postgres.pool import Pool
from vademecum.testing.language_models import ScriptedModel
from vademecum.testing.passages import make_passage

REFUND = "A refund for a ticket takes 5 days at the box office."
DOORS = "The doors of the arena open at 18:30 for every ticket."
BAGS = "Bags larger than 40 cm stay in the cloakroom of gate 2."
QUESTION = "How many days does a refund for a ticket take at the box office?"


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path / "blobs", tokens=40)


@pytest.fixture
async def three(bench: Bench) -> Bench:
    await bench.ingest(
        source("a-bags.txt", BAGS), source("b-refund.txt", REFUND), source("c-doors.txt", DOORS)
    )
    return bench


def citing(words: str, template: str) -> Callable[[Prompt], str]:
    """A model that cites, in place of N, the source that holds some words."""
    return lambda prompt: template.replace("N", str(number_of(prompt, words)))


def uris(asked: Asked) -> list[str]:
    return [citation.uri for citation in asked.answer.citations]


async def test_ci_01_a_marker_opens_the_source_it_numbers_live_and_after_reload(
    three: Bench,
) -> None:
    model = ScriptedModel(
        citing(DOORS, "The doors of the arena open at 18:30 for every ticket [N].")
    )
    asked = await ask(three, model, "When do the doors of the arena open?")
    live = [c for e in asked.events if isinstance(e, Checked) for c in e.citations]
    assert [c.uri for c in live] == uris(asked) == ["c-doors.txt"]
    assert live[0].quote == DOORS
    number = number_of(model.prompts[0], DOORS)
    assert live[0].marker == asked.answer.citations[0].marker == number
    trace = await three.app.catalogue.records.trace(OPERATOR, asked.answer.trace_id)
    assert trace.record["citations"][0]["marker"] == number
    assert trace.record["citations"][0]["document_id"] == str(live[0].document_id)


async def test_ci_02_a_whole_collection_cites_the_document_that_says_it(bench: Bench) -> None:
    others = [source(f"n{n}.txt", f"Rule {n} speaks of seats in row {n}.") for n in range(12)]
    await bench.ingest(*others, source("z-refund.txt", REFUND))
    model = ScriptedModel(
        citing(REFUND, "A refund for a ticket takes 5 days at the box office [N].")
    )
    assert uris(await ask(bench, model, QUESTION)) == ["z-refund.txt"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("[1, 2]", (1, 2)),
        ("[1][2]", (1, 2)),
        ("[2-3]", (2, 3)),
        ("[2–3]", (2, 3)),
        ("[[3]]", (3,)),
        ("[1，2]", (1, 2)),
        ("[1; 3]", (1, 3)),
        ("[ 2 ]", (2,)),
        ("[1-3, 2]", (1, 2, 3)),
        ("[3][9]", (3,)),
        ("[2, 77]", (2,)),
    ],
)
async def test_ci_04_every_form_is_read_and_every_id_checked_at_every_division(
    three: Bench, written: str, read: tuple[int, ...]
) -> None:
    text = f"A refund for a ticket takes 5 days at the box office {written}."
    asked = await ask(three, ScriptedModel([text]), QUESTION, show_unsupported=True)
    assert asked.answer.sentences == () or asked.answer.sentences[0].markers == read
    sources = {n: make_passage(REFUND, rank=n, at=100 * n) for n in (1, 2, 3)}
    sentence, citations = await verify(read_markers(text, sources), sources, None)
    assert sentence.markers == read
    assert [citation.marker for citation in citations] == list(read)
    assert written not in sentence.text


async def test_ci_05_brackets_of_the_source_and_of_code_are_no_citations(bench: Bench) -> None:
    text = "A refund takes 5 days, as shown in [12] of the rules; see `arr[0]` there."
    await bench.ingest(source("rules.txt", text))
    model = ScriptedModel(
        ['It "takes 5 days, as shown in [12] of the rules" [1]. A refund: see `arr[0]` there [1].']
    )
    asked = await ask(bench, model, "How many days does a refund take?")
    assert 'as shown in [12] of the rules"' in asked.answer.sentences[0].text
    assert {m for s in asked.answer.sentences for m in s.markers} == {1}
    assert {citation.marker for citation in asked.answer.citations} == {1}


async def test_ci_06_a_marker_in_pieces_is_one_link_and_text_is_not_held_back(
    three: Bench,
) -> None:
    def pieces(prompt: Prompt) -> Sequence[str]:
        number = str(number_of(prompt, REFUND))
        begun = "A refund for a ticket takes 5 days at the box office "
        return [begun, "[", number, "]", ". ", "More in [note", "]", "."]

    asked = await ask(three, ScriptedModel(pieces), QUESTION, show_unsupported=True)
    first, second = asked.answer.sentences
    assert first.text == "A refund for a ticket takes 5 days at the box office."
    assert len(first.markers) == 1
    assert "[note]" in second.text
    assert second.markers == ()


async def test_ci_06_no_division_of_the_stream_changes_the_answer(three: Bench) -> None:
    text = "A refund for a ticket takes 5 days at the box office [1, 2][[3]]. See [note] [2-3]."
    whole = await ask(three, ScriptedModel([text]), QUESTION, show_unsupported=True)
    for at in range(1, len(text), 7):
        parted = ScriptedModel([[text[:at], text[at:]]])
        asked = await ask(three, parted, QUESTION, show_unsupported=True)
        assert asked.answer.sentences == whole.answer.sentences
        assert asked.answer.citations == whole.answer.citations


async def test_ci_07_pages_count_from_one_and_unknown_stays_unknown(bench: Bench) -> None:
    paper = Paper()
    for line in (REFUND, "The second page tells nothing about it.", DOORS):
        paper.lines([line], top=120)
        paper.page()
    await bench.ingest(source("rules.pdf", paper.content()), source("bags.txt", BAGS))
    for words, page in ((REFUND, 1), (DOORS, 3), (BAGS, None)):
        model = ScriptedModel(citing(words[:20], f"{words[:-1]} [N]."))
        (cited,) = (await ask(bench, model, words)).answer.citations
        assert (cited.page_start, cited.page_end) == (page, page)


async def test_ci_09_a_text_without_pages_takes_none_from_its_neighbour(bench: Bench) -> None:
    paper = Paper()
    for number in range(1, 10):
        line = REFUND if number == 9 else f"Page {number} speaks of seats."
        paper.lines([line], top=120)
        paper.page()
    await bench.ingest(source("a.pdf", paper.content()), source("b.txt", DOORS))

    def both(prompt: Prompt) -> str:
        first, second = number_of(prompt, REFUND[:20]), number_of(prompt, DOORS[:20])
        return f"{REFUND[:-1]} [{first}]. {DOORS[:-1]} [{second}]."

    question = "How long does a refund for a ticket take, and when do the doors open?"
    cited = (await ask(bench, ScriptedModel(both), question)).answer.citations
    assert {c.uri: c.page_start for c in cited} == {"a.pdf": 9, "b.txt": None}


async def test_ci_10_every_marker_has_its_entry_with_many_hits_of_few_files(bench: Bench) -> None:
    lines = [
        f"The rule of hall {n} gives a refund for a ticket in {n + 20} days." for n in range(6)
    ]
    filler = " ".join(["It stands alone in this part of the text."] * 4)
    texts = ["\n\n".join(f"{line} {filler}" for line in lines[n : n + 2]) for n in (0, 2, 4)]
    await bench.ingest(*(source(f"f{n}.txt", text) for n, text in enumerate(texts)))
    model = ScriptedModel(citing("hall 5", "Hall 5 gives a refund for a ticket in 25 days [N]."))
    asked = await ask(bench, model, "In how many days does hall 5 give a refund for a ticket?")
    number = number_of(model.prompts[0], "hall 5")
    assert [c.marker for c in asked.answer.citations] == [number]
    assert asked.answer.citations[0].uri == "f2.txt"
    assert "hall 5" in asked.answer.citations[0].quote


@pytest.mark.parametrize(
    ("stated", "changed"),
    [
        ("The hall was 87 % full on 12 May 2026.", "The hall was 85 % full on 12 May 2026"),
        ("The hall was 87 % full on 12 May 2026.", "The hall was 87 % full on 13 May 2026"),
        ("Entry after the break is not allowed.", "Entry after the break is allowed"),
        ("The desk of Mill Gate opens at nine.", "The desk of Weir Gate opens at nine"),
        ("The fence is 10 m high on this side.", "The fence is 10 cm high on this side"),
        ("Message KT-311 means a wrong gate.", "Message KT-318 means a wrong gate"),
    ],
)
async def test_ci_11_a_changed_fact_beside_a_right_citation_is_unsupported(
    bench: Bench, stated: str, changed: str
) -> None:
    await bench.ingest(source("a.txt", stated))
    right = await ask(bench, ScriptedModel([f"{stated[:-1]} [1]."]), stated)
    assert [s.support for s in right.answer.sentences] == ["supported"]
    wrong = await ask(bench, ScriptedModel([f"{changed} [1]."]), stated)
    assert wrong.shown == []
    assert wrong.answer.abstained
    assert wrong.answer.citations == ()
    marked = ScriptedModel([f"{stated[:-1]} [1]. {changed} [1]."])
    shown = await ask(bench, marked, stated, show_unsupported=True)
    assert [s.support for s in shown.answer.sentences] == ["supported", "unsupported"]
    assert shown.answer.sentences[1].why in {"number", "date", "negation", "name", "unit", "code"}


async def test_ci_12_two_questions_at_once_have_their_own_sources(three: Bench) -> None:
    doors, refund = await asyncio.gather(
        ask(three, ScriptedModel(citing(DOORS, f"{DOORS[:-1]} [N].")), DOORS),
        ask(three, ScriptedModel(citing(REFUND, f"{REFUND[:-1]} [N].")), REFUND),
    )
    assert uris(doors) == ["c-doors.txt"]
    assert uris(refund) == ["b-refund.txt"]
    after = await ask(three, ScriptedModel(["I don't know."]), REFUND)
    assert after.answer.citations == ()


@pytest.mark.parametrize(
    ("claim", "support", "why"),
    [
        ('The rules say "a refund takes the cloakroom" [1].', "unsupported", "quotation"),
        ('They say "refund box 40 office" [1].', "unsupported", "quotation"),
        ("the user [1].", "unsupported", "too short"),
        ('It says "the" [1].', "unsupported", "too short"),
        ("Refund cloakroom takes 5 larger days gate [1].", "unsupported", None),
        ("A  refund takes\n5 days at the box  office [1].", "supported", ""),
    ],
)
async def test_ci_13_a_quotation_is_contiguous_and_long_enough(
    claim: str, support: str, why: str | None
) -> None:
    sources = {1: make_passage(f"A refund takes 5 days at the box office. The end. {BAGS}")}
    sentence, _ = await verify(read_markers(claim, sources), sources, None)
    assert sentence.support == support
    assert why is None or sentence.why == why


@pytest.mark.parametrize("said", ["Hello! How can I help you?", "I don't know.", "Olá!"])
@pytest.mark.parametrize("question", ["hello", "Olá, bom dia!"])
async def test_ci_14_a_greeting_or_not_knowing_lists_no_sources(
    three: Bench, question: str, said: str
) -> None:
    asked = await ask(three, ScriptedModel([said]), question)
    assert asked.answer.abstained
    assert (asked.answer.citations, asked.answer.sentences) == ((), ())
    for word in ("refund", "arena", "cloakroom"):
        assert word not in asked.answer.text


async def test_ci_14_a_greeting_is_answered_by_no_quotation_either(three: Bench) -> None:
    asked = await ask(three, None, "hello")
    assert (asked.answer.citations, asked.answer.sentences) == ((), ())


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("How many days does a refund for a ticket take?", "I don't know"),
        ("Quantos dias demora o reembolso de um ingresso na bilheteria?", "Não sei"),
        ("¿Cuántos días tarda la devolución de una entrada en la taquilla?", "No lo sé"),
        ("टिकटको पैसा फिर्ता हुन कति दिन लाग्छ र कहाँ जाने?", "मलाई थाहा छैन"),
    ],
)
async def test_nothing_left_is_not_knowing_in_the_language_of_the_question(
    three: Bench, question: str, begins: str
) -> None:
    asked = await ask(three, ScriptedModel(["A refund takes 900 days [1]."]), question)
    assert asked.answer.text.startswith(begins)
    assert asked.answer.citations == ()


class MeanwhileModel(ScriptedModel):
    """A model before whose second piece something happens."""

    def __init__(
        self,
        pieces: Callable[[Prompt], Sequence[str]],
        happens: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(pieces)
        self._happens = happens

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Usage, None]:
        count = 0
        async for piece in super().stream(prompt):
            if count == 1:
                await self._happens()
            count += 1
            yield piece


def two_sentences(prompt: Prompt) -> Sequence[str]:
    refund, doors = number_of(prompt, REFUND[:20]), number_of(prompt, DOORS[:20])
    return [f"{DOORS[:-1]} [{doors}]. Then", f" more. {REFUND[:-1]} [{refund}]. End."]


async def test_a_document_deleted_while_the_model_writes_is_not_cited(three: Bench) -> None:
    (document,) = [d for d in await three.documents.all(OPERATOR) if d.uri == "b-refund.txt"]

    async def delete() -> None:
        await three.app.catalogue.delete(document.id, scope=OPERATOR)

    asked = await ask(three, MeanwhileModel(two_sentences, delete), f"{QUESTION} {DOORS}")
    assert uris(asked) == ["c-doors.txt"]
    assert "refund" not in asked.answer.text
    assert all(p.source.uri != "b-refund.txt" for p in asked.answer.passages)
    assert "citations: no longer visible" in asked.answer.degraded
    trace = await three.app.catalogue.records.trace(OPERATOR, asked.answer.trace_id)
    assert "b-refund.txt" not in str(trace.record)
    assert document.id not in trace.documents


async def test_what_was_shown_before_access_was_revoked_is_not_in_the_answer(
    three: Bench,
) -> None:
    reader = Scope.for_principal("default", "user:reader", frozenset())

    async def revoke() -> None:
        await three.ingest(source("c-doors.txt", DOORS, access=("role:staff",)))

    asked = await ask(
        three, MeanwhileModel(two_sentences, revoke), f"{QUESTION} {DOORS}", scope=reader
    )
    assert uris(asked) == ["b-refund.txt"]
    assert "doors" not in asked.answer.text


async def test_all_gone_is_not_knowing(three: Bench) -> None:
    async def delete() -> None:
        for document in await three.documents.all(OPERATOR):
            await three.app.catalogue.delete(document.id, scope=OPERATOR)

    asked = await ask(three, MeanwhileModel(two_sentences, delete), f"{QUESTION} {DOORS}")
    assert asked.answer.abstained
    assert (asked.answer.citations, asked.answer.passages) == ((), ())


async def test_facts_of_two_sources_support_one_sentence_together() -> None:
    sources = {1: make_passage(REFUND), 2: make_passage(BAGS, rank=2, at=500)}
    text = "A refund takes 5 days, while bags larger than 40 cm stay in the cloakroom [1][2]."
    sentence, citations = await verify(read_markers(text, sources), sources, None)
    assert sentence.support != "unsupported"
    assert [c.quote for c in citations] == [REFUND, BAGS]
    alone, _ = await verify(Claim(text=text, markers=(1,)), sources, None)
    assert alone.support == "unsupported"
