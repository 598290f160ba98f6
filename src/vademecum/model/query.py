"""What is asked of the index?"""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from vademecum.model.conversation import Turn
from vademecum.model.embedding import Role
from vademecum.model.filter import Filter
from vademecum.model.ids import ConversationId
from vademecum.model.memory import Stage

Mode = Literal["hybrid", "dense", "keyword"]
# What a language model adds to a typed query.
Queries = Literal["", "multi", "hyde", "decompose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search as it reaches retrieval. `k` >= 0 is how many passages are wanted; `as_of` is the
    day whose revisions are searched, None for those in force now; `filter` tells which documents,
    None for all. `role` is as what the text is embedded: one that would answer is a passage."""

    text: str
    k: int
    mode: Mode
    collections: frozenset[str] | None
    as_of: date | None = None
    filter: Filter | None = None
    role: Role = "query"

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ValueError(f"k must not be negative: {self.k}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question as it reaches the answering line. It belongs to `conversation_id`, None for a new
    one; `collections`, `as_of` and `filter` are those of the searches for it.

    Nothing is kept of a `temporary` one. `persona` is whom a new conversation is with, None for
    the default or for whom the conversation is with; memories are those of that persona. `stage`
    is how well the person is known, None where that is told from their turns; `zone` is their time
    zone, an IANA name, which tells what day it is for them. `again` answers the
    conversation's last question, which is `question`, once more. `said` is what was said before a
    temporary one, where whoever asks keeps it.
    """

    question: str
    conversation_id: ConversationId | None = None
    collections: frozenset[str] | None = None
    as_of: date | None = None
    filter: Filter | None = None
    temporary: bool = False
    persona: str | None = None
    stage: Stage | None = None
    zone: str = ""
    again: bool = False
    said: tuple[Turn, ...] = ()

    def __post_init__(self) -> None:
        if self.temporary and (self.conversation_id is not None or self.again):
            raise ValueError("a temporary question belongs to no conversation")
        if self.said and not self.temporary:
            raise ValueError("what was said before stands in the conversation")
        if self.again and self.conversation_id is None:
            raise ValueError("to ask again needs a conversation")
