"""How is a golden set run? Each question is asked as a person would, and scored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from vademecum.evaluate.golden import Golden, GoldenQuestion
from vademecum.evaluate.judge import judge
from vademecum.evaluate.relevance import Target
from vademecum.evaluate.score import Answered, score
from vademecum.model.answer import Answer
from vademecum.model.evaluation import Result
from vademecum.model.ids import ChunkId, TraceId
from vademecum.model.passage import Passage
from vademecum.ports.language_model import LanguageModel
from vademecum.text.language import detect

DEPTH = 10
# What is asked in several parts, or after something, is searched for as the answering line does
# it: part by part, with what was said before.
_AS_ANSWERED = frozenset(["multi_part", "follow_up"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the product gave to a question: of a search the passages, best first, the confidence
    and the trace; the answer; and what was missing of either."""

    passages: tuple[Passage, ...]
    confidence: float
    trace_id: TraceId
    answer: Answer
    degraded: tuple[str, ...]
    milliseconds: float


class Asker(Protocol):
    """Whoever asks the product."""

    async def targets(self, question: GoldenQuestion) -> tuple[Target, ...]:
        """Return what the relevant entries of a question mean in the documents as they are.

        Raises: UsageError that names the entry that is not there."""
        ...

    async def ask(self, question: GoldenQuestion, depth: int) -> Asked:
        """Search for `depth` passages, and answer, as the question's principal."""
        ...


Watch = Callable[[GoldenQuestion, Asked, tuple[Target, ...]], None]


def unwatched(_question: GoldenQuestion, _asked: Asked, _targets: tuple[Target, ...]) -> None:
    """Look at nothing."""


async def run_golden(
    asker: Asker,
    golden: Golden,
    *,
    model: LanguageModel | None,
    count: Callable[[int, int], None],
    watch: Watch = unwatched,
) -> list[Result]:
    """Ask every question and return what became of each. `model` judges answers to questions that
    have one, None where nobody does; `watch` sees texts that no result keeps.

    Everything relevant is looked up first, so that a wrong golden set costs no answer.
    Raises: UsageError.
    """
    total = len(golden.questions)
    wanted = [await asker.targets(question) for question in golden.questions]
    results: list[Result] = []
    for question, targets in zip(golden.questions, wanted, strict=True):
        count(len(results), total)
        asked = await asker.ask(question, DEPTH)
        watch(question, asked, targets)
        results.append(await _result(question, targets, asked, model))
    count(total, total)
    return results


async def _result(
    question: GoldenQuestion,
    targets: Sequence[Target],
    asked: Asked,
    model: LanguageModel | None,
) -> Result:
    language = question.language or detect(question.question)
    judged = model is not None and bool(targets) and not asked.answer.abstained
    verdict = None
    if judged and model is not None:
        verdict = await judge(model, question.question, asked.answer.text, question.expected)
    chunks = chunks_of(question, asked)
    answered = Answered(chunks=chunks, answer=asked.answer, judged=judged, verdict=verdict)
    scores = score(targets, question.expected, language, answered)
    return Result(
        question=question.id,
        kind=question.kind,
        language=language,
        answerable=bool(targets),
        scores=scores.measured,
        apart=scores.apart,
        chunks=chunks,
        abstained=asked.answer.abstained,
        confidence=asked.confidence,
        trace_id=asked.trace_id,
        degraded=asked.degraded,
        milliseconds=asked.milliseconds,
    )


def chunks_of(question: GoldenQuestion, asked: Asked) -> tuple[ChunkId, ...]:
    """Return the chunks by which a question's retrieval is measured."""
    passages = asked.answer.passages if question.kind in _AS_ANSWERED else asked.passages
    return tuple(passage.source.chunk.id for passage in passages[:DEPTH])
