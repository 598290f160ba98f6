"""How near is a sentence to a place in its source, in whatever language each is?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vademecum.answer.evidence import Page, Reading, Window
from vademecum.errors import EmbeddingInvalid
from vademecum.model.answer import Support
from vademecum.model.embedding import FloatArray
from vademecum.ports.embedder import TokenEncoder
from vademecum.rank.maxsim import best_cosines, normalised

# Late interaction of multilingual-e5-small between a sentence and what states it, as the mean over
# the sentence's tokens of the best cosine. Chosen on the development half of the 60 pairs: places
# that state it .88-.98 (across languages .80-.92), their neighbours .74-.87, other texts .67-.80.
_SUPPORTED, _PARTLY = 0.87, 0.83
_SUPPORTED_ACROSS, _PARTLY_ACROSS = 0.84, 0.80
_FRAGMENT = 0.9
_NEARLY = 0.8
# The worst token: below this something of the sentence has nothing like it in the source.
_FEWEST_OF_WORST = 0.72
# Shares of the sentence's words, where no encoder tells.
_WORDS_SUPPORTED, _WORDS_PARTLY = 0.75, 0.6
# What the share of common words adds when places are compared.
_WORDS_WEIGHT = 0.1
# A second sentence must bring so much to be worth it.
_LONGER = 0.015
# A word that a statement takes over from its sentence is so much less near than its own.
_LEAD_LESS = 0.025
# Cosines of single names; names that begin alike need less.
_SAME_NAME, _SAME_NAME_ALIKE, _NAME_LETTERS = 0.905, 0.85, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """`mean` and `worst` are cosines of late interaction, None without an encoder; `words` is the
    share of the sentence's words that the place holds; `score` compares places."""

    mean: float | None
    worst: float | None
    words: float
    score: float

    def support(self, *, cross: bool) -> Support:
        """Return what nearness alone allows to say; `cross`: the two are in different languages."""
        if self.mean is None or self.worst is None:
            return _level(self.words, _WORDS_SUPPORTED, _WORDS_PARTLY)
        if cross:
            return _level(self.mean, _SUPPORTED_ACROSS, _PARTLY_ACROSS)
        level = _level(self.mean, _SUPPORTED, _PARTLY)
        return "partly" if level == "supported" and self.worst < _FEWEST_OF_WORST else level

    @property
    def nearly(self) -> bool:
        """Whether it is near enough where something else speaks for it as well."""
        return self.mean is not None and self.mean >= _NEARLY

    def support_of_fragment(self) -> Support:
        """Return the same for a few words that the place does not hold as they are: so few are
        near to anything of their kind."""
        if self.mean is None:
            return "partly" if self.words >= _WORDS_SUPPORTED else "unsupported"
        return "supported" if self.mean >= _FRAGMENT else "unsupported"


class Nearness:
    """Late interaction over the states of an encoder; keeps what it has encoded."""

    def __init__(self, encoder: TokenEncoder | None) -> None:
        self._encoder = encoder
        self._vectors: dict[str, FloatArray] = {}
        self._rows: dict[str, FloatArray] = {}

    async def measure(
        self, text: str, claim: Reading, page: Page, places: Sequence[Window]
    ) -> list[Near]:
        """Return how near each place of the page is to the text. Raises as TokenEncoder does."""
        if self._encoder is None:
            return [_by_words(place) for place in places]
        await self._encode([text, *(sentence.text for sentence in page.sentences)])
        asked = self._rows[text]
        each = [best_cosines(asked, self._rows[s.text]) for s in page.sentences]
        return [_near(place, each) for place in places]

    async def fits(self, text: str, own: Sequence[str], leads: Sequence[str]) -> list[float]:
        """Return how near the text is to each statement, as the mean of the best cosines; what
        its sentence says before it counts a little less. Zeros without an encoder.

        Raises: as TokenEncoder does.
        """
        if self._encoder is None or not text.strip():
            return [0.0] * len(own)
        await self._encode([text, *own, *(lead for lead in leads if lead.strip())])
        asked = self._rows[text]
        fits = []
        for statement, lead in zip(own, leads, strict=True):
            best = best_cosines(asked, self._rows[statement])
            if lead.strip():
                best = np.maximum(best, best_cosines(asked, self._rows[lead]) - _LEAD_LESS)
            fits.append(float(best.mean()) if len(best) else 0.0)
        return fits

    async def translated(self, names: Sequence[str], words: Sequence[str]) -> bool:
        """Return whether each name has its like among the words, as "London" in "Londres"."""
        if self._encoder is None or not words:
            return False
        await self._encode([*names, *words])
        return all(any(self._same(name, word) for word in set(words)) for name in names)

    def _same(self, name: str, word: str) -> bool:
        cosine = float(self._vectors[name] @ self._vectors[word])
        alike = name[:_NAME_LETTERS] == word[:_NAME_LETTERS] or _scripts_differ(name, word)
        return cosine >= (_SAME_NAME_ALIKE if alike else _SAME_NAME)

    async def _encode(self, texts: Sequence[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if not new or self._encoder is None:
            return
        states = await self._encoder.encode(new, "passage")
        if len(states) != len(new):
            raise EmbeddingInvalid(
                f"the encoder gave {len(states)} texts, not {len(new)}", hint="try again"
            )
        for text, state in zip(new, states, strict=True):
            if not (np.isfinite(state.states).all() and np.isfinite(state.vector).all()):
                raise EmbeddingInvalid("the encoder gave states that are not finite")
            self._vectors[text] = state.vector
            self._rows[text] = normalised(state.states, np.zeros(len(state.vector), np.float32))


def _near(place: Window, each: Sequence[FloatArray]) -> Near:
    best: FloatArray = np.max(np.stack(each[place.first : place.last + 1]), axis=0)
    mean, worst = (float(best.mean()), float(best.min())) if len(best) else (0.0, 0.0)
    longer = _LONGER * (place.last - place.first)
    return Near(
        mean=mean,
        worst=worst,
        words=place.coverage,
        score=mean + _WORDS_WEIGHT * place.soft - longer,
    )


def _by_words(place: Window) -> Near:
    longer = _LONGER * (place.last - place.first)
    return Near(mean=None, worst=None, words=place.coverage, score=place.soft - longer)


def _level(value: float, supported: float, partly: float) -> Support:
    return "supported" if value >= supported else "partly" if value >= partly else "unsupported"


def _scripts_differ(one: str, other: str) -> bool:
    return one.isascii() != other.isascii()
