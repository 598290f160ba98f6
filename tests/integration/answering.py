"""How does a test ask an App over real PostgreSQL with a scripted model?"""

from dataclasses import dataclass, replace

import regex
from support import OPERATOR, Bench

from vademecum.model.answer import Answer, Checked, Done, Event, Retrieved
from vademecum.model.ids import ConversationId
from vademecum.model.principal import Scope
from vademecum.ports.language_model import LanguageModel, Prompt

_SECTION = regex.compile(r"<source-[0-9a-f]+ number=(\d+)>\n(.*?)\n</source-", regex.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The events of one question, and the answer at their end."""

    events: tuple[Event, ...]
    answer: Answer

    @property
    def shown(self) -> list[str]:
        """The sentences in the order of the stream."""
        return [e.sentence.text for e in self.events if isinstance(e, Checked)]


async def ask(
    bench: Bench,
    model: LanguageModel | None,
    question: str,
    *,
    scope: Scope = OPERATOR,
    show_unsupported: bool = False,
    conversation_id: ConversationId | None = None,
) -> Asked:
    """Ask with a model of the test's own, and check what holds of every answer."""
    parts = replace(bench.app.answer_parts, language_model=model, show_unsupported=show_unsupported)
    app = replace(bench.app, answer_parts=parts)
    stream = app.stream(question, scope=scope, conversation_id=conversation_id)
    events = [event async for event in stream]
    assert isinstance(events[0], Retrieved)
    assert isinstance(events[-1], Done)
    answer = events[-1].answer
    await check_citations(bench, answer, scope)
    return Asked(events=tuple(events), answer=answer)


async def check_citations(bench: Bench, answer: Answer, scope: Scope) -> None:
    """Each marker has an entry, each entry a marker, and each quote stands where it says."""
    markers = {marker for sentence in answer.sentences for marker in sentence.markers}
    assert {citation.marker for citation in answer.citations} == markers
    for citation in answer.citations:
        text = await bench.documents.text(scope, citation.document_id)
        assert text[citation.start : citation.end] == citation.quote


def numbered(prompt: Prompt) -> dict[int, str]:
    """Return what stands in each section of a prompt, by its number."""
    return {int(number): text for number, text in _SECTION.findall(prompt.user)}


def number_of(prompt: Prompt, words: str) -> int:
    """Return the number of the section that holds some words."""
    return next(number for number, text in numbered(prompt).items() if words in text)
