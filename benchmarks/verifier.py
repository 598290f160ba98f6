"""How often does the citation gate tell what a source says from what it does not?

    python benchmarks/verifier.py --data ../shared/data --model FOLDER [--held-out] [--misses]

Prints the balanced accuracy on our own 60 pairs (tests/cases/verifier_pairs.jsonl), by half, on 60
more that somebody wrote who had not seen the verifier (verifier_pairs_fresh.jsonl), on 129 new ones
in two halves (verifier_pairs_dev.jsonl, verifier_pairs_held.jsonl), on 60 by another hand
(verifier_pairs_third.jsonl), and on the HaluEval
question-answer pairs whose two answers have lengths within two words. The files of that set with
one and with more turns hold the same questions, so one is read. Beside it stand two rules that look
at no meaning: "the answer is a phrase of the passage", and the length. `--held-out` also runs what
took no part in the making of the verifier; `--kinds` tells the kinds of change apart.
"""

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vademecum.adapters.embedders.e5_convert import ensure_model
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.answer.cite import plain, verify
from vademecum.answer.markers import Claim
from vademecum.model.answer import Sentence
from vademecum.model.passage import Passage
from vademecum.ports.embedder import TokenEncoder
from vademecum.testing.passages import make_passage
from vademecum.text.normalise import fold

CASES = Path(__file__).parents[1] / "tests" / "cases"
PAIRS = tuple(
    CASES / f"verifier_pairs{which}.jsonl" for which in ("", "_fresh", "_dev", "_held", "_third")
)
# Pairs whose misses are never printed, so that nobody mends the gate on them.
SEALED = ("fresh held out", "third held")

HALUEVAL = Path("faith-halueval-qa") / "qa_one-turn.jsonl"
KINDS = ("number", "date", "name", "unit", "negation", "roles")
_WITHIN_WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A claim about a passage, and whether the passage supports it."""

    name: str
    passage: Passage
    claim: str
    question: str
    right: bool


def passage_of(text: str, context: str, language: str) -> Passage:
    made = make_passage(text, title=context)
    chunk = replace(made.source.chunk, language=language)
    return replace(made, source=replace(made.source, chunk=chunk))


def own_cases(half: str) -> list[Case]:
    lines = [line for path in PAIRS for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Case(
            name=f"{row['id']} {row['kind']}",
            passage=passage_of(row["passage"], row["context"], row["language"]),
            claim=row[kind],
            question="",
            right=kind == "supported",
        )
        for row in map(json.loads, lines)
        if row["half"] == half
        for kind in ("supported", "unsupported")
    ]


def of_kind(cases: Sequence[Case], kind: str) -> list[Case]:
    return [case for case in cases if case.name.endswith(f" {kind}")]


def halueval_cases(data: Path, half: int) -> list[Case]:
    """The length-matched pairs of every second question: half 0 was used in making, 1 was not."""
    rows = map(json.loads, (data / HALUEVAL).read_text(encoding="utf-8").splitlines())
    return [
        Case(
            name=f"halueval-{number}",
            passage=passage_of(row["knowledge"], "", "en"),
            claim=row[kind],
            question=row["question"],
            right=kind == "right_answer",
        )
        for number, row in enumerate(rows)
        if number % 2 == half and _matched(row)
        for kind in ("right_answer", "hallucinated_answer")
    ]


def _matched(row: Mapping[str, Any]) -> bool:
    lengths = [len(row[kind].split()) for kind in ("right_answer", "hallucinated_answer")]
    return abs(lengths[0] - lengths[1]) <= _WITHIN_WORDS


def balanced(verdicts: Iterable[tuple[bool, bool]]) -> float:
    """Return the mean of the two shares told rightly, from (right, accepted)."""
    counts = Counter(verdicts)
    held = counts[True, True] / max(1, counts[True, True] + counts[True, False])
    refused = counts[False, False] / max(1, counts[False, True] + counts[False, False])
    return (held + refused) / 2


async def judge(cases: Sequence[Case], encoder: TokenEncoder | None) -> list[Sentence]:
    return [
        (
            await verify(
                Claim(text=case.claim, markers=(1,)), {1: case.passage}, encoder, case.question
            )
        )[0]
        for case in cases
    ]


def phrase_rule(case: Case) -> bool:
    return plain(case.claim).strip(" .") in plain(case.passage.source.chunk.text)


def length_rule(cases: Sequence[Case]) -> float:
    """Return the best balanced accuracy of any rule "right up to so many words"."""
    lengths = [len(fold(case.claim).split()) for case in cases]
    return max(
        balanced((case.right, n <= most) for case, n in zip(cases, lengths, strict=True))
        for most in set(lengths)
    )


async def report(
    name: str, cases: Sequence[Case], encoder: TokenEncoder | None, *, misses: bool
) -> None:
    started = time.monotonic()
    sentences = await judge(cases, encoder)
    taken = 1000 * (time.monotonic() - started) / max(1, len(cases))
    shown = balanced(
        (c.right, s.support != "unsupported") for c, s in zip(cases, sentences, strict=True)
    )
    full = balanced(
        (c.right, s.support == "supported") for c, s in zip(cases, sentences, strict=True)
    )
    phrase = balanced((case.right, phrase_rule(case)) for case in cases)
    print(
        f"{name:<34} {len(cases):>4} claims  shown {shown:.3f}  supported {full:.3f}"
        f"  phrase rule {phrase:.3f}  length rule {length_rule(cases):.3f}  {taken:.0f} ms a claim"
    )
    for case, sentence in zip(cases, sentences, strict=True):
        if misses and case.right != (sentence.support != "unsupported"):
            said = "right" if case.right else "wrong"
            print(f"    {case.name} ({said}): {sentence.support} ({sentence.why}): {case.claim}")


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--model", type=Path, required=True)
    arguments.add_argument("--held-out", action="store_true")
    arguments.add_argument("--misses", action="store_true")
    arguments.add_argument("--kinds", action="store_true")
    given = arguments.parse_args()
    encoder = LocalE5.load(ensure_model(given.model), threads=1)
    try:
        halves = ["development", *(["held out"] if given.held_out else [])]
        halves += ["fresh", "fresh development"]
        for half in [*halves, *(SEALED if given.held_out else [])]:
            cases = own_cases(half)
            misses = given.misses and half not in SEALED
            await report(f"own pairs, {half}", cases, encoder, misses=misses)
            for kind in KINDS if given.kinds else ():
                await report(f"  {kind}", of_kind(cases, kind), encoder, misses=False)
            await report(f"own pairs, {half}, words alone", own_cases(half), None, misses=False)
        for number, half in enumerate(halves[: 1 + given.held_out]):
            cases = halueval_cases(given.data, number)
            await report(f"HaluEval matched, {half}", cases, encoder, misses=given.misses)
    finally:
        encoder.close()


if __name__ == "__main__":
    asyncio.run(main())
