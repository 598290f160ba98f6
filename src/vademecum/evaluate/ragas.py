"""What does RAGAS read of a question and its answer? One sample in its field names."""

from typing import Any

from vademecum.evaluate.golden import GoldenQuestion
from vademecum.evaluate.runner import Asked


def sample(question: GoldenQuestion, asked: Asked) -> dict[str, Any]:
    """Return a `SingleTurnSample` of RAGAS 0.2 and later, as `EvaluationDataset.from_jsonl` reads
    it: texts of the question, the answer and the passages, so it goes to the user's own file alone.
    """
    quotes = [one.quote for one in question.relevant if one.quote]
    values = {
        "user_input": question.question,
        "retrieved_contexts": [passage.source.chunk.text for passage in asked.passages],
        "reference_contexts": quotes or None,
        "response": asked.answer.text,
        "reference": "; ".join(question.expected) or None,
    }
    return {name: value for name, value in values.items() if value is not None}
