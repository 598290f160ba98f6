"""What of a person is always at hand? Plain rows: it needs no index and no embedder."""

from dataclasses import dataclass

from vademecum.model.memory import STAGES, Memory, Stage
from vademecum.ports.memory import MemoryReader
from vademecum.rank.memory import profile_of, stage_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The memories that are always shown, and how well the person is known."""

    memories: tuple[Memory, ...]
    stage: Stage


async def load_profile(reader: MemoryReader, given: Stage | None) -> Profile:
    """Read the profile. The stage is `given` by the application, or told from the person's own
    turns."""
    stage = given or stage_of(await reader.relationship())
    return Profile(memories=profile_of(await reader.profile(reached(stage))), stage=stage)


def reached(stage: Stage) -> tuple[Stage, ...]:
    """Return the stages that a relationship has passed or is at."""
    return STAGES[: STAGES.index(stage) + 1]
