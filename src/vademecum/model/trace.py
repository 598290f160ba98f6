"""What happened while one question was answered?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from vademecum.model.ids import ChunkId, DocumentId, Principal, TraceId


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A record of one search or ask: ids, signals, timings and versions, for its owner's eyes.

    `documents` names those it quotes; deleting one of them deletes the trace. `chunks` are those
    that were found.
    """

    id: TraceId
    kind: Literal["search", "ask"]
    principal: Principal
    documents: tuple[DocumentId, ...]
    chunks: tuple[ChunkId, ...]
    created_at: datetime
    record: Mapping[str, Any]
