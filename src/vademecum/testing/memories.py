"""How does a test make a memory without a store?"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from vademecum.model.ids import MemoryId, Principal
from vademecum.model.memory import DEFAULT_IMPORTANCE, DEFAULT_PERSONA, Memory, MemorySource

MADE_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def make_memory(text: str = "I like tea", *, number: int = 1, **values: Any) -> Memory:
    """Return an active memory of `user:a` from `MADE_AT` with the values that are given; its id is
    the number."""
    plain = Memory(
        id=MemoryId(UUID(int=number)),
        principal=Principal("user:a"),
        persona=DEFAULT_PERSONA,
        kind="preference",
        text=text,
        language="en",
        importance=DEFAULT_IMPORTANCE,
        emotion=0.0,
        confidence="high",
        reason="",
        origin="explicit",
        state="active",
        held_until=None,
        pinned=False,
        sensitive=frozenset(),
        consented_at=None,
        source=MemorySource(kind="person", words=text),
        true_from=None,
        true_until=None,
        known_from=MADE_AT,
        known_until=None,
        expires_at=None,
        uses=0,
        last_used_at=None,
        created_at=MADE_AT,
        changed_at=MADE_AT,
        confirmed_at=None,
        version=1,
        superseded_by=None,
    )
    return replace(plain, **values)
