"""What stood in the prompt of an answer? No prompt is kept, so it is built again from the trace.

What is shown are the rules, the sources that may still be seen, and, to whoever asked, their
question and memories. What was said before stands in the conversation, and is only counted.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import regex

from vademecum.answer.budget import (
    CONTEXT_TOKENS,
    HISTORY_TOKENS,
    MEMORY_TOKENS,
    MOST_ANSWER_TOKENS,
    SYSTEM_TOKENS,
)
from vademecum.answer.prompt import Built, build
from vademecum.answer.write import AnswerParts
from vademecum.errors import PromptTooLong
from vademecum.model.ids import ChunkId, MemoryId
from vademecum.model.memory import Memory, Recall, Recalled
from vademecum.model.passage import ConfirmedChunk, Passage, Signals

_SECTION = regex.compile(
    r"<(?P<name>source|profile|memories|question)-(?P<mark>[0-9a-f]{16})"
    r"(?: number=(?P<number>\d+))?[^>]*>\n.*?\n</(?P=name)-(?P=mark)>\n?",
    regex.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of a prompt: its tokens and those that it may have. `x` and `width` (0..100) say
    where it stands in a bar of all that may be had."""

    name: str
    tokens: int
    most: int
    x: float
    width: float

    @property
    def full(self) -> float:
        """How much of its own room it takes, 0..1."""
        return min(1.0, self.tokens / self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A candidate of the prompt, as it stood in the ranking: its number and tokens there, None
    where it had no room; `gone` where it may not be seen any more."""

    number: int | None
    chunk_id: str
    document_id: str
    uri: str
    tokens: int | None
    cited: bool
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    """A prompt as far as its trace tells. `user` is "" for whoever did not ask; `counted` are the
    provider's own tokens, 0 where it told none; `again` tells that the window was too small for
    this, and that it was sent once more with fewer sources."""

    system: str
    user: str
    shares: tuple[Share, ...]
    sources: tuple[SourceLine, ...]
    memories: tuple[str, ...]
    forgotten: int
    counted: int
    again: bool


def had_prompt(record: Mapping[str, Any]) -> bool:
    """Tell whether a language model wrote this answer, and not one before it."""
    return record.get("mode") == "generated" and not record.get("given_before")


def candidates_in(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the candidates of all searches, each once, as the answer had them: best ranks
    first."""
    every = [c for search in record.get("searches", ()) for c in search.get("candidates", ())]
    found: dict[str, Mapping[str, Any]] = {}
    for candidate in sorted(every, key=lambda one: int(one["rank"])):
        found.setdefault(candidate["chunk_id"], candidate)
    return list(found.values())


async def prompted(
    parts: AnswerParts,
    record: Mapping[str, Any],
    found: Mapping[ChunkId, ConfirmedChunk],
    memories: Mapping[MemoryId, Memory] | None,
) -> PromptView:
    """Build again what a model was given, of the chunks `found` that may be seen now; `memories`
    are the asker's own, None where somebody else looks."""
    candidates = candidates_in(record)
    passages = [
        Passage(
            rank=rank, score=0.0, source=found[ChunkId(UUID(one["chunk_id"]))], signals=Signals()
        )
        for rank, one in enumerate(candidates, 1)
        if ChunkId(UUID(one["chunk_id"])) in found
    ]
    recalled = _recalled(record, memories or {})
    question = str(record.get("question", "")) if memories is not None else ""
    # Counting loads its tables once, which takes a second of processor time.
    built = await asyncio.to_thread(
        partial(
            build,
            recall=recalled,
            best_at_ends=bool(record.get("versions", {}).get("answer.best_at_ends")),
        ),
        *(question, passages, parts.counter, parts.temperature),
    )
    tokens, by_number = await asyncio.to_thread(_counted, built, parts)
    usage = record.get("usage") or {}
    told = sum(tokens.values())
    tokens["history"] = max(0, int(usage.get("prompt_tokens", 0)) - told)
    tokens["answer"] = int(usage.get("completion_tokens", 0))
    used = [str(one["memory_id"]) for one in record.get("memories", ())]
    return PromptView(
        system=built.prompt.system,
        user=built.prompt.user if memories is not None else "",
        shares=_shares(tokens),
        sources=_lines(candidates, found, built, by_number, record),
        memories=tuple(str(one.memory.id) for one in built.memories),
        forgotten=len(used) - len(recalled.all) if memories is not None else 0,
        counted=int(usage.get("prompt_tokens", 0)),
        again=any(PromptTooLong.code in part for part in record.get("degraded", ())),
    )


def _recalled(record: Mapping[str, Any], memories: Mapping[MemoryId, Memory]) -> Recall:
    """Return what was recalled and is still remembered, in its order."""
    every = [
        Recalled(
            memory=memories[MemoryId(UUID(one["memory_id"]))], score=one.get("score"), signals=None
        )
        for one in record.get("memories", ())
        if MemoryId(UUID(one["memory_id"])) in memories
    ]
    return Recall(
        profile=tuple(one for one in every if one.score is None),
        memories=tuple(one for one in every if one.score is not None),
        stage="normal",
        degraded=(),
        timings_ms={},
    )


def _counted(built: Built, parts: AnswerParts) -> tuple[dict[str, int], dict[int, int]]:
    """Return the tokens of each part of a prompt, and of each source by its number."""
    tokens: dict[str, int] = defaultdict(int)
    tokens["system"] = parts.counter.count(built.prompt.system)
    by_number: dict[int, int] = {}
    for section in _SECTION.finditer(built.prompt.user):
        count = parts.counter.count(section[0])
        name = section["name"]
        if section["number"]:
            by_number[int(section["number"])] = count
        kind = {"source": "sources", "question": "question"}.get(name, "memories")
        tokens[kind] += count
    return tokens, by_number


def _shares(tokens: Mapping[str, int]) -> tuple[Share, ...]:
    rooms = (
        ("system", SYSTEM_TOKENS),
        ("sources", CONTEXT_TOKENS - min(tokens["memories"], MEMORY_TOKENS)),
        ("memories", MEMORY_TOKENS),
        ("question", HISTORY_TOKENS),
        ("history", HISTORY_TOKENS),
        ("answer", MOST_ANSWER_TOKENS),
    )
    whole = max(
        SYSTEM_TOKENS + CONTEXT_TOKENS + HISTORY_TOKENS + MOST_ANSWER_TOKENS,
        sum(tokens[name] for name, _ in rooms),
    )
    shares: list[Share] = []
    at = 0.0
    for name, most in rooms:
        width = 100 * tokens[name] / whole
        shares.append(
            Share(name=name, tokens=tokens[name], most=most, x=round(at, 2), width=round(width, 2))
        )
        at += width
    return tuple(shares)


def _lines(
    candidates: Sequence[Mapping[str, Any]],
    found: Mapping[ChunkId, ConfirmedChunk],
    built: Built,
    by_number: Mapping[int, int],
    record: Mapping[str, Any],
) -> tuple[SourceLine, ...]:
    numbers = {passage.source.chunk.id: number for number, passage in built.sources.items()}
    cited = {citation["chunk_id"] for citation in record.get("citations", ())}
    lines = []
    for one in candidates:
        chunk_id = ChunkId(UUID(one["chunk_id"]))
        number = numbers.get(chunk_id)
        lines.append(
            SourceLine(
                number=number,
                chunk_id=one["chunk_id"],
                document_id=one["document_id"],
                uri=str(one["uri"]),
                tokens=by_number.get(number) if number is not None else None,
                cited=one["chunk_id"] in cited,
                gone=chunk_id not in found,
            )
        )
    return tuple(lines)
