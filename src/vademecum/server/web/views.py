"""What does a page show of an answer? The same while it is written and when it is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

import regex
from markupsafe import Markup

from vademecum.model.answer import Answer, Checked, Citation, Sentence, Support
from vademecum.model.conversation import Turn
from vademecum.model.ids import ChunkId, DocumentId
from vademecum.model.memory import Memory, MemorySignals
from vademecum.model.passage import ConfirmedChunk, Passage
from vademecum.server.web.markup import is_block, marked_up

_WORD = regex.compile(r"[\p{L}\p{N}]+")
_MARKERS = regex.compile(r"(?:\s\[\d+\])+\s*$")
NEAREST = 3
_QUOTE_LETTERS = 400
Found = Mapping[ChunkId, ConfirmedChunk]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A span `start:end` of a document's text that an answer points to."""

    marker: int
    chunk_id: ChunkId
    document_id: DocumentId
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A citation as it is shown: where it leads and what stands there; `seen` is False where the
    passage is no longer in force, or not for whoever looks."""

    marker: int
    href: str
    seen: bool
    title: str
    headings: tuple[str, ...]
    pages: tuple[int, int] | None
    since: str
    until: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidView:
    """One sentence, rendered."""

    html: Markup
    block: bool
    support: Support
    why: str
    chips: tuple[Chip, ...]
    remembered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView:
    """A memory that was at hand, with what chose it; None for the profile's, which always are."""

    memory: Memory
    score: float | None
    signals: Mapping[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one of two sources says, and the day since when it is in force."""

    chip: Chip
    since: date


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictView:
    """Two sources that say different things, the cited one first."""

    kind: str
    sides: tuple[Side, Side]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """An answer under its question. `plain` is its text for copying; `nearest` are passages that
    were found where it says that it does not know."""

    turn_id: UUID | None
    trace_id: UUID | None
    conversation_id: UUID | None
    state: str
    abstained: bool
    text: str
    said: tuple[SaidView, ...]
    plain: str
    nearest: tuple[Chip, ...]
    searched: tuple[str, ...]
    memories: tuple[MemoryView, ...]
    degraded: tuple[str, ...]
    milliseconds: float | None
    at: datetime | None
    conflicts: tuple[ConflictView, ...] = ()
    as_of: str = ""


def chip(place: Place, source: ConfirmedChunk | None) -> Chip:
    """Return a citation as it is shown."""
    href = (
        f"/sources/{place.document_id}/passage?chunk={place.chunk_id}"
        f"&start={place.start}&end={place.end}"
    )
    if source is None:
        return Chip(
            marker=place.marker, href=href, seen=False, title="", headings=(), pages=None,
            since="", until="", quote="",
        )  # fmt: skip
    chunk = source.chunk
    quote = chunk.text[max(0, place.start - chunk.start) : max(0, place.end - chunk.start)]
    first, last = chunk.page_at(place.start), chunk.page_at(max(place.start, place.end - 1))
    return Chip(
        marker=place.marker,
        href=href,
        seen=True,
        title=source.title or source.uri,
        headings=chunk.heading_path,
        pages=(first, last) if first is not None and last is not None else None,
        since=str(source.metadata.get("effective_from") or ""),
        until=str(source.metadata.get("effective_until") or ""),
        quote=" ".join(quote.split())[:_QUOTE_LETTERS],
    )


def said_view(sentence: Sentence, places: Sequence[Place], found: Found) -> SaidView:
    """Return a sentence with a chip for each of its markers: the place that is nearest to it."""
    html = marked_up(sentence.text)
    chips = []
    for marker in sentence.markers:
        own = [place for place in places if place.marker == marker]
        if own:
            best = max(own, key=lambda place: _shared(sentence.text, place, found))
            chips.append(chip(best, found.get(best.chunk_id)))
    return SaidView(
        html=html,
        block=is_block(html),
        support=sentence.support,
        why=sentence.why,
        chips=tuple(chips),
        remembered=bool(sentence.memories),
    )


def _shared(text: str, place: Place, found: Found) -> int:
    """Count the words that a sentence has in common with what stands at a place."""
    source = found.get(place.chunk_id)
    if source is None:
        return -1
    chunk = source.chunk
    quote = chunk.text[max(0, place.start - chunk.start) : max(0, place.end - chunk.start)]
    return len(_words(text) & _words(quote))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def place_of(citation: Citation) -> Place:
    return Place(
        marker=citation.marker,
        chunk_id=citation.chunk_id,
        document_id=citation.document_id,
        start=citation.start,
        end=citation.end,
    )


def checked_view(checked: Checked, found: Found) -> SaidView:
    """Return a sentence that has just been checked."""
    places = [place_of(citation) for citation in checked.citations]
    return said_view(checked.sentence, places, found)


def answer_view(answer: Answer, *, at: datetime | None = None) -> AnswerView:
    """Return an answer that has just been written."""
    found = sources_of(answer.passages)
    places = [place_of(citation) for citation in answer.citations]
    return AnswerView(
        turn_id=answer.turn_id,
        trace_id=answer.trace_id,
        conversation_id=answer.conversation_id,
        state="complete",
        abstained=answer.abstained,
        text=answer.text,
        said=tuple(said_view(sentence, places, found) for sentence in answer.sentences),
        plain=_plain(answer.sentences, answer.text, places, found),
        nearest=tuple(_nearest(p) for p in answer.passages[:NEAREST]) if answer.abstained else (),
        searched=answer.searched,
        memories=tuple(
            MemoryView(memory=one.memory, score=one.score, signals=_values(one.signals))
            for one in answer.memories
        ),
        degraded=answer.degraded,
        milliseconds=answer.timings_ms.get("total"),
        at=at,
        conflicts=_conflicts(
            [(c.kind, place_of(c.other)) for c in answer.conflicts], places, found
        ),
        as_of=answer.as_of.isoformat() if answer.as_of else "",
    )


def sources_of(passages: Sequence[Passage]) -> dict[ChunkId, ConfirmedChunk]:
    return {passage.source.chunk.id: passage.source for passage in passages}


def _values(signals: MemorySignals | None) -> Mapping[str, float] | None:
    if signals is None:
        return None
    names = ("similarity", "importance", "emotion", "recency", "usage")
    return {name: getattr(signals, name) for name in names}


def _nearest(passage: Passage) -> Chip:
    chunk = passage.source.chunk
    place = Place(
        marker=passage.rank, chunk_id=chunk.id, document_id=passage.source.document_id,
        start=chunk.start, end=chunk.end,
    )  # fmt: skip
    return chip(place, passage.source)


def chunks_in(record: Mapping[str, Any]) -> set[ChunkId]:
    """Return the chunks that a kept answer's page needs: those it cites, or the nearest ones."""
    cited = (*record.get("citations", ()), *record.get("conflicts", ()))
    named = [citation["chunk_id"] for citation in cited]
    if record.get("abstained"):
        named += [candidate["chunk_id"] for candidate in _candidates(record)]
    return {ChunkId(UUID(name)) for name in named}


def _candidates(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    every = [c for search in record.get("searches", ()) for c in search.get("candidates", ())]
    return sorted(every, key=lambda candidate: int(candidate["rank"]))[:NEAREST]


def turn_view(
    turn: Turn,
    conversation_id: UUID,
    record: Mapping[str, Any],
    found: Found,
    memories: Mapping[UUID, Memory],
) -> AnswerView:
    """Return an answer as it is kept: its text is cut again where its record says."""
    places = [_kept_place(cited) for cited in record.get("citations", ())]
    otherwise = [(c["kind"], _kept_place(c)) for c in record.get("conflicts", ())]
    abstained = bool(record.get("abstained"))
    sentences = () if abstained else _sentences(turn.text, record.get("sentences", ()))
    scores = {one["memory_id"]: one for one in record.get("memories", ())}
    total = record.get("timings_ms", {}).get("total")
    nearest = _candidates(record) if abstained else []
    return AnswerView(
        turn_id=turn.id,
        trace_id=turn.trace_id,
        conversation_id=conversation_id,
        state=turn.state,
        abstained=abstained,
        text=turn.text,
        said=tuple(said_view(sentence, places, found) for sentence in sentences),
        plain=_plain(sentences, turn.text, places, found),
        nearest=tuple(_kept_nearest(candidate, found) for candidate in nearest),
        searched=tuple(str(search.get("query", "")) for search in record.get("searches", ())),
        memories=tuple(
            MemoryView(
                memory=memories[used],
                score=scores.get(str(used), {}).get("score"),
                signals=scores.get(str(used), {}).get("signals"),
            )
            for used in turn.used_memories
            if used in memories
        ),
        degraded=tuple(record.get("degraded", ())),
        milliseconds=float(total) if total is not None else None,
        at=turn.created_at,
        conflicts=_conflicts(otherwise, places, found),
        as_of=day_of(record),
    )


def day_of(record: Mapping[str, Any]) -> str:
    """Return the day that a kept answer is about, as it is written; "" for the day it was given."""
    return str(record.get("asked", {}).get("as_of") or "")


def _conflicts(
    others: Sequence[tuple[str, Place]], places: Sequence[Place], found: Found
) -> tuple[ConflictView, ...]:
    """Return each conflict both of whose sides may still be seen, once."""
    views: dict[ConflictView, None] = {}
    for kind, other in others:
        mine = next((place for place in places if place.marker == other.marker), None)
        if mine is None or mine.chunk_id not in found or other.chunk_id not in found:
            continue
        sides = [
            Side(chip=chip(place, found[place.chunk_id]), since=found[place.chunk_id].since.date())
            for place in (mine, other)
        ]
        views[ConflictView(kind=kind, sides=(sides[0], sides[1]))] = None
    return tuple(views)


def _kept_place(kept: Mapping[str, Any]) -> Place:
    return Place(
        marker=int(kept["marker"]),
        chunk_id=ChunkId(UUID(kept["chunk_id"])),
        document_id=DocumentId(UUID(kept["document_id"])),
        start=int(kept["start"]),
        end=int(kept["end"]),
    )


def _kept_nearest(candidate: Mapping[str, Any], found: Found) -> Chip:
    chunk_id = ChunkId(UUID(candidate["chunk_id"]))
    source = found.get(chunk_id)
    place = Place(
        marker=int(candidate["rank"]), chunk_id=chunk_id,
        document_id=DocumentId(UUID(candidate["document_id"])),
        start=source.chunk.start if source else 0, end=source.chunk.end if source else 0,
    )  # fmt: skip
    return chip(place, source)


def _sentences(text: str, records: Sequence[Mapping[str, Any]]) -> tuple[Sentence, ...]:
    """Cut a turn's text into its sentences; without a record, as an interrupted one has none, into
    its lines."""
    made: list[Sentence] = []
    at = 0
    for record in records:
        markers = tuple(int(marker) for marker in record["markers"])
        words = text[at : at + int(record["letters"])]
        at += len(" ".join([words, *(f"[{marker}]" for marker in markers)])) + 1
        made.append(
            Sentence(
                text=words, markers=markers, support=record["support"], why=record.get("why", "")
            )
        )
    if made:
        return tuple(made)
    return tuple(
        Sentence(text=_MARKERS.sub("", line), markers=(), support="supported")
        for line in text.split("\n")
        if line.strip()
    )


def _plain(sentences: Sequence[Sentence], text: str, places: Sequence[Place], found: Found) -> str:
    """Return an answer with its sources as text, for the clipboard."""
    lines = [
        " ".join([said.text, *(f"[{marker}]" for marker in said.markers)]) for said in sentences
    ]
    sources = []
    for place in {place.marker: place for place in reversed(places)}.values():
        shown = chip(place, found.get(place.chunk_id))
        if shown.seen:
            page = f", p. {shown.pages[0]}" if shown.pages else ""
            sources.append((place.marker, f"[{place.marker}] {shown.title}{page}"))
    tail = ["", *(line for _, line in sorted(sources))] if sources else []
    return "\n".join([*(lines or [text]), *tail])
