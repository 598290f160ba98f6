"""Which other source says otherwise than a sentence of the answer?

Words alone decide, and a source that may speak of something else is left out: another number, clock
time, day or weekday counts where a statement of another document holds most of the words that the
sentence says it of, and every name of it; so does the contrary of what is allowed or done.
Documents whose titles name different things, as two venues, speak of different things.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from vademecum.answer.cite import citation
from vademecum.answer.evidence import Page, Reading, Statement, read, read_page, read_statements
from vademecum.answer.values import values
from vademecum.model.answer import Checked, Conflict
from vademecum.model.ids import ChunkId
from vademecum.model.passage import Passage
from vademecum.text.content import alike, content_words
from vademecum.text.late import late
from vademecum.text.names import is_named

# Of passages of other documents only the best are read, which costs about a millisecond each.
_READ = 8
_FEWEST_WORDS = 3
# So much of what a sentence says beside its value must stand in the other statement ...
_SAID = 0.7
# ... and so much of that statement in the sentence, or it speaks of a special case.
_OF_OTHER = 0.5
# For a denial nearly every word must be the same: what is denied may be another thing.
_SAID_OF_DENIAL = 0.85
_KINDS = {"amount": "number", "clock": "number", "day": "date", "weekday": "date"}
# What titles are called by, which tells no subject: English, Portuguese, Spanish.
_GENERIC = frozenset(
    """
    faq rule rules policy policies guide guideline guidelines information info general notice
    news update updated new old edition version season terms conditions question questions
    frequently asked help support handbook manual page document regra regras politica politicas
    guia informacao informacoes geral gerais aviso nova novo edicao versao temporada termos
    condicoes pergunta perguntas frequentes ajuda manual regla reglas norma normas informacion
    aviso nuevo nueva edicion version terminos condiciones pregunta preguntas ayuda
    """.split()  # noqa: SIM905 - a list of so many strings would fill a page
)
_LETTERS = late(r"^\p{L}+$")


def conflicts(said: Sequence[Checked], passages: Sequence[Passage]) -> tuple[Conflict, ...]:
    """Return what passages of other documents than those cited say against supported sentences,
    one of each document and sentence, in the order of the sentences and ranks."""
    by_chunk = {passage.source.chunk.id: passage for passage in passages}
    sources = _Sources()
    found: list[Conflict] = []
    for number, checked in enumerate(said):
        own = [by_chunk[c.chunk_id] for c in checked.citations if c.chunk_id in by_chunk]
        if checked.sentence.support != "supported" or not own:
            continue
        seen = {passage.source.document_id for passage in own}
        sayings = _sayings(checked.sentence.text, own[0])
        for passage in passages[:_READ]:
            document = passage.source.document_id
            if document in seen or not all(sources.of_one_thing(one, passage) for one in own):
                continue
            if not _may_speak_of(sayings, sources.words(passage)):
                continue
            page = sources.page(passage)
            against = _against(checked.sentence.text, own[0], page)
            if against is None:
                continue
            seen.add(document)
            kind, (start, end) = against
            marker = checked.citations[0].marker
            other = citation(marker, passage, start, end, support="unsupported")
            found.append(
                Conflict(
                    sentence=number,
                    kind=kind,
                    since=own[0].source.since,
                    other=other,
                    other_since=passage.source.since,
                )
            )
    return tuple(found)


def _sayings(text: str, own: Passage) -> list[list[str]]:
    """Return the words of each part of a sentence that another source could say otherwise: those
    with a value, or that allow or deny."""
    language = own.source.chunk.language
    parts = read_statements(text, language, (), coarse=True)
    return [
        [word for word in part.words if not word[0].isdigit()]
        for part in parts
        if part.facts.amounts
        or part.facts.clocks
        or part.facts.days
        or part.facts.weekdays
        or part.stance.signs
    ]


def _may_speak_of(sayings: Sequence[Sequence[str]], there: Collection[str]) -> bool:
    """Tell whether a passage holds words enough of one of the parts; to read it takes longer."""
    return any(
        sum(_holds(there, word) for word in words) >= _SAID * len(words) - 1 for words in sayings
    )


class _Sources:
    """What is read of the passages, each once."""

    def __init__(self) -> None:
        self._pages: dict[ChunkId, Page] = {}
        self._words: dict[ChunkId, dict[str, None]] = {}

    def page(self, passage: Passage) -> Page:
        chunk = passage.source.chunk
        if chunk.id not in self._pages:
            self._pages[chunk.id] = read_page(chunk.text, chunk.context, chunk.language)
        return self._pages[chunk.id]

    def words(self, passage: Passage) -> Collection[str]:
        chunk = passage.source.chunk
        if chunk.id not in self._words:
            self._words[chunk.id] = dict.fromkeys(content_words(chunk.embedded_text))
        return self._words[chunk.id]

    def of_one_thing(self, one: Passage, other: Passage) -> bool:
        """Tell whether two passages may speak of the same: in one language, and not of two things
        that their titles and headings tell apart."""
        if one.source.chunk.language != other.source.chunk.language:
            return False
        mine = _without(_titled(one), self.words(other))
        return not (mine and _without(_titled(other), self.words(one)))


def _titled(passage: Passage) -> list[str]:
    return [
        word
        for word in content_words(passage.source.chunk.context)
        if _LETTERS.match(word) and word not in _GENERIC
    ]


def _without(words: Sequence[str], there: Collection[str]) -> list[str]:
    return [word for word in words if not _holds(there, word)]


def _against(text: str, own: Passage, page: Page) -> tuple[str, tuple[int, int]] | None:
    """Return the kind of what a page says against a sentence, and the place of the sentence that
    does; None where it says nothing against it."""
    claim = read(text, own.source.chunk.language, page.names)
    framed = content_words(own.source.chunk.context)
    for part in read_statements(claim.text, claim.language, claim.names, coarse=True):
        for kind, there in (
            *_other_values(part, claim, page, framed),
            *_denials(part, claim, page, framed),
        ):
            return kind, page.spans[there.sentence]
    return None


def _other_values(
    part: Statement, claim: Reading, page: Page, framed: Sequence[str]
) -> Iterator[tuple[str, Statement]]:
    for value in values(part, claim, page):
        words = [word for word in value.words if not word[0].isdigit()]
        if value.sort not in _KINDS or len(words) < _FEWEST_WORDS:
            continue
        alike_ones = [
            there
            for there in page.statements
            if _speaks_of(there, words, claim, page, framed, _SAID)
        ]
        if any(value.held(there) for there in alike_ones):
            continue
        yield from ((_KINDS[value.sort], there) for there in alike_ones if value.other(there))


def _denials(
    part: Statement, claim: Reading, page: Page, framed: Sequence[str]
) -> Iterator[tuple[str, Statement]]:
    words = [word for word in part.words if not word[0].isdigit()]
    if len(words) < _FEWEST_WORDS - 1 or part.stance.only:
        return
    for there in page.statements:
        if there.stance.only or not _speaks_of(there, words, claim, page, framed, _SAID_OF_DENIAL):
            continue
        if _turned(part.stance.signs, there.stance.signs):
            yield "denial", there


def _turned(mine: Mapping[str, int], theirs: Mapping[str, int]) -> bool:
    shared = mine.keys() & theirs.keys()
    return any(mine[axis] != theirs[axis] for axis in shared)


def _speaks_of(
    there: Statement,
    words: Sequence[str],
    claim: Reading,
    page: Page,
    framed: Sequence[str],
    share: float,
) -> bool:
    """Tell whether a statement of another document is about what `words` of a claim say."""
    known = [*there.words, *there.lead_words]
    placed = [*known, *page.frame.words]
    if sum(_holds(placed, word) for word in words) < share * len(words):
        return False
    if not all(is_named(name, placed) for name in claim.names if name not in framed):
        return False
    said = [*claim.words, *framed]
    if not all(is_named(name, said) for name in there.names):
        return False
    own = [word for word in there.words if not word[0].isdigit()]
    return sum(_holds(said, word) for word in own) >= _OF_OTHER * len(own)


def _holds(words: Collection[str], word: str) -> bool:
    return word in words or any(alike(word, other) for other in words)
