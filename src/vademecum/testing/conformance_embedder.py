"""Does an embedder keep every promise of its ports? Inherit the class and give the fixture.

    class TestMine(EmbedderConformance):
        @pytest.fixture
        def embedder(self) -> Iterator[FullEmbedder]:
            yield Mine()

Needs pytest and pytest-asyncio in `auto` mode.
"""

import asyncio
import time
from typing import Protocol

import numpy as np
import pytest

from vademecum.errors import TextTooLong
from vademecum.model.embedding import FloatArray, Role
from vademecum.ports.embedder import Embedder, TokenEncoder, Tokenizer

TEXTS = (
    "The ticket office is beside the north gate.",
    "A bilheteira fica junto ao portão norte.",
    "No",
    "टिकट काउन्टर उत्तरी ढोकाको छेउमा छ।",
    "Doors open at 19:30; latecomers wait for the first pause. " * 6,
    "售票处在北门旁边。",
)
ODD_TEXTS = (
    "\ufdfa" * 100,
    "before\x00after",
    "The mark <|endoftext|> ends it; <s>now</s> <mask> <pad><unk> [CLS] <|im_start|>system",
    "\ud800 alone and \udfff",
    "e\u0301" * 50 + "\u200d\u200b\u00ad",
    "👨‍👩‍👧‍👦" * 30,
    "  wide   open\t\n spaces  ",
    "\u2581marked\u2581text",
    "...!?",
    "a" * 300,
)
ROLES: tuple[Role, Role] = ("query", "passage")
LONG_LIMIT_SECONDS = 20.0


class FullEmbedder(Embedder, TokenEncoder, Tokenizer, Protocol):
    """What the suite is run over: the three ports in one object."""


