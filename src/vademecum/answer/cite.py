"""Does the cited passage really say what the sentence says? Nothing is shown before this."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import regex

from vademecum.answer.binding import Against, against_place
from vademecum.answer.evidence import (
    MISSING,
    Page,
    Reading,
    Window,
    joined,
    joined_facts,
    read,
    read_page,
    windows,
)
from vademecum.answer.markers import Claim, without_markers
from vademecum.answer.nearness import Nearness
from vademecum.model.answer import Citation, Sentence, Support
from vademecum.model.passage import Passage
from vademecum.ports.embedder import TokenEncoder
from vademecum.text.content import content_words
from vademecum.text.language import RULED, detect
from vademecum.text.late import late
from vademecum.text.normalise import fold
from vademecum.text.orders import asks_for_orders, is_active, is_request

OBEYED = "instruction"

_QUOTED = late(r"[\"“«„]([^\"“”«»„]+)[\"”»“]")
_BLANKS = late(r"\s+")
_LIST_ITEM = late(r"^\s*(?:[-*•]\s+)?(?:[*_]*\d{1,3}[.)]\s+)?")
_MARK_AT_END = late(r"[\s.!?。]+$")
_FEWEST_WORDS = 3  # of a sentence that can be proven by itself; a shorter one needs its question
# Another place counts too if it is so near to the nearest one.
_AS_NEAR = 0.04
# An answer of so few words is a part of a sentence: its question is the rest.
_MOST_WORDS_OF_FRAGMENT = 5
_ASKED_ELSEWHERE = 0.06
_ORDER: tuple[Support, ...] = ("unsupported", "partly", "supported")


def plain(text: str) -> str:
    """Return the form in which a quotation is compared: folded, without markers, blanks as one
    space."""
    return _BLANKS.sub(" ", fold(without_markers(text))).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one passage gives a sentence: its support, the span that says it, and why not more."""

    support: Support
    start: int
    end: int
    why: str


