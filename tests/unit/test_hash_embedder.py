"""Does the fake embedder keep the ports' promises, and break them only on demand?"""

import time

import numpy as np
import pytest

from vademecum.errors import ProviderAway
from vademecum.testing.conformance_embedder import EmbedderConformance, FullEmbedder
from vademecum.testing.embedders import Fault, HashEmbedder


class TestHashEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> FullEmbedder:
        return HashEmbedder()


@pytest.mark.parametrize("dimension", [1, 2, 8, 384, 4000])
async def test_any_dimension(dimension: int) -> None:
    vectors = await HashEmbedder(dimension=dimension).embed(["one two", "!"], "passage")
    assert vectors.shape == (2, dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


async def test_vectors_are_the_same_in_every_version() -> None:
    [vector] = await HashEmbedder(dimension=8).embed(["North gate"], "query")
    expected = [-0.4105, -0.0034, 0.4105, -0.4105, 0.0034, 0.4105, -0.4037, 0.4037]
    assert vector == pytest.approx(expected, abs=1e-4)


async def test_another_model_of_the_same_size_gives_other_vectors() -> None:
    first, second = HashEmbedder(model="one"), HashEmbedder(model="two")
    assert first.space != second.space
    left = await first.embed(["the north gate"], "query")
    right = await second.embed(["the north gate"], "query")
    assert abs(float(left[0] @ right[0])) < 0.5


async def test_prefixes_are_recorded_by_role() -> None:
    embedder = HashEmbedder(query_prefix="Q ", passage_prefix="P ")
    await embedder.embed(["one"], "query")
    await embedder.encode(["two", "three"], "passage")
    assert [call.texts for call in embedder.calls] == [("Q one",), ("P two", "P three")]
    assert [call.role for call in embedder.calls] == ["query", "passage"]


async def test_faults_come_at_the_call_they_are_scripted_for() -> None:
    faults = {
        1: Fault(delay=0.05),
        2: Fault(error=ProviderAway("The provider is away")),
        3: Fault(drop_rows=1),
        4: Fault(nan_rows=(1,)),
    }
    embedder = HashEmbedder(faults=faults)
    start = time.perf_counter()
    healthy = await embedder.embed(["a", "b"], "passage")
    assert time.perf_counter() - start >= 0.05
    with pytest.raises(ProviderAway):
        await embedder.embed(["a", "b"], "passage")
    assert (await embedder.embed(["a", "b"], "passage")).shape == (1, 64)
    broken = await embedder.embed(["a", "b"], "passage")
    assert np.isnan(broken).all(axis=1).tolist() == [False, True]
    assert np.array_equal(await embedder.embed(["a", "b"], "passage"), healthy)
