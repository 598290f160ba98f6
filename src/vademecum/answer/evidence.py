"""Where in a passage is what a sentence says, and what speaks against it there?"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import regex

from vademecum.text.clauses import Clause, clauses, contradicts
from vademecum.text.content import alike, content_words
from vademecum.text.facts import Facts, facts, lacking
from vademecum.text.late import late
from vademecum.text.names import initials, is_named, name_words
from vademecum.text.orders import is_order
from vademecum.text.roles import inverted, matching, swapped
from vademecum.text.sentences import sentence_spans
from vademecum.text.stated.frames import Transfer, passive_verb, transfer
from vademecum.text.stated.pieces import pieces
from vademecum.text.stated.stances import Stance, completed, stance

# What a sentence says may stand in so many sentences of its source, one after another.
_MOST_SENTENCES = 2
# Vetoes of a fact that the place lacks, which another place may have.
MISSING = frozenset(["number", "unit", "date", "code", "name"])

# Each of two joined facts may stand at its own place in the source.
_JOINT = late(r"\s*;\s+|,?\s+(?:and|e|y)\s+", regex.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A text with what is checked of it. `hard` words are its numbers and names."""

    text: str
    language: str
    facts: Facts
    clauses: tuple[Clause, ...]
    words: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def soft(self) -> tuple[str, ...]:
        """The words that are neither numbers nor names."""
        return tuple(w for w in self.words if not w[0].isdigit() and w not in self.names)


