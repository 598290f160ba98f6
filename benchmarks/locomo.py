"""Which turns of long conversations are found for a question, with no language model anywhere?

    python benchmarks/locomo.py --model MODEL_FOLDER --data FOLDER --cache FOLDER
        [--part dev|test|all] [--only NAME ...] [--longmemeval FILE] [--threads 1] [--json]

FOLDER (or the environment variable VADE_SHARED_DATA) holds `mem-locomo/locomo10.json` (Maharana et
al. 2024, CC BY-NC 4.0: fetched by the user for measuring, never shipped). `--longmemeval` reads a
file of LongMemEval (Wu et al. 2024) in its place. Each session is kept as a conversation of one
person by the product's own store, indexed by its own job, and each question is ranked by its own
functions over all that the person ever said and heard.

`turn R@k` is the share of a question's evidence turns among the first k, averaged over questions
of categories 1 to 4 with evidence that resolves; `Hit@1` and `session R@k` are the same for the
sessions of the evidence, over all categories. The rows of one run: BM25 and cosine of the same
index rows, both by reciprocal ranks (k = 60, lists of 50), and the product. What was tuned was
tuned on conv-26 and conv-30 (`dev`); `test` is the other eight.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from bench_support import Line, opened_line, report
from kept_states import open_kept
from numpy.typing import NDArray

from vademecum.adapters.embedders.e5_convert import ensure_model
from vademecum.memory.turns import MOST_TURNS, TurnParts, encode_query, index_turns, score
from vademecum.model.conversation import Turn
from vademecum.model.ids import ConversationId, TurnId, new_uuid
from vademecum.model.memory import DEFAULT_PERSONA
from vademecum.model.principal import Scope
from vademecum.postgres.conversation.turns import PostgresTurns
from vademecum.rank.fuse import RRF_K, reciprocal_rank
from vademecum.rank.turns import TURN_WEIGHTS, TurnWeights, session_scores

DEV = frozenset({"conv-26", "conv-30"})
TURN_KS = (5, 10, 20)
SESSION_KS = (1, 5, 10)
RESAMPLES = 2_000
_LISTED = 50
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_ADVERSARIAL = 5
_EVIDENCE = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A turn of a set, by its own name."""

    name: str
    speaker: str
    first: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Turns of one sitting, and when it was."""

    name: str
    at: datetime
    turns: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the names of the turns and sessions that hold its evidence."""

    text: str
    category: str
    turns: frozenset[str]
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """All that one person said and heard, and what is asked of it."""

    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Asked, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One question under one ranking: turn recall (None where it does not count) and session
    recall at each k, and the category."""

    category: str
    turns: Mapping[int, float] | None
    sessions: Mapping[int, float]


def read_locomo(path: Path) -> list[Sample]:
    """Read the ten conversations. Evidence that names no turn of its conversation is left out,
    and a question with no other is not counted."""
    return [_sample(raw) for raw in json.loads(path.read_text(encoding="utf-8"))]


def _sample(raw: Mapping[str, Any]) -> Sample:
    spoken = raw["conversation"]
    numbers = sorted(int(key[8:]) for key in spoken if re.fullmatch(r"session_\d+", key))
    sessions = tuple(
        Session(
            name=f"D{number}",
            at=_moment(spoken[f"session_{number}_date_time"]),
            turns=tuple(
                Said(
                    name=turn["dia_id"],
                    speaker=turn["speaker"],
                    first=turn["speaker"] == spoken["speaker_a"],
                    text=_with_picture(turn),
                )
                for turn in spoken[f"session_{number}"]
            ),
        )
        for number in numbers
    )
    known = {turn.name for session in sessions for turn in session.turns}
    questions = []
    for asked in raw["qa"]:
        named = _EVIDENCE.findall(" ".join(map(str, asked.get("evidence") or ())))
        evidence = frozenset(named) & known
        if evidence:
            questions.append(
                Asked(
                    text=asked["question"],
                    category=_CATEGORIES[asked["category"]],
                    turns=evidence,
                    sessions=frozenset(name.partition(":")[0] for name in evidence),
                )
            )
    return Sample(name=raw["sample_id"], sessions=sessions, questions=tuple(questions))


def _with_picture(turn: Mapping[str, Any]) -> str:
    picture = turn.get("blip_caption")
    return f"{turn['text']} [image: {picture}]" if picture else str(turn["text"])


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def read_longmemeval(path: Path) -> list[Sample]:
    """Read LongMemEval: each question has a history of its own. `has_answer` marks its evidence
    turns; the sessions are those of `answer_session_ids`. What nothing answers (`_abs`) is left
    out."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [_history(raw) for raw in rows if not raw["question_id"].endswith("_abs")]