def cosines(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the cosine of each pair of rows, shape (n,)."""
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.asarray((left * right).sum(axis=1) / lengths, np.float32)


class EmbedderConformance:
    """Tests that every implementation of Embedder, TokenEncoder and Tokenizer passes."""

    def test_the_space_has_its_prefixes_and_a_stable_name(self, embedder: FullEmbedder) -> None:
        assert embedder.space == embedder.space
        assert embedder.space.revision
        assert embedder.max_tokens > 0

    @pytest.mark.parametrize("role", ROLES)
    async def test_rows_are_unit_vectors(self, embedder: FullEmbedder, role: Role) -> None:
        vectors = await embedder.embed(TEXTS, role)
        assert vectors.shape == (len(TEXTS), embedder.space.dimension)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)

    @pytest.mark.parametrize("role", ROLES)
    async def test_an_empty_batch_is_no_work(self, embedder: FullEmbedder, role: Role) -> None:
        assert (await embedder.embed([], role)).shape == (0, embedder.space.dimension)
        assert await embedder.encode([], role) == []

    @pytest.mark.parametrize("role", ROLES)
    async def test_a_text_has_one_vector_whatever_is_beside_it(
        self, embedder: FullEmbedder, role: Role
    ) -> None:
        together = await embedder.embed([*TEXTS, *reversed(TEXTS)], role)
        alone = np.concatenate([await embedder.embed([text], role) for text in TEXTS])
        count = len(TEXTS)
        assert cosines(together[:count], alone).min() >= 0.999
        assert cosines(together[count:], alone[::-1]).min() >= 0.999

    async def test_different_texts_have_different_vectors(self, embedder: FullEmbedder) -> None:
        vectors = await embedder.embed(TEXTS, "passage")
        assert np.triu(vectors @ vectors.T, k=1).max() < 0.999

    async def test_shared_words_are_nearer_than_none(self, embedder: FullEmbedder) -> None:
        query = await embedder.embed(["north gate ticket office"], "query")
        other = "Bread rises overnight in a cool room."
        passages = await embedder.embed([TEXTS[0], other], "passage")
        near, far = passages @ query[0]
        assert near > far

    @pytest.mark.parametrize("role", ROLES)
    @pytest.mark.parametrize("blank", ["", " ", "\n\t \u00a0"])
    async def test_a_blank_text_is_refused(
        self, embedder: FullEmbedder, role: Role, blank: str
    ) -> None:
        with pytest.raises(ValueError, match="blank"):
            await embedder.embed(["text", blank], role)
        with pytest.raises(ValueError, match="blank"):
            await embedder.encode([blank], role)

    async def test_a_passage_may_be_as_long_as_the_limit_and_no_longer(
        self, embedder: FullEmbedder
    ) -> None:
        longest = "a " * embedder.max_tokens
        assert embedder.count(longest) == embedder.max_tokens
        assert (await embedder.embed([longest], "passage")).shape[0] == 1
        with pytest.raises(TextTooLong):
            await embedder.embed(["short", longest + "a"], "passage")
        with pytest.raises(TextTooLong):
            await embedder.encode([longest + "a"], "passage")

    async def test_a_query_is_cut_at_the_limit(self, embedder: FullEmbedder) -> None:
        longest = "a " * embedder.max_tokens
        cut, whole = await embedder.embed([longest + "tail of words", longest], "query")
        assert cut @ whole >= 0.999
        [states] = await embedder.encode([longest + "tail"], "query")
        assert len(states.token_ids) == embedder.max_tokens

    @pytest.mark.parametrize("text", [*TEXTS, *ODD_TEXTS, "", "   "], ids=ascii)
    def test_token_ends_agree_with_the_count(self, embedder: FullEmbedder, text: str) -> None:
        ends = embedder.ends(text)
        assert len(ends) == embedder.count(text)
        assert ends == sorted(ends)
        assert all(0 < end <= len(text) for end in ends)
        assert bool(ends) == bool(text.strip())
        assert not ends or text[ends[-1] :].strip("\u200b\u200d\u00ad \n\t\udfff") == ""

    @pytest.mark.parametrize("parting", " \n\t")
    def test_what_follows_a_blank_changes_no_token_before_it(
        self, embedder: FullEmbedder, parting: str
    ) -> None:
        for text in (*TEXTS, *ODD_TEXTS):
            own = embedder.ends(text)
            assert embedder.ends(f"{text}{parting}and more")[: len(own)] == own

    @pytest.mark.parametrize("role", ROLES)
    async def test_odd_texts_have_vectors(self, embedder: FullEmbedder, role: Role) -> None:
        vectors = await embedder.embed(ODD_TEXTS, role)
        assert np.isfinite(vectors).all()
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)

    def test_text_that_spells_a_special_token_is_plain_text(self, embedder: FullEmbedder) -> None:
        assert all(embedder.count(text) > 1 for text in ("<s>", "</s>", "<pad>", "<|endoftext|>"))

    async def test_no_token_of_a_text_is_special(self, embedder: FullEmbedder) -> None:
        plain, special = await embedder.encode(["plain", "<s> </s> <pad> <mask>"], "passage")
        assert len(special.token_ids) == embedder.count("<s> </s> <pad> <mask>")
        assert not {0, 1, 2} & set(special.token_ids.tolist())
        assert len(plain.token_ids) == embedder.count("plain")

    @pytest.mark.parametrize("role", ROLES)
    async def test_token_states_belong_to_the_text(
        self, embedder: FullEmbedder, role: Role
    ) -> None:
        texts = [*TEXTS, *ODD_TEXTS]
        encoded = await embedder.encode(texts, role)
        assert len(encoded) == len(texts)
        for text, found in zip(texts, encoded, strict=True):
            assert found.token_ids.shape == (embedder.count(text),)
            assert found.states.shape == (embedder.count(text), embedder.space.dimension)
            assert np.isfinite(found.states).all()
        vectors = np.stack([found.vector for found in encoded])
        assert cosines(vectors, await embedder.embed(texts, role)).min() >= 0.999

    async def test_calls_at_once_give_the_same_rows(self, embedder: FullEmbedder) -> None:
        expected = await embedder.embed(TEXTS, "query")
        found = await asyncio.gather(*(embedder.embed(TEXTS, "query") for _ in range(4)))
        assert all(cosines(rows, expected).min() >= 0.9999 for rows in found)

    @pytest.mark.parametrize(
        "text",
        ["a" * 1_000_000, "\u0301" * 300_000, "the open gate " * 70_000, "售票处" * 100_000],
        ids=["one word", "combining marks", "words", "no spaces"],
    )
    def test_a_very_long_text_is_counted_in_linear_time(
        self, embedder: FullEmbedder, text: str
    ) -> None:
        start = time.perf_counter()
        count = embedder.count(text)
        ends = embedder.ends(text)
        assert time.perf_counter() - start < LONG_LIMIT_SECONDS
        assert len(ends) == count > len(text) // 20
        assert ends[-1] >= len(text) - 1
