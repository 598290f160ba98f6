"""Is an answer shown as text and as HTML without anything of it becoming markup?"""

from dataclasses import replace

import pytest

from vademecum.answer.cite import citation
from vademecum.answer.render import as_html, as_text
from vademecum.model.answer import Answer, Citation, Sentence, Usage
from vademecum.model.ids import TraceId, new_uuid
from vademecum.testing.passages import make_passage

HOSTILE = "<img src=x onerror=alert(1)> & \"quoted\" 'it'"


def cited(
    marker: int, text: str, *, title: str = "Rules", pages: tuple[int, int] | None
) -> Citation:
    made = make_passage(text, title=title)
    found = citation(marker, made, 0, len(text), support="supported")
    return replace(
        found, page_start=pages[0] if pages else None, page_end=pages[1] if pages else None
    )


def answer(*sentences: Sentence, citations: tuple[Citation, ...] = (), text: str = "") -> Answer:
    return Answer(
        question="?",
        text=text,
        abstained=not sentences,
        mode="extractive",
        sentences=sentences,
        citations=citations,
        passages=(),
        degraded=(),
        usage=Usage(prompt_tokens=0, completion_tokens=0),
        timings_ms={},
        conversation_id=None,
        turn_id=None,
        trace_id=TraceId(new_uuid()),
        asked_turn_id=None,
    )


def said(text: str, *markers: int) -> Sentence:
    return Sentence(text=text, markers=markers, support="supported")


def test_plain_text_has_a_sentence_a_line_then_the_sources() -> None:
    shown = as_text(
        answer(
            said("Doors open at nine.", 1),
            said("Bags stay outside.", 1, 2),
            citations=(
                cited(1, "Doors  open\nat nine.", pages=(3, 3)),
                cited(2, "No bags.", title="Bags", pages=(4, 5)),
            ),
        )
    )
    assert shown.splitlines() == [
        "Doors open at nine. [1]",
        "Bags stay outside. [1] [2]",
        "",
        '[1] Rules, p. 3: "Doors open at nine."',
        '[2] Bags, p. 4-5: "No bags."',
    ]


def test_an_answer_without_sentences_is_its_text() -> None:
    assert as_text(answer(text="I don't know.")) == "I don't know."
    assert as_html(answer(text="<b>no</b>")) == (
        '<div class="answer"><p class="unknown">&lt;b&gt;no&lt;/b&gt;</p></div>'
    )


@pytest.mark.parametrize("pages", [None, (1, 1)])
def test_nothing_of_model_or_document_becomes_markup(pages: tuple[int, int] | None) -> None:
    shown = as_html(
        answer(said(HOSTILE, 1), citations=(cited(1, HOSTILE, title=HOSTILE, pages=pages),))
    )
    assert "<img" not in shown
    assert (
        shown.count("&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quoted&quot; &#x27;it&#x27;")
        == 3
    )
    assert (", p. 1" in shown) == (pages is not None)


def test_markers_link_to_their_sources_and_further_places_have_names_of_their_own() -> None:
    places = (cited(1, "One.", pages=None), cited(1, "Two.", pages=None))
    shown = as_html(answer(said("Both hold.", 1, 7), citations=places))
    assert '<a href="#citation-1">1</a>' in shown
    assert "citation-7" not in shown
    assert '<li id="citation-1" value="1"' in shown
    assert '<li id="citation-1-2" value="1"' in shown
    assert '<p class="supported">' in shown
