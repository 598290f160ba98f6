"""Do late interaction and a reranker change the order by what they say, and only among the first?"""

from uuid import UUID

import numpy as np
import pytest

from vademecum.errors import ModelUnusable
from vademecum.model.embedding import TokenStates
from vademecum.model.ids import ChunkId, DocumentId
from vademecum.model.passage import Signals
from vademecum.rank.maxsim import packed_signs
from vademecum.retrieve.rerank import (
    RERANKED,
    by_texts,
    capped,
    checked_scores,
    is_close,
    late_interaction,
    reordered,
)
from vademecum.testing.passages import make_chunk

IDS = sorted(make_chunk("x", at=at).id for at in range(RERANKED + 3))
A, B, C = IDS[:3]


def order(final: dict[ChunkId, float]) -> list[ChunkId]:
    return sorted(final, key=lambda item: -final[item])


@pytest.mark.parametrize(
    ("best_share", "mixed", "weight"),
    [(0.5, False, 1), (0.2, False, 1), (0.19, False, 3), (0.5, True, 2), (0.1, True, 3)],
)
def test_the_weight_follows_the_languages(best_share: float, mixed: bool, weight: int) -> None:
    # z(3, 2, 1) = 1.224745, 0, -1.224745; z(.1, .3, .2) = -1.224745, 1.224745, 0
    final = reordered(
        {A: 3.0, B: 2.0, C: 1.0}, {A: 0.1, B: 0.3, C: 0.2}, best_share=best_share, mixed=mixed
    )
    z = 1.5**0.5
    assert final == pytest.approx({A: z - weight * z, B: weight * z, C: -z})


def test_one_without_states_keeps_the_mean() -> None:
    final = reordered({A: 2.0, B: 1.0}, {B: 0.9}, best_share=1.0, mixed=False)
    # one MaxSim alone says nothing: z = 0
    assert final == pytest.approx({A: 1.0, B: -1.0})


def test_those_behind_stay_behind_in_their_order() -> None:
    fused = {item: 100.0 - place for place, item in enumerate(IDS)}
    late = dict.fromkeys(IDS, 0.0) | {IDS[-1]: 1.0, IDS[1]: 0.5}
    final = reordered(fused, late, best_share=1.0, mixed=False)
    assert order(final)[0] == IDS[1]
    assert order(final)[RERANKED:] == IDS[RERANKED:]


def test_nothing_stays_nothing() -> None:
    assert reordered({}, {}, best_share=0.0, mixed=False) == {}


def test_maxsim_of_each_candidate_by_its_signs() -> None:
    query = TokenStates(
        vector=np.zeros(8, np.float32),
        states=np.eye(8, dtype=np.float32)[:1] * 2 - 1,
        weights=np.ones(1, np.float32),
        token_ids=np.ones(1, np.int64),
    )
    own = query.states[0]
    centre = np.zeros(8, np.float32)
    signs = {A: packed_signs(own[None], centre), B: packed_signs(-own[None], centre)}
    found = late_interaction(query, centre, signs)
    assert found == pytest.approx({A: 1.0, B: -1.0})


def test_a_query_without_tokens_says_nothing() -> None:
    empty = TokenStates(
        vector=np.zeros(8, np.float32),
        states=np.zeros((0, 8), np.float32),
        weights=np.zeros(0, np.float32),
        token_ids=np.zeros(0, np.int64),
    )
    assert late_interaction(empty, np.zeros(8, np.float32), {A: b"\0"}) == {}


def signals(*finals: float) -> dict[ChunkId, Signals]:
    """Candidates with these scores, as they stand before a reranker is asked."""
    return {item: Signals(fused=1.0, final=own) for item, own in zip(IDS, finals, strict=False)}


def test_each_score_stays_with_its_candidate() -> None:
    found = by_texts(signals(3.0, 2.0, 1.0), {A: 0.1, B: 0.9, C: 0.5}, 3)
    assert {item: own.reranked for item, own in found.items()} == {A: 0.1, B: 0.9, C: 0.5}
    z = 1.5**0.5
    assert [own.final for own in found.values()] == pytest.approx([z, 0.0, -z])
    assert list(found) == [B, A, C]
    assert {own.fused for own in found.values()} == {1.0}


def test_ties_come_by_id_whatever_the_order_was() -> None:
    given = {B: Signals(final=1.0), A: Signals(final=1.0)}
    assert list(by_texts(given, {A: 0.5, B: 0.5}, 2)) == [A, B]


def test_those_that_were_not_scored_stay_behind() -> None:
    # z(5, 4, 3) = Z, 0, -Z; z(-1, 1, 0) = -Z, Z, 0; the fourth was not read
    found = by_texts(signals(5.0, 4.0, 3.0, 99.0), {A: -1.0, B: 1.0, C: 0.0}, 3)
    assert list(found) == [B, A, C, IDS[3]]
    assert [own.reranked for own in found.values()] == [1.0, -1.0, 0.0, None]


def test_without_a_score_nothing_changes() -> None:
    given = signals(3.0, 2.0)
    assert by_texts(given, {}, 10) == given


@pytest.mark.parametrize(
    ("finals", "close"),
    [
        ((10.0, *[0.0] * 9), False),  # leads by 10 / 3
        ((10.0, 9.9, *[0.0] * 8), True),
        ((10.0, 0.0), True),  # too few to tell
        ((1.0,), False),  # nothing to change places with
        ((), False),
    ],
)
def test_a_first_place_is_argued_about_where_it_is_close(
    finals: tuple[float, ...], close: bool
) -> None:
    assert is_close(signals(*finals), 1.0) is close


def test_the_lead_must_be_as_large_as_is_set() -> None:
    given = signals(10.0, *[0.0] * 9)
    assert not is_close(given, 10 / 3 - 0.01)
    assert is_close(given, 10 / 3 + 0.01)


def test_only_those_that_were_reranked_count_for_the_lead() -> None:
    far_behind = [0.0] * (RERANKED - 2) + [-1e9] * 3
    assert not is_close(signals(10.0, 0.0, *far_behind), 1.0)


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0], []])
def test_scores_that_are_not_one_a_text_are_refused(scores: list[float | None]) -> None:
    with pytest.raises(ModelUnusable, match=f"gave {len(scores)} scores for 2 texts"):
        checked_scores(scores, 2)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_scores_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ModelUnusable, match="no finite number"):
        checked_scores([1.0, bad], 2)
    assert checked_scores([1.0, None], 2) == [1.0, None]


def test_a_document_has_so_many_passages_and_no_more() -> None:
    given = signals(5.0, 4.0, 3.0, 2.0)
    one, two = DocumentId(UUID(int=1)), DocumentId(UUID(int=2))
    documents = dict(zip(given, [one, one, two, one], strict=True))
    assert list(capped(given, documents, 1)) == [A, C]
    assert list(capped(given, documents, 2)) == [A, B, C]
    assert list(capped(given, documents, 0)) == [A, B, C, IDS[3]]
