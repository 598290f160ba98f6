"""What did a language model propose to remember, however badly it wrote it down?"""

from dataclasses import dataclass
from typing import Any

from vademecum.jsontext import objects_and_lists
from vademecum.model.memory import KINDS, Kind
from vademecum.text.late import late

# Of one reply; a model that lists more has not chosen.
_MOST_PROPOSALS = 20
# A backslash before a letter that is no escape is meant as it stands.
_BAD_ESCAPE = late(r'\\(?!["\\/bfnrtu])')


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One thing that a model read out of what was said: `turn` is the number that the turn had in
    the prompt, `quote` the words that say it, `text` the statement by itself."""

    turn: int
    quote: str
    text: str
    kind: Kind | None
    importance: float | None
    emotion: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a reply proposes, and how many entries of it could not be read."""

    proposals: tuple[Proposal, ...]
    unreadable: int


def read_reply(text: str) -> Reply | None:
    """Return what a reply proposes; None where it is not clear what it says, which is not the same
    as nothing. Fences and talk around the JSON do no harm, nor a bare list, nor `null`."""
    for value in objects_and_lists(_BAD_ESCAPE.sub(r"\\\\", text)):
        entries = _entries(value)
        if entries is not None:
            read = [_proposal(entry) for entry in entries[:_MOST_PROPOSALS]]
            return Reply(
                proposals=tuple(proposal for proposal in read if proposal is not None),
                unreadable=sum(proposal is None for proposal in read),
            )
    return None


def _entries(value: Any) -> list[Any] | None:
    """Return the list of facts that a value is or holds, None where it is no reply at all."""
    if isinstance(value, dict):
        if "facts" not in value:
            return None
        value = value["facts"]
        return [] if value is None else value if isinstance(value, list) else None
    facts = isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
    return value if facts else None


def _proposal(entry: Any) -> Proposal | None:
    if not isinstance(entry, dict):
        return None
    turn, quote, text = entry.get("turn"), entry.get("quote"), entry.get("text")
    if isinstance(turn, bool) or not isinstance(turn, int):
        return None
    if not (isinstance(quote, str) and quote.strip()):
        return None
    said = text if isinstance(text, str) and text.strip() else quote
    kind = entry.get("kind")
    return Proposal(
        turn=turn,
        quote=quote.strip(),
        text=said.strip(),
        kind=kind if kind in KINDS else None,
        importance=_share(entry.get("importance")),
        emotion=_share(entry.get("emotion")) or 0.0,
    )


def _share(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)