def read(text: str, language: str, known: Collection[str] = ()) -> Reading:
    """Return what is checked of a text; `known` holds words that are names elsewhere."""
    return Reading(
        text=text,
        language=language,
        facts=facts(text, language),
        clauses=tuple(clauses(text, language)),
        words=tuple(content_words(text)),
        names=tuple(name_words(text, language, known)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement of a page (see `pieces`): its `own` text, and the `lead` of its sentence before
    it, from which it may take over what it leaves out."""

    own: str
    lead: str
    sentence: int
    facts: Facts
    lead_facts: Facts
    words: tuple[str, ...]
    lead_words: tuple[str, ...]
    names: tuple[str, ...]
    stance: Stance
    transfer: Transfer | None
    passive: str
    language: str

    def moved_by(self, verb: str) -> Transfer | None:
        """Return who does to whom what `verb`, a folded word, says, if the statement says it."""
        return transfer(self.own, self.language, self.lead, verb) if verb else None


def read_statements(
    text: str, language: str, names: Collection[str], *, coarse: bool = False
) -> tuple[Statement, ...]:
    """Return the statements of a text in order (see `pieces`); `names` are known to be names."""
    found: list[Statement] = []
    for piece in pieces(text, coarse=coarse):
        own, lead = text[piece.start : piece.end], text[piece.first : piece.start]
        before = found[-1].stance if found and found[-1].sentence == piece.sentence else None
        words = content_words(own)
        found.append(
            Statement(
                own=own,
                lead=lead,
                sentence=piece.sentence,
                facts=facts(own, language),
                lead_facts=facts(lead, language),
                words=tuple(words),
                lead_words=tuple(content_words(lead)),
                names=tuple(word for word in words if word in names),
                stance=completed(stance(own, language), before),
                transfer=transfer(own, language, lead),
                passive=passive_verb(own, language),
                language=language,
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A passage read once for all sentences that cite it: its sentences and what frames them.

    `orders` numbers the sentences that give orders to whoever reads them.
    """

    text: str
    language: str
    spans: tuple[tuple[int, int], ...]
    sentences: tuple[Reading, ...]
    statements: tuple[Statement, ...]
    frame: Reading
    whole: Facts
    names: frozenset[str]
    orders: frozenset[int]
    known: dict[str, Facts] = field(default_factory=dict)

    def stated(self, text: str) -> Facts:
        """Return the facts of a part of the page in its frame; read once for all sentences."""
        if text not in self.known:
            self.known[text] = facts(f"{self.frame.text}\n{text}", self.language)
        return self.known[text]

    def spread(self, word: str) -> int:
        """Return how many statements hold a word."""
        return sum(_has(part.words, word) for part in self.statements)


def joined_facts(text: str) -> list[str]:
    """Return the facts that a sentence joins by "and", "e", "y" or a semicolon; the sentence where
    it joins none."""
    return [part for part in _JOINT.split(text) if part.strip()]


def read_page(text: str, context: str, language: str) -> Page:
    """Return a passage's sentences, with its title and headings (`context`) as their frame."""
    spans = sentence_spans(text) or [(0, len(text))]
    names = frozenset(name_words(text, language))
    sentences = tuple(read(text[start:end], language, names) for start, end in spans)
    return Page(
        text=text,
        language=language,
        spans=tuple(spans),
        sentences=sentences,
        statements=read_statements(text, language, names),
        frame=read(context, language),
        whole=facts(f"{context}\n{text}", language),
        names=names,
        orders=frozenset(i for i, part in enumerate(sentences) if is_order(part.text)),
    )


def joined(places: Sequence[tuple[Page, Sequence[int]]]) -> Page:
    """Return sentences of several pages, by number, as one page, with all their frames."""
    pages = [page for page, _ in places]
    sentences = [page.sentences[i] for page, numbers in places for i in numbers]
    text = "\n".join(sentence.text for sentence in sentences)
    context = "\n".join(page.frame.text for page in pages)
    language = pages[0].language
    names = frozenset().union(*(page.names for page in pages))
    return Page(
        text=text,
        language=language,
        spans=tuple((0, 0) for _ in sentences),
        sentences=tuple(sentences),
        statements=read_statements(text, language, names),
        frame=read(context, language),
        whole=facts(f"{context}\n{text}", language),
        names=names,
        orders=frozenset(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One or two sentences of a page, `first` to `last`, and what in them speaks against a claim.

    `veto` is number, unit, date, code, name, roles, or "", and `denied` tells whether one of the
    claim's parts denies what its like there says, or the other way round. Where it is a name,
    `unnamed` holds the names and `rest` the veto that is left once they are found. `coverage` is
    the share of the claim's words that the place holds, `soft` that of its words but numbers and
    names
    (0..1).
    """

    first: int
    last: int
    veto: str
    denied: bool
    unnamed: tuple[str, ...]
    rest: str
    coverage: float
    soft: float


def windows(
    claim: Reading, page: Page, soft: Sequence[str], size: int = _MOST_SENTENCES
) -> list[Window]:
    """Return every place of the page where the claim may stand, of up to `size` sentences.

    `soft` are the words by which places are compared. Sentences count together only where each
    gives a word that the others lack: a number may not come from beside what is said of it.
    """
    found = []
    for count in range(1, size + 1):
        for first in range(len(page.sentences) - count + 1):
            parts = page.sentences[first : first + count]
            if count == 1 or _each_gives(soft, parts):
                found.append(_window(claim, page, first, first + count - 1, soft))
    return found


def _each_gives(soft: Sequence[str], parts: Sequence[Reading]) -> bool:
    held = [{word for word in soft if _has(part.words, word)} for part in parts]
    return all(
        held[i] - set().union(*(other for j, other in enumerate(held) if j != i))
        for i in range(len(held))
    )


def _window(claim: Reading, page: Page, first: int, last: int, soft: Sequence[str]) -> Window:
    parts = page.sentences[first : last + 1]
    words = [word for part in (*parts, page.frame) for word in part.words]
    own = [word for part in parts for word in part.words]
    unnamed = _unnamed(claim, page, words)
    rest, denied = _veto(claim, page, parts)
    return Window(
        first=first,
        last=last,
        veto=rest if rest in MISSING or not unnamed else "name",
        denied=denied,
        unnamed=tuple(unnamed),
        rest=rest,
        coverage=_share(claim.words, words),
        soft=_share(soft, own),
    )


def _share(words: Sequence[str], held: Sequence[str]) -> float:
    return sum(_has(held, word) for word in words) / len(words) if words else 0.0


def _veto(claim: Reading, page: Page, parts: Sequence[Reading]) -> tuple[str, bool]:
    text = " ".join(part.text for part in parts)
    stated = page.stated(text)
    if missing := lacking(claim.facts, stated, page.whole):
        return missing, False
    source = [clause for part in parts for clause in part.clauses]
    pairs = [
        (clause, best) for clause in claim.clauses if (best := matching(clause, source)) is not None
    ]
    denied = any(contradicts(mine, theirs) for mine, theirs in pairs)
    if swapped(claim.clauses, source) or inverted(claim.text, text, pairs):
        return "roles", denied
    return "", denied


def _unnamed(claim: Reading, page: Page, words: Sequence[str]) -> list[str]:
    """Return the names of the claim that neither these words hold nor the page; whether one stands
    where the claim says is for `binding`."""
    here = set(words) | {word for part in page.sentences for word in part.words}
    capitals = initials(page.text)
    return [
        name
        for name in claim.names
        if not is_named(name, here) and not (len(name) > 2 and name in capitals)
    ]


def _has(words: Sequence[str], word: str) -> bool:
    return any(alike(word, other) for other in words)