def _history(raw: Mapping[str, Any]) -> Sample:
    sessions, evidence = [], set()
    rows = zip(
        raw["haystack_session_ids"], raw["haystack_dates"], raw["haystack_sessions"], strict=True
    )
    for number, (name, day, turns) in enumerate(rows):
        said = []
        for place, turn in enumerate(turns):
            own = f"{number}:{name}:{place}"
            said.append(
                Said(name=own, speaker="", first=turn["role"] == "user", text=turn["content"])
            )
            if turn.get("has_answer"):
                evidence.add(own)
        moment = datetime.strptime(
            re.sub(r"\s*\(\w+\)\s*", " ", f"{day} +0000"), "%Y/%m/%d %H:%M %z"
        )
        sessions.append(Session(name=name, at=moment, turns=tuple(said)))
    asked = Asked(
        text=raw["question"],
        category=raw["question_type"],
        turns=frozenset(evidence),
        sessions=frozenset(raw["answer_session_ids"]),
    )
    return Sample(name=raw["question_id"], sessions=tuple(sessions), questions=(asked,))


async def keep(line: Line, parts: TurnParts, sample: Sample) -> dict[TurnId, tuple[str, str]]:
    """Keep a sample as conversations of one person, and index them; return the names of turn and
    session by the turn's id."""
    scope = scope_of(sample)
    names: dict[TurnId, tuple[str, str]] = {}
    for session in sample.sessions:
        conversation = ConversationId(new_uuid())
        turns = []
        for number, said in enumerate(session.turns):
            turn = Turn(
                id=TurnId(new_uuid()),
                position=0,
                role="user" if said.first else "assistant",
                speaker=said.speaker,
                text=said.text,
                state="complete",
                created_at=session.at + timedelta(seconds=number),
            )
            names[turn.id] = (said.name, session.name)
            turns.append(turn)
        await line.app.catalogue.conversations.keep(scope, conversation, turns)
        await index_turns(parts, scope.tenant, conversation)
    return names


def scope_of(sample: Sample) -> Scope:
    return Scope.for_principal("default", f"user:{sample.name}", frozenset())


async def ask_all(
    parts: TurnParts,
    sample: Sample,
    names: Mapping[TurnId, tuple[str, str]],
    weights: TurnWeights = TURN_WEIGHTS,
) -> Iterator[tuple[str, Outcome]]:
    """Rank every question of a sample in each way; return (way, outcome)."""
    scope = scope_of(sample)
    units = await parts.index.units(scope, DEFAULT_PERSONA, MOST_TURNS)
    order = {session.name: number for number, session in enumerate(sample.sessions)}
    units.sort(key=lambda unit: (order[names[unit.id][1]], unit.said_at))
    turns = [names[unit.id][0] for unit in units]
    sessions = [names[unit.id][1] for unit in units]
    found = []
    for asked in sample.questions:
        encoded = await encode_query(parts, asked.text)
        scores = score(parts, scope.tenant, asked.text, units, encoded, weights)
        best, cosine = _order(scores.bm25), _order(scores.cosines)
        fused = reciprocal_rank([best[:_LISTED], cosine[:_LISTED]], k=RRF_K)
        every = np.array([fused.get(i, 0.0) for i in range(len(units))])
        for way, values in (
            ("BM25", scores.bm25),
            ("dense", scores.cosines),
            ("RRF 60", every),
            ("ours", scores.final),
        ):
            found.append((way, _outcome(asked, values, turns, sessions)))
    return iter(found)


