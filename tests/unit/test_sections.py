"""Is each section read once, by the name of its best chunk, and only where there is one?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import cast

import pytest

from vademecum.errors import DatabaseAway
from vademecum.model.ids import ChunkId
from vademecum.model.passage import Abstention, ConfirmedChunk, Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.ports.store import DocumentStore
from vademecum.retrieve.sections import in_sections
from vademecum.testing.passages import make_passage

SCOPE = Scope.for_operator("default")
TEXT = "One two. Three four. Five six. Seven eight. Nine ten. "
PARTS = ("One two.", "Three four.", "Five six.", "Seven eight.", "Nine ten.")


class Sections:
    """The part of a DocumentStore that is asked here; `known` maps a chunk to what is read."""

    def __init__(self, known: Mapping[ChunkId, ConfirmedChunk], away: bool = False) -> None:
        self.asked: list[list[ChunkId]] = []
        self._known = known
        self._away = away

    @property
    def store(self) -> DocumentStore:
        return cast(DocumentStore, self)

    async def confirm(
        self, scope: Scope, chunk_ids: Sequence[ChunkId], as_of: date | None, *, sections: bool
    ) -> dict[ChunkId, ConfirmedChunk]:
        assert sections
        if self._away:
            raise DatabaseAway("away", hint="")
        self.asked.append(list(chunk_ids))
        return {item: self._known[item] for item in chunk_ids if item in self._known}


def found(number: int, rank: int, section: tuple[int, int] | None) -> Passage:
    """The passage of one of the parts, as the `rank`-th."""
    passage = make_passage(PARTS[number], rank=rank, at=TEXT.index(PARTS[number]))
    chunk = replace(passage.source.chunk, section=section)
    return replace(passage, source=replace(passage.source, chunk=chunk))


def search(*passages: Passage) -> Retrieval:
    return Retrieval(
        query="", passages=passages, degraded=(), timings_ms={}, plan="", fusion={},
        abstention=Abstention(would=False, reason="", confidence=1.0),
    )  # fmt: skip


def read(*passages: Passage) -> dict[ChunkId, ConfirmedChunk]:
    """What the store gives for chunks: their sections' text under their own ids."""
    known = {}
    for passage in passages:
        chunk = passage.source.chunk
        if chunk.section is not None:
            start, end = chunk.section
            whole = replace(chunk, start=start, end=end, text=TEXT[start:end])
            known[chunk.id] = replace(passage.source, chunk=whole)
    return known


A, B = (0, 20), (21, 43)


async def test_several_chunks_of_a_section_are_it_once_at_the_best_ones_place() -> None:
    passages = [found(2, 1, B), found(0, 2, A), found(1, 3, A), found(3, 4, B)]
    store = Sections(read(*passages))
    [result] = await in_sections(store.store, SCOPE, [search(*passages)], None, 1.0)
    assert [(p.rank, p.source.chunk.text) for p in result.passages] == [
        (1, "Five six. Seven eight."),
        (2, "One two. Three four."),
    ]
    assert [p.source.chunk.id for p in result.passages] == [
        passages[0].source.chunk.id,
        passages[1].source.chunk.id,
    ]
    assert result.passages[0].score == passages[0].score
    assert len(store.asked) == 1, "all are read at once"


async def test_a_section_has_one_name_in_all_searches_of_a_question() -> None:
    one = [found(0, 1, A), found(2, 2, B)]
    other = [found(3, 1, B), found(1, 2, A)]
    store = Sections(read(*one, *other))
    results = await in_sections(store.store, SCOPE, [search(*one), search(*other)], None, 1.0)
    names = [{p.source.chunk.text: p.source.chunk.id for p in r.passages} for r in results]
    assert names[0] == names[1]
    assert names[0]["One two. Three four."] == one[0].source.chunk.id
    assert names[0]["Five six. Seven eight."] == other[0].source.chunk.id
    assert [p.source.chunk.text for p in results[1].passages] == [
        "Five six. Seven eight.",
        "One two. Three four.",
    ]


async def test_sections_of_two_documents_or_revisions_stay_apart() -> None:
    mine = found(0, 1, A)
    elsewhere = make_passage(PARTS[0], rank=2, uri="other.md")
    chunk = replace(elsewhere.source.chunk, section=A)
    other = replace(elsewhere, source=replace(elsewhere.source, chunk=chunk))
    later = found(1, 3, A)
    later = replace(later, source=replace(later.source, revision=2))
    store = Sections(read(mine, other, later))
    [result] = await in_sections(store.store, SCOPE, [search(mine, other, later)], None, 1.0)
    assert [p.rank for p in result.passages] == [1, 2, 3]


async def test_where_there_are_no_sections_nobody_is_asked() -> None:
    searches = [search(found(0, 1, None), found(1, 2, None)), search()]
    away = Sections({}, away=True)
    assert await in_sections(away.store, SCOPE, searches, None, 1.0) == searches


async def test_a_chunk_without_a_section_stands_beside_sections_as_it_is() -> None:
    passages = [found(4, 1, None), found(0, 2, A)]
    store = Sections(read(*passages))
    [result] = await in_sections(store.store, SCOPE, [search(*passages)], None, 1.0)
    assert [p.source.chunk.text for p in result.passages] == ["Nine ten.", "One two. Three four."]
    assert store.asked == [[passages[1].source.chunk.id]]


async def test_what_the_store_does_not_confirm_is_left_out() -> None:
    passages = [found(0, 1, A), found(2, 2, B)]
    store = Sections(read(passages[1]))
    [result] = await in_sections(store.store, SCOPE, [search(*passages)], None, 1.0)
    assert [(p.rank, p.source.chunk.text) for p in result.passages] == [
        (1, "Five six. Seven eight.")
    ]


async def test_a_store_that_is_away_ends_the_question() -> None:
    away = Sections({}, away=True)
    with pytest.raises(DatabaseAway):
        await in_sections(away.store, SCOPE, [search(found(0, 1, A))], None, 1.0)
