"""How does multilingual-e5-small run on this machine's processor?"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import (
    onnxruntime_pybind11_state as failures,
)

from vademecum.adapters.embedders.e5_convert import MODEL_NAME, ModelFiles
from vademecum.adapters.embedders.e5_tokenizer import BOS, EOS, PAD, E5Tokenizer
from vademecum.errors import ModelFileDamaged, ModelUnusable, TextTooLong
from vademecum.model.embedding import (
    EmbeddingSpace,
    FloatArray,
    Role,
    TokenStates,
    unit_vectors,
)

_T = TypeVar("_T")
_Ids = NDArray[np.int64]

# onnxruntime's errors have no common class of their own.
RUN_ERRORS: Final = (
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NoSuchFile,
    failures.NotImplemented,
    failures.RuntimeException,
)

_POSITIONS: Final = 512
_SPECIAL_TOKENS: Final = 2
# Small batches of like length are the quickest: what a layer makes stays in the cache (on two cores
# without VNNI 0.36 ms a token at 1 x 100 tokens, 0.45 to 0.55 at 200 tokens and more), and nothing
# is spent on padding. They also bound the memory, and the time for which a question shares the
# cores with passages.
_BATCH_TEXTS: Final = 4
_BATCH_TOKENS: Final = 128
_LIKE_LENGTH: Final = 0.85
_ANY_LANGUAGE: Final = "any"
_PREFIXES: Final[dict[Role, str]] = {"query": "query: ", "passage": "passage: "}


class LocalE5:
    """Embedder, TokenEncoder and Tokenizer in one, over one onnxruntime session.

    A batch is computed by one thread, several at once. Queries have a thread of their own, so a
    question never waits behind passages. Call `close` at the end.
    """

    def __init__(
        self,
        *,
        session: onnxruntime.InferenceSession,
        tokenizer: E5Tokenizer,
        revision: str,
        threads: int,
    ) -> None:
        dimension = session.get_outputs()[0].shape[-1]
        if not isinstance(dimension, int):
            raise ModelUnusable("The graph does not say how many dimensions its vectors have")
        self._session = session
        self._names = {given.name for given in session.get_inputs()}
        self._tokenizer = tokenizer
        self._lanes: dict[Role, ThreadPoolExecutor] = {
            "query": ThreadPoolExecutor(1, thread_name_prefix="e5-query"),
            "passage": ThreadPoolExecutor(threads, thread_name_prefix="e5-passage"),
        }
        self._space = EmbeddingSpace(
            provider="local",
            model=MODEL_NAME,
            revision=revision,
            dimension=dimension,
            metric="cosine",
            query_prefix=_PREFIXES["query"],
            passage_prefix=_PREFIXES["passage"],
        )

    @classmethod
    def load(cls, files: ModelFiles, *, threads: int | None = None) -> "LocalE5":
        """Open the graph; passages are computed on `threads` cores, by default all physical ones.

        Raises: ModelFileDamaged.
        """
        return cls(
            # Two batches on two cores get through more than one batch on both.
            session=open_session(files.graph, 1),
            tokenizer=E5Tokenizer.load(
                files.tokenizer, pieces=files.pieces, replacements=files.replacements
            ),
            revision=files.revision,
            threads=threads or _physical_cores(),
        )

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    @property
    def max_tokens(self) -> int:
        longest = max(self.count(prefix) for prefix in _PREFIXES.values())
        return _POSITIONS - _SPECIAL_TOKENS - longest

    async def embed(self, texts: Sequence[str], role: Role) -> FloatArray:
        """See `Embedder.embed`. Holds the states of one batch a thread at a time."""
        inputs = await self._inputs_of(texts, role)
        batches = list(_batches(inputs))
        found = await asyncio.gather(
            *(self._run(role, self._vectors, [inputs[i] for i in batch]) for batch in batches)
        )
        vectors = np.empty((len(texts), self._space.dimension), np.float32)
        for batch, rows in zip(batches, found, strict=True):
            vectors[batch] = rows
        return vectors

    async def encode(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        """See `TokenEncoder.encode`. A state is 1.5 KB a token: give it few texts at a time."""
        inputs = await self._inputs_of(texts, role)
        batches = list(_batches(inputs))
        found = await asyncio.gather(
            *(
                self._run(role, self._token_states, [inputs[i] for i in batch], role)
                for batch in batches
            )
        )
        states = dict(zip(chain(*batches), chain(*found), strict=True))
        return [states[i] for i in range(len(texts))]

    def centre(self, language: str) -> FloatArray:
        """See `TokenEncoder.centre`."""
        centres = _centres()
        return centres.get(language, centres[_ANY_LANGUAGE])

    def count(self, text: str) -> int:
        """See `Tokenizer.count`."""
        return self._tokenizer.count(text)

    def ends(self, text: str) -> list[int]:
        """See `Tokenizer.ends`."""
        return self._tokenizer.ends(text)

    def close(self) -> None:
        """Wait for what is being computed, drop what is queued."""
        for lane in self._lanes.values():
            lane.shutdown(cancel_futures=True)

    async def _run(self, role: Role, work: Callable[..., _T], *given: object) -> _T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._lanes[role], partial(work, *given))

    async def _inputs_of(self, texts: Sequence[str], role: Role) -> list[_Ids]:
        if any(not text.strip() for text in texts):
            raise ValueError("a blank text has no embedding: leave it out before")
        return await self._run(role, self._tokenised, texts, role) if texts else []

    def _tokenised(self, texts: Sequence[str], role: Role) -> list[_Ids]:
        """Return each text's ids between prefix and special tokens."""
        before = [BOS, *self._tokenizer.ids(_PREFIXES[role])]
        limit = self.max_tokens
        inputs = []
        for number, text in enumerate(texts, 1):
            own = self._tokenizer.ids(text, limit + 1)
            if len(own) > limit and role == "passage":
                raise TextTooLong(
                    f"Passage {number} of {len(texts)} has more than {limit} tokens",
                    hint="Split it into smaller chunks, so that nothing is cut off silently",
                )
            inputs.append(np.array([*before, *own[:limit], EOS], np.int64))
        return inputs

    def _states(self, inputs: Sequence[_Ids]) -> FloatArray:
        """Return the last layer's states, shape (texts, longest, d), void after a text's end."""
        longest = max(map(len, inputs))
        ids = np.full((len(inputs), longest), PAD, np.int64)
        mask = np.zeros_like(ids)
        for row, given in enumerate(inputs):
            ids[row, : len(given)] = given
            mask[row, : len(given)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {name: value for name, value in feeds.items() if name in self._names}
        states: FloatArray = self._session.run(None, wanted)[0]
        return states

    def _pooled(self, states: FloatArray, inputs: Sequence[_Ids]) -> FloatArray:
        """Return each text's mean state, prefix and special tokens included, at norm 1."""
        means = [own[: len(given)].mean(axis=0) for own, given in zip(states, inputs, strict=True)]
        return unit_vectors(np.stack(means), count=len(inputs), dimension=self._space.dimension)

    def _vectors(self, inputs: Sequence[_Ids]) -> FloatArray:
        return self._pooled(self._states(inputs), inputs)

    def _token_states(self, inputs: Sequence[_Ids], role: Role) -> list[TokenStates]:
        states = self._states(inputs)
        vectors = self._pooled(states, inputs)
        start = 1 + self.count(_PREFIXES[role])
        return [
            TokenStates(
                vector=vector,
                token_ids=given[start:-1].copy(),
                states=own[start : len(given) - 1].copy(),
                weights=self._tokenizer.weights(given[start:-1]),
            )
            for vector, given, own in zip(vectors, inputs, states, strict=True)
        ]


def _batches(inputs: Sequence[_Ids]) -> Iterator[list[int]]:
    """Yield the numbers of texts to compute together: of like length, the longest first."""
    order = sorted(range(len(inputs)), key=lambda i: len(inputs[i]), reverse=True)
    while order:
        # The first is the longest, so the batch is padded to its length.
        longest = len(inputs[order[0]])
        most = max(1, min(_BATCH_TEXTS, _BATCH_TOKENS // longest))
        alike = [i for i in order[:most] if len(inputs[i]) >= _LIKE_LENGTH * longest]
        yield alike
        order = order[len(alike) :]


@cache
def _centres() -> dict[str, FloatArray]:
    """Return the mean token state by language, made by tools/state_means.py from text of ours."""
    with np.load(Path(__file__).with_name("e5_centres.npz"), allow_pickle=False) as kept:
        return {name: kept[name].astype(np.float32) for name in kept.files}


def open_session(graph: Path, threads: int) -> onnxruntime.InferenceSession:
    """Open a graph that computes on so many threads, 0 for all physical cores. Raises:
    ModelFileDamaged."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except RUN_ERRORS as error:
        raise ModelFileDamaged(f"{graph} cannot be loaded: {error}") from error


def _physical_cores() -> int:
    """Return how many cores this process may use; two threads of one core count once."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    cores = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.add(siblings.read_text() if siblings.is_file() else str(cpu))
    return max(1, len(cores))