def _outcome(
    asked: Asked, values: NDArray[np.float64], turns: Sequence[str], sessions: Sequence[str]
) -> Outcome:
    best = _order(values)
    ranked = session_scores(values, sessions)
    first = sorted(ranked, key=lambda name: -ranked[name])
    counts = asked.category != _CATEGORIES[_ADVERSARIAL] and bool(asked.turns)
    return Outcome(
        category=asked.category,
        turns={
            k: len(asked.turns & {turns[i] for i in best[:k]}) / len(asked.turns) for k in TURN_KS
        }
        if counts
        else None,
        sessions={
            k: (
                float(first[0] in asked.sessions)
                if k == 1
                else len(asked.sessions & set(first[:k])) / len(asked.sessions)
            )
            for k in SESSION_KS
        },
    )


def _order(values: NDArray[np.float64]) -> list[int]:
    return [int(i) for i in np.argsort(-values, kind="stable")]


def rows_of(outcomes: Mapping[str, Sequence[Outcome]], part: str) -> list[dict[str, Any]]:
    """Return a line of the table for each way, with a 95 % bootstrap interval of turn R@10."""
    rows = []
    for way, found in outcomes.items():
        counted = [outcome.turns for outcome in found if outcome.turns is not None]
        tens = np.array([turns[10] for turns in counted])
        low, high = _interval(tens)
        row: dict[str, Any] = {"part": part, "way": way, "questions": len(counted)}
        row |= {f"turn_r{k}": _mean(turns[k] for turns in counted) for k in TURN_KS}
        row |= {"low": low, "high": high}
        row |= {"hit1": _mean(o.sessions[1] for o in found)}
        row |= {f"session_r{k}": _mean(o.sessions[k] for o in found) for k in SESSION_KS[1:]}
        for category in dict.fromkeys(o.category for o in found if o.turns is not None):
            own = [o.turns for o in found if o.category == category and o.turns is not None]
            row[category] = _mean(turns[10] for turns in own)
        rows.append(row)
    return rows


def _mean(values: Iterator[float] | Sequence[float]) -> float:
    listed = list(values)
    return float(np.mean(listed)) if listed else float("nan")


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(values), (RESAMPLES, len(values)))
    means = values[drawn].mean(axis=1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


async def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    model, kept = open_kept(
        ensure_model(arguments.model, progress=lambda _: None),
        arguments.cache,
        threads=arguments.threads,
    )
    samples = (
        read_longmemeval(arguments.longmemeval)
        if arguments.longmemeval
        else read_locomo(arguments.data / "mem-locomo" / "locomo10.json")
    )
    outcomes: dict[str, dict[str, list[Outcome]]] = {}
    try:
        async with opened_line(model) as line:
            parts = TurnParts(
                index=PostgresTurns(line.app.catalogue.pool, line.app.ingest_parts.generation.id),
                embedder=model,
                encoder=model,
                tokenizer=model,
            )
            for sample in samples:
                part = "dev" if sample.name in DEV else "test"
                if arguments.part not in ("all", part) or (
                    arguments.only and sample.name not in arguments.only
                ):
                    continue
                began = time.perf_counter()
                names = await keep(line, parts, sample)
                indexed = time.perf_counter()
                for way, outcome in await ask_all(parts, sample, names):
                    outcomes.setdefault(part, {}).setdefault(way, []).append(outcome)
                print(
                    f"{sample.name}: {len(names)} turns in {indexed - began:.0f} s, "
                    f"{len(sample.questions)} questions in {time.perf_counter() - indexed:.0f} s",
                    file=sys.stderr,
                )
    finally:
        kept.close()
    return [row for part, found in outcomes.items() for row in rows_of(found, part)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("VADE_SHARED_DATA", "../shared/data"))
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--part", choices=("dev", "test", "all"), default="all")
    parser.add_argument("--only", nargs="+", help="only these conversations")
    parser.add_argument("--longmemeval", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="only the JSON, no table")
    arguments = parser.parse_args()
    rows = asyncio.run(run(arguments))
    if arguments.json:
        print(json.dumps({"benchmark": "locomo", "rows": rows}))
    else:
        report(rows)


if __name__ == "__main__":
    main()