class Gate:
    """The check of one answer's sentences against the sources of its request.

    What it reads of a source serves all sentences. `question` completes a sentence that is too
    short to be proven alone, as "5 days". Without `encoder` words alone decide.
    """

    def __init__(
        self, sources: Mapping[int, Passage], encoder: TokenEncoder | None, question: str = ""
    ) -> None:
        self._sources = sources
        self._question = question
        self._nearness = Nearness(encoder)
        self._pages: dict[int, Page] = {}

    def without_encoder(self) -> "Gate":
        """Return the same check by words alone, for when the encoder fails."""
        return Gate(self._sources, None, self._question)

    async def check(self, claim: Claim) -> tuple[Sentence, tuple[Citation, ...]]:
        """Check one sentence against the passages it cites, by number of this request's sources.

        A marker that names no source of this request is dropped. A number, unit, day, name, code
        or quotation that no cited place holds, a denial turned round, and changed roles are each
        a veto; then the nearest place decides by similarity.

        Raises: EmbeddingInvalid, ModelUnusable, ProviderAway.
        """
        cited = [marker for marker in claim.markers if marker in self._sources]
        if not cited:
            return Sentence(text=claim.text, markers=(), support="unsupported", why="no source"), ()
        stated = _LIST_ITEM.sub("", claim.text)
        if is_active(stated):
            verdicts = {marker: self._whole(marker, OBEYED) for marker in cited}
        elif not self._quotes(stated, cited):
            verdicts = {marker: self._whole(marker, "quotation") for marker in cited}
        else:
            found = await self._verdicts(stated, cited)
            verdicts = {m: await self._unless_obeyed(m, verdict) for m, verdict in found.items()}
        support = max((v.support for v in verdicts.values()), key=_ORDER.index)
        why = "" if support == "supported" else _reason(verdicts.values(), support)
        citations = tuple(
            citation(m, self._sources[m], v.start, v.end, support=support)
            for m, v in verdicts.items()
        )
        return (
            Sentence(text=claim.text, markers=tuple(cited), support=support, why=why),
            citations,
        )

    async def _unless_obeyed(self, marker: int, verdict: Verdict) -> Verdict:
        """Return the verdict, or a veto where the sentence only does what the passage orders.

        An order is no evidence. A request, and what stands in a passage with orders, is, where it
        speaks of what was asked. A question about instructions may be answered by quoting them.
        """
        if verdict.support == "unsupported" or asks_for_orders(self._question):
            return verdict
        page = self._page(marker)
        place = [
            i for i, (start, _) in enumerate(page.spans) if verdict.start <= start < verdict.end
        ]
        doubtful = page.orders or any(is_request(page.sentences[i].text) for i in place)
        if not page.orders.isdisjoint(place) or (
            doubtful and await self._is_beside_the_question(page, place)
        ):
            return replace(verdict, support="unsupported", why=OBEYED)
        return verdict

    async def _is_beside_the_question(self, page: Page, place: Sequence[int]) -> bool:
        if not self._question:
            return False
        asked = read(self._question, detect(self._question, RULED))
        places = windows(asked, page, asked.soft, size=1)
        near = await self._nearness.measure(self._question, asked, page, places)
        honest = [n.score for i, n in enumerate(near) if i not in page.orders]
        return max(near[i].score for i in place) < max(honest) - _ASKED_ELSEWHERE

    def _quotes(self, text: str, cited: Sequence[int]) -> bool:
        """Return whether all quoted words stand in the cited passages, one after another."""
        known = [plain(self._sources[marker].source.chunk.text) for marker in cited]
        return all(any(plain(quoted) in text for text in known) for quoted in _QUOTED.findall(text))

    def _whole(self, marker: int, why: str) -> Verdict:
        length = len(self._sources[marker].source.chunk.text)
        return Verdict(support="unsupported", start=0, end=length, why=why)

    async def _verdicts(self, text: str, cited: Sequence[int]) -> dict[int, Verdict]:
        exact = {m: verdict for m in cited if (verdict := self._exact(m, text)) is not None}
        language = detect(text, RULED)
        found = {
            m: exact[m] if m in exact else await self._compare(m, text, language) for m in cited
        }
        if any(v.support != "unsupported" for v in found.values()):
            return found
        if not any(v.why in MISSING for v in found.values()):
            return found
        if len(cited) > 1 and (together := await self._together(text, language, found)):
            return together
        return await self._by_parts(text, cited) or found

    def _page(self, marker: int) -> Page:
        if marker not in self._pages:
            chunk = self._sources[marker].source.chunk
            self._pages[marker] = read_page(chunk.text, chunk.context, chunk.language)
        return self._pages[marker]

    def _exact(self, marker: int, text: str) -> Verdict | None:
        """Return the verdict where the text is one or more whole sentences of the passage."""
        page = self._page(marker)
        wanted = _MARK_AT_END.sub("", plain(text))
        if len(content_words(wanted)) < _FEWEST_WORDS and not self._question:
            return None
        sentences = [plain(sentence.text) for sentence in page.sentences]
        for first in range(len(sentences)):
            for last in range(first, len(sentences)):
                run = " ".join(sentences[first : last + 1])
                if len(run) > len(wanted) + 3:
                    break
                if _MARK_AT_END.sub("", _LIST_ITEM.sub("", run)) == wanted and wanted:
                    start, end = page.spans[first][0], page.spans[last][1]
                    return Verdict(support="supported", start=start, end=end, why="")
        return None

    async def _compare(self, marker: int, text: str, language: str) -> Verdict:
        """Return what the nearest place in one passage gives the text."""
        page = self._page(marker)
        claim = read(text, language, page.names)
        if len(claim.words) <= _MOST_WORDS_OF_FRAGMENT and (phrase := self._phrase(marker, text)):
            return await self._fragment(claim, page, phrase)
        if len(claim.words) < _FEWEST_WORDS:
            return self._whole(marker, "similarity" if self._question else "too short")
        places = windows(claim, page, claim.soft)
        near = await self._nearness.measure(text, claim, page, places)
        order = sorted(range(len(places)), key=lambda i: -near[i].score)
        against = await against_place(claim, page, self._nearness)
        vetoes = [
            (i, await self._vetoed(claim, page, places[i], against))
            for i in order
            if near[i].score >= near[order[0]].score - _AS_NEAR
        ]
        best, veto = next(((i, veto) for i, veto in vetoes if not veto), vetoes[0])
        place = places[best]
        support = near[best].support(cross=language != page.language)
        if self._question and len(claim.words) <= _MOST_WORDS_OF_FRAGMENT:
            support = near[best].support_of_fragment()
        elif support == "unsupported" and against.agrees and near[best].nearly:
            support = "partly"
        start, end = page.spans[place.first][0], page.spans[place.last][1]
        if veto:
            return Verdict(support="unsupported", start=start, end=end, why=veto)
        why = "" if support == "supported" else "similarity"
        return Verdict(support=support, start=start, end=end, why=why)

    def _phrase(self, marker: int, text: str) -> list[int]:
        """Return the sentences of a passage that hold a short text word for word, where the
        question says what it is about."""
        wanted = _MARK_AT_END.sub("", plain(text).strip("\"'“”«» "))
        if not self._question or not wanted:
            return []
        whole = regex.compile(rf"(?<!\w){regex.escape(wanted)}(?!\w)")
        sentences = self._page(marker).sentences
        return [i for i, part in enumerate(sentences) if whole.search(plain(part.text))]

    async def _fragment(self, claim: Reading, page: Page, held: Sequence[int]) -> Verdict:
        """Return what the sentences that hold a short answer give it: it must stand where the
        passage speaks of what was asked."""
        asked = read(self._question, detect(self._question, RULED))
        places = windows(claim, page, asked.soft)
        near = await self._nearness.measure(self._question, claim, page, places)
        holding = [i for i, p in enumerate(places) if any(p.first <= n <= p.last for n in held)]
        best = max(holding, key=lambda i: near[i].score)
        place, veto = places[best], await self._vetoed(claim, page, places[best])
        support: Support = "unsupported" if veto else "supported"
        if not veto and near[best].score < max(n.score for n in near) - _ASKED_ELSEWHERE:
            support, veto = "partly", "similarity"
        start, end = page.spans[place.first][0], page.spans[place.last][1]
        return Verdict(support=support, start=start, end=end, why=veto)

    async def _vetoed(
        self, claim: Reading, page: Page, place: Window, against: Against | None = None
    ) -> str:
        """Return the veto; a name may stand in the other language in another form."""
        veto = await self._of_place(claim, page, place)
        if against is not None and (against.turned or veto == "roles"):
            veto = "roles" if against.turned is not False else ""
        if veto or against is None:
            return veto or ("negation" if place.denied else "")
        if against.denied or (against.denied is None and place.denied):
            return "negation"
        return against.misplaced

    async def _of_place(self, claim: Reading, page: Page, place: Window) -> str:
        if place.veto == "name" and claim.language != page.language:
            here = [w for s in page.sentences[place.first : place.last + 1] for w in s.words]
            here += page.frame.words
            if await self._nearness.translated(place.unnamed, here):
                return place.rest
        return place.veto

    async def _together(
        self, text: str, language: str, found: Mapping[int, Verdict]
    ) -> dict[int, Verdict] | None:
        """Return the verdicts where the nearest places of all cited passages state it together."""
        pages = [self._page(marker) for marker in found]
        page = joined(
            [
                (p, [i for i, span in enumerate(p.spans) if v.start <= span[0] < v.end])
                for p, v in zip(pages, found.values(), strict=True)
            ]
        )
        claim = read(text, language, page.names)
        places = windows(claim, page, claim.soft, size=len(page.sentences))
        if not places:
            return None
        near = await self._nearness.measure(text, claim, page, places)
        support = near[-1].support(cross=language != page.language)
        if support == "unsupported" or await self._vetoed(claim, page, places[-1]):
            return None
        return {
            marker: Verdict(support=support, start=v.start, end=v.end, why="")
            for marker, v in found.items()
        }

    async def _by_parts(self, text: str, cited: Sequence[int]) -> dict[int, Verdict] | None:
        """Return the verdicts where each of the joined facts of a sentence is stated somewhere."""
        parts = joined_facts(text)
        if len(parts) < 2 or any(len(content_words(part)) < _FEWEST_WORDS for part in parts):
            return None
        spans: dict[int, list[Verdict]] = {}
        for part in parts:
            found = {m: await self._compare(m, part, detect(text, RULED)) for m in cited}
            marker = max(found, key=lambda m: _ORDER.index(found[m].support))
            if found[marker].support == "unsupported":
                return None
            spans.setdefault(marker, []).append(found[marker])
        support = min((v.support for vs in spans.values() for v in vs), key=_ORDER.index)
        return {
            marker: Verdict(
                support=support,
                start=min(v.start for v in verdicts),
                end=max(v.end for v in verdicts),
                why="" if support == "supported" else "similarity",
            )
            for marker, verdicts in spans.items()
        }


