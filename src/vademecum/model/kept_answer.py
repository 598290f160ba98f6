"""Which answer was given before to the same question, and may it be given again?"""

from dataclasses import dataclass
from datetime import timedelta

from vademecum.model.answer import AnswerMode, Checked
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import ChunkId, TraceId
from vademecum.model.passage import Signals


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """What was said to a question, sentence by sentence, and which chunks were found for it, best
    first, with the score and signals of each. `trace_id` is that of the answer first given."""

    trace_id: TraceId
    mode: AnswerMode
    said: tuple[Checked, ...]
    found: tuple[tuple[ChunkId, float, Signals], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a look for a kept answer saw. `moment` names what was committed then: whatever is not
    in it may make an answer that is found from now on an old one. `personal` tells that something
    is remembered of whoever asks, so that their answers are theirs at that moment only."""

    kept: KeptAnswer | None
    moment: str
    personal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """How long an answer is kept that was begun at `moment` (of an earlier look): for `lasts`, and
    among the newest `most`."""

    moment: str
    lasts: timedelta
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A question by what it means: `key` is equal only where an answer depends on equal things and
    the same is stated and asked, `vector` (shape (d,), L2 norm 1) is its own, and `collections` are
    those that are searched, each of which everyone of the tenant must be able to read."""

    key: bytes
    vector: FloatArray
    collections: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedNear:
    """What a look for the answer to another wording saw. `private` names a collection that holds
    what not everyone may read, "" where there is none: then nothing is shared."""

    kept: KeptAnswer | None
    private: str
