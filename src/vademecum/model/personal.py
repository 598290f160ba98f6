"""What is kept of one person that they said, or that was learned of them?"""

from dataclasses import dataclass

from vademecum.model.conversation import Conversation, Turn
from vademecum.model.memory import Memory, MemoryVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Personal:
    """Every memory with its earlier versions, oldest first, and every conversation with its turns,
    the last used first; all as of one moment."""

    memories: tuple[tuple[Memory, tuple[MemoryVersion, ...]], ...]
    conversations: tuple[tuple[Conversation, tuple[Turn, ...]], ...]