def _reason(verdicts: Iterable[Verdict], support: Support) -> str:
    return next((v.why for v in verdicts if v.support == support and v.why), "similarity")


async def verify(
    claim: Claim,
    sources: Mapping[int, Passage],
    encoder: TokenEncoder | None,
    question: str = "",
) -> tuple[Sentence, tuple[Citation, ...]]:
    """Check one sentence by itself; see `Gate.check`."""
    return await Gate(sources, encoder, question).check(claim)


def citation(marker: int, passage: Passage, start: int, end: int, *, support: Support) -> Citation:
    """Return the citation of the code points `start:end` of a passage's own text."""
    source, chunk = passage.source, passage.source.chunk
    return Citation(
        marker=marker,
        chunk_id=chunk.id,
        document_id=source.document_id,
        uri=source.uri,
        title=source.title,
        page_start=chunk.page_at(chunk.start + start),
        page_end=chunk.page_at(chunk.start + end - 1),
        start=chunk.start + start,
        end=chunk.start + end,
        quote=chunk.text[start:end],
        support=support,
    )


def merge(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return one citation a marker and span, in the order of their markers."""
    unique = {(item.marker, item.start, item.end): item for item in citations}
    return tuple(sorted(unique.values(), key=lambda item: (item.marker, item.start)))
