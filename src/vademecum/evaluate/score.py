"""What is one answer to a golden question worth, and what of it cannot be measured?"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from vademecum.evaluate.judge import Verdict
from vademecum.evaluate.metrics import (
    abstention,
    hit,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)
from vademecum.evaluate.relevance import Target, as_items, cited_share, is_right, items
from vademecum.evaluate.stated import stated_share
from vademecum.model.answer import Answer
from vademecum.model.ids import ChunkId

AT = (1, 5, 10)
_AtK = Callable[[Sequence[Hashable], Collection[Hashable], int], float | None]
_AT_K: dict[str, _AtK] = {"recall": recall, "precision": precision, "hit": hit, "ndcg": ndcg}
RETRIEVAL: tuple[str, ...] = (*(f"{name}@{k}" for name in _AT_K for k in AT), "mrr")
ANSWERS = ("citation_precision", "citation_recall", "faithfulness", "relevance", "judged")
REFUSALS = ("refused", "wrongly_refused")
METRICS: tuple[str, ...] = (*RETRIEVAL, *ANSWERS, *REFUSALS)
# Of these less is better.
FALLING = frozenset(["wrongly_refused"])

NO_SENTENCE = "no sentence"
NO_CITATION = "no citation"
UNREADABLE = "unreadable verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a golden question got: the chunks that were found, best first, the answer, and the
    verdict of a judge where one was asked (None: it could not be read)."""

    chunks: tuple[ChunkId, ...]
    answer: Answer
    judged: bool
    verdict: Verdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """`measured` maps metrics to values in 0..1, `apart` to why they could not be measured."""

    measured: Mapping[str, float]
    apart: Mapping[str, str]


def score(
    targets: Sequence[Target], expected: tuple[str, ...], language: str, answered: Answered
) -> Scores:
    """Return every metric of one question. Without a target it is one that has no answer: then
    refusing is right, and there is no recall."""
    measured: dict[str, float | None] = _retrieval(targets, answered.chunks)
    apart: dict[str, str] = {}
    answer = answered.answer
    measured["refused"] = abstention(answer.abstained, targets)
    measured["wrongly_refused"] = float(answer.abstained) if targets else None
    if answer.sentences:
        supported = sum(said.support == "supported" for said in answer.sentences)
        measured["faithfulness"] = supported / len(answer.sentences)
    else:
        apart["faithfulness"] = NO_SENTENCE
    if targets:
        measured["citation_recall"] = cited_share(answer.citations, targets)
        base = language.partition("-")[0]
        measured["relevance"] = stated_share(answer.text, expected, base)
        if answer.citations:
            right = sum(is_right(citation, targets) for citation in answer.citations)
            measured["citation_precision"] = right / len(answer.citations)
        else:
            apart["citation_precision"] = NO_CITATION
    if answered.judged and answered.verdict is None:
        apart["judged"] = UNREADABLE
    elif answered.verdict is not None:
        measured["judged"] = answered.verdict.worth
    kept = {name: value for name, value in measured.items() if value is not None}
    return Scores(measured=kept, apart=apart)


def _retrieval(targets: Sequence[Target], chunks: Sequence[ChunkId]) -> dict[str, float | None]:
    numbers = items(targets)
    wanted = set(numbers.values())
    found = as_items(chunks, numbers)
    scores = {f"{name}@{k}": metric(found, wanted, k) for name, metric in _AT_K.items() for k in AT}
    return scores | {"mrr": reciprocal_rank(found, wanted)}
