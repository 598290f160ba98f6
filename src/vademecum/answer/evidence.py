"""Where in a passage is what a sentence says, and what speaks against it there?"""

from collections.abc import Sequence
from dataclasses import dataclass

from vademecum.text.clauses import Clause, clauses, contradicts
from vademecum.text.content import alike, content_words
from vademecum.text.facts import Facts, facts, lacking
from vademecum.text.names import initials, is_named, name_words
from vademecum.text.roles import inverted, matching, swapped
from vademecum.text.sentences import sentence_spans

# What a sentence says may stand in so many sentences of its source, one after another.
_MOST_SENTENCES = 2


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


def read(text: str, language: str, known: Sequence[str] = ()) -> Reading:
    """Return what is checked of a text; `known` holds words that are names elsewhere."""
    return Reading(
        text=text,
        language=language,
        facts=facts(text, language),
        clauses=tuple(clauses(text, language)),
        words=tuple(content_words(text)),
        names=tuple(name_words(text, frozenset(known))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A passage read once for all sentences that cite it: its sentences and what frames them."""

    text: str
    language: str
    spans: tuple[tuple[int, int], ...]
    sentences: tuple[Reading, ...]
    frame: Reading
    whole: Facts


def read_page(text: str, context: str, language: str) -> Page:
    """Return a passage's sentences, with its title and headings (`context`) as their frame."""
    spans = sentence_spans(text) or [(0, len(text))]
    names = name_words(text)
    return Page(
        text=text,
        language=language,
        spans=tuple(spans),
        sentences=tuple(read(text[start:end], language, names) for start, end in spans),
        frame=read(context, language),
        whole=facts(f"{context}\n{text}", language),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One or two sentences of a page, `first` to `last`, and what in them speaks against a claim
    (`veto`: number, unit, date, code, name, negation, roles, or "")."""

    first: int
    last: int
    veto: str
    coverage: float


def windows(claim: Reading, page: Page) -> list[Window]:
    """Return every place of the page where the claim may stand, each with its veto and the share
    of the claim's words that it holds (0..1).

    Two sentences count together only where each gives a word that the other lacks: a number may
    not come from beside what is said of it.
    """
    found = []
    for size in range(1, _MOST_SENTENCES + 1):
        for first in range(len(page.sentences) - size + 1):
            parts = page.sentences[first : first + size]
            if size > 1 and not _each_gives(claim, parts):
                continue
            found.append(_window(claim, page, first, first + size - 1))
    return found


def _each_gives(claim: Reading, parts: Sequence[Reading]) -> bool:
    held = [{word for word in claim.soft if _has(part.words, word)} for part in parts]
    return all(
        held[i] - set().union(*(other for j, other in enumerate(held) if j != i))
        for i in range(len(held))
    )


def _window(claim: Reading, page: Page, first: int, last: int) -> Window:
    parts = page.sentences[first : last + 1]
    words = [word for part in (*parts, page.frame) for word in part.words]
    held = [_has(words, word) for word in claim.words]
    return Window(
        first=first,
        last=last,
        veto=_veto(claim, page, parts, words),
        coverage=sum(held) / len(held) if held else 0.0,
    )


def _veto(
    claim: Reading, page: Page, parts: Sequence[Reading], words: Sequence[str]
) -> str:
    text = " ".join(part.text for part in parts)
    stated = facts(f"{page.frame.text}\n{text}", page.language)
    if missing := lacking(claim.facts, stated, page.whole):
        return missing
    if _lacks_name(claim, page, parts, words):
        return "name"
    source = [clause for part in parts for clause in part.clauses]
    pairs = [
        (clause, best)
        for clause in claim.clauses
        if (best := matching(clause, source)) is not None
    ]
    if any(contradicts(mine, theirs) for mine, theirs in pairs):
        return "negation"
    if swapped(claim.clauses, source) or inverted(claim.text, text, pairs):
        return "roles"
    return ""


def _lacks_name(
    claim: Reading, page: Page, parts: Sequence[Reading], words: Sequence[str]
) -> bool:
    """Return whether the claim names what the window does not.

    A name from elsewhere in the passage is what the window speaks of, unless it has another one.
    """
    here = set(words)
    missing = [name for name in claim.names if not is_named(name, here)]
    if not missing:
        return False
    capitals = initials(page.text)
    missing = [name for name in missing if not (len(name) > 2 and name in capitals)]
    everywhere = here | {word for part in page.sentences for word in part.words}
    if any(not is_named(name, everywhere) for name in missing):
        return True
    others = [n for part in parts for n in part.names if not is_named(n, set(claim.words))]
    return bool(missing and others)


def _has(words: Sequence[str], word: str) -> bool:
    return any(alike(word, other) for other in words)
