"""Which answer was given before to the same question, and may it be given again?"""

from dataclasses import dataclass

from vademecum.model.answer import AnswerMode, Checked
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
