"""How are things named? Ids are UUIDs of version 7, which sort by the time they were made."""

import os
import time
import uuid
from typing import NewType

Tenant = NewType("Tenant", str)
Principal = NewType("Principal", str)
DocumentId = NewType("DocumentId", uuid.UUID)
RevisionId = NewType("RevisionId", uuid.UUID)
ChunkId = NewType("ChunkId", uuid.UUID)
ConversationId = NewType("ConversationId", uuid.UUID)
TurnId = NewType("TurnId", uuid.UUID)
TraceId = NewType("TraceId", uuid.UUID)
MemoryId = NewType("MemoryId", uuid.UUID)
KeyId = NewType("KeyId", uuid.UUID)
FeedbackId = NewType("FeedbackId", uuid.UUID)
EvaluationId = NewType("EvaluationId", uuid.UUID)


def new_uuid() -> uuid.UUID:
    """Return a UUIDv7 (RFC 9562 section 5.7): 48 bits of Unix milliseconds, then random bits."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (2**48 - 1)) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
