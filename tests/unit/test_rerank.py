"""Does late interaction change the order by what it says, and only among the first?"""

import numpy as np
import pytest

from vademecum.model.embedding import TokenStates
from vademecum.model.ids import ChunkId
from vademecum.rank.maxsim import packed_signs
from vademecum.retrieve.rerank import RERANKED, late_interaction, reordered
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
