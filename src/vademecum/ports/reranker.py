"""Which of some texts speak of what is asked, as a model reads them beside the question?"""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Score texts for a query, each read together with it."""

    @property
    def name(self) -> str:
        """What traces call it, like `cohere:NAME`: another model has another name."""
        ...

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return one score a text, in the order of the texts: higher is better, finite, on a scale
        of the model's own, comparable within one call.

        No texts give no scores and no work. A blank text has the score None and changes no other
        one; for a blank query all have it. What is longer than the model reads is cut at its end.

        Raises: ProviderAway, ModelUnusable.
        """
        ...
