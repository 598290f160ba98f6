"""How is an answer shown to a person, as plain text and as HTML?"""

from collections.abc import Sequence
from html import escape

from vademecum.model.answer import Answer, Citation, Sentence


def as_text(answer: Answer) -> str:
    """Return the answer, a sentence a line with its markers, then its sources."""
    lines = [_marked(sentence) for sentence in answer.sentences] or [answer.text]
    if answer.citations:
        lines += ["", *(_source(citation) for citation in answer.citations)]
    return "\n".join(lines)


def as_html(answer: Answer) -> str:
    """Return the answer as an HTML fragment in which every word of the model and of the documents
    is text: nothing in it is markup, and nothing loads.

    A marker links to the first citation with its number, `#citation-1`; further places of the same
    source are `#citation-1-2` and so on. A sentence that is not fully supported has a class.
    """
    if not answer.sentences:
        return f'<div class="answer"><p class="unknown">{escape(answer.text)}</p></div>'
    known = {citation.marker for citation in answer.citations}
    said = "".join(_paragraph(sentence, known) for sentence in answer.sentences)
    cited = "".join(_entries(answer.citations))
    sources = f'<ol class="citations">{cited}</ol>' if cited else ""
    return f'<div class="answer">{said}{sources}</div>'


def _marked(sentence: Sentence) -> str:
    return " ".join([sentence.text, *(f"[{marker}]" for marker in sentence.markers)])


def _source(citation: Citation) -> str:
    place = "".join([citation.title or citation.uri, _pages(citation)])
    return f'[{citation.marker}] {place}: "{" ".join(citation.quote.split())}"'


def _paragraph(sentence: Sentence, known: set[int]) -> str:
    links = "".join(
        f' <a href="#citation-{marker}">{marker}</a>'
        for marker in sentence.markers
        if marker in known
    )
    return f'<p class="{sentence.support}">{escape(sentence.text)}{links}</p>'


def _entries(citations: Sequence[Citation]) -> list[str]:
    entries: list[str] = []
    places: dict[int, int] = {}
    for citation in citations:
        place = places[citation.marker] = places.get(citation.marker, 0) + 1
        anchor = f"citation-{citation.marker}" + (f"-{place}" if place > 1 else "")
        entries.append(
            f'<li id="{anchor}" value="{citation.marker}" class="{citation.support}">'
            f"<cite>{escape(citation.title or citation.uri)}{_pages(citation)}</cite> "
            f"<q>{escape(citation.quote)}</q></li>"
        )
    return entries


def _pages(citation: Citation) -> str:
    if citation.page_start is None:
        return ""
    if citation.page_end is None or citation.page_end == citation.page_start:
        return f", p. {citation.page_start}"
    return f", p. {citation.page_start}-{citation.page_end}"
