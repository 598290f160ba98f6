"""Which memories hold the words, names and codes of a text?"""

from collections.abc import Collection, Mapping, Sequence

from vademecum.model.ids import MemoryId
from vademecum.model.index import KeywordRow
from vademecum.model.memory import Stage
from vademecum.model.principal import Scope
from vademecum.ports.memory import MemoryReader
from vademecum.rank.bm25 import K1, document_weights, idf, share
from vademecum.text.analyse import codes, query_terms, term_id, terms
from vademecum.text.content import is_light
from vademecum.text.language import UNKNOWN, detect
from vademecum.text.late import late
from vademecum.text.normalise import fold
from vademecum.text.questions import names

_WORD = late(r"\S+")
# So many names, and so many codes, of a text are looked for one by one.
_MOST_EXACT = 6
_EDGE = late(r"^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$")


def content(text: str) -> str:
    """Return the text without the words that say little by themselves."""
    return " ".join(word for word in _WORD.findall(text) if not is_light(fold(_EDGE.sub("", word))))


def person_term(term: str, scope: Scope) -> int:
    """Return the number of a term in the index of one person's memories."""
    return term_id(term, f"{scope.tenant}\0{scope.principal}")


def keyword_row(text: str, language: str, scope: Scope, average_length: float) -> KeywordRow:
    """Return the weights of a memory's terms; `average_length` (terms) is the generation's."""
    own = (person_term(term, scope) for term in terms(text, language))
    return KeywordRow(weights=document_weights(own, average_length))


def asked_terms(text: str, languages: frozenset[str], scope: Scope) -> list[set[int]]:
    """Return for each word of a text the terms that stand for it in any of the languages."""
    return [
        {person_term(term, scope) for term in same}
        for same in query_terms(text, languages - {UNKNOWN})
    ]


async def keyword_shares(
    reader: MemoryReader, scope: Scope, text: str, reached: Sequence[Stage], k: int
) -> dict[MemoryId, float]:
    """Return U (0..1) of the memories that hold words of the text, at most k a question.

    The words that say something are asked together, and each name alone, by BM25. Of a code it
    counts what a memory holds of it and nothing else, so that an exact one counts in full however
    much is said around it. What no memory holds counts in the upper bound as the rarest there could
    be.
    """
    held = await reader.languages(reached)
    count = sum(held.values())
    if not count:
        return {}
    languages = frozenset(held) | {detect(text, frozenset(held))}
    said = (content(text), *names(text)[:_MOST_EXACT])
    questions = [asked_terms(part, languages, scope) for part in said]
    exact = [asked_terms(code, languages, scope) for code in codes(text)[:_MOST_EXACT]]
    every = sorted({term for asked in (*questions, *exact) for same in asked for term in same})
    frequencies = await reader.frequencies(reached, every) if every else {}
    best: dict[MemoryId, float] = {}
    for asked in questions:
        weights, upper_bound = weigh(asked, frequencies, count)
        for memory_id, score in (await reader.search_keyword(reached, weights, k)).items():
            own = share((K1 + 1) * score, upper_bound)
            best[memory_id] = max(own, best.get(memory_id, 0.0))
    weighed = [(asked, *weigh(asked, frequencies, count)) for asked in exact]
    masses = {term: mass for _, weights, _ in weighed for term, mass in weights.items()}
    for memory_id, terms_held in (await reader.holding(reached, masses, k)).items():
        own = max(held_share(asked, terms_held, w, most) for asked, w, most in weighed)
        best[memory_id] = max(own, best.get(memory_id, 0.0))
    return best


def held_share(
    asked: Sequence[set[int]], held: Collection[int], weights: Mapping[int, float], most: float
) -> float:
    """Return the part (0..1) of the idf mass of what is asked, `most` of it, that is held."""
    masses = (max((weights[t] for t in same if t in held), default=0.0) for same in asked)
    return min(1.0, sum(masses) / most) if most > 0 else 0.0


def weigh(
    asked: Sequence[set[int]], frequencies: Mapping[int, int], count: int
) -> tuple[dict[int, float], float]:
    """Return idf by term among `count` memories, and the most that one could have of the text."""
    weights = {
        term: idf(count, frequencies[term])
        for same in asked
        for term in same
        if frequencies.get(term)
    }
    unknown = idf(count, 0)
    upper_bound = sum(
        max((weights[term] for term in same if term in weights), default=unknown) for same in asked
    )
    return weights, upper_bound
