"""What is asked of the index?"""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["hybrid", "dense", "keyword"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search as it reaches retrieval. `k` >= 0 is how many passages are wanted."""

    text: str
    k: int
    mode: Mode
    collections: frozenset[str] | None

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ValueError(f"k must not be negative: {self.k}")
