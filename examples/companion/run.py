"""What does a companion know after thirty days, and what stood in the prompt on each of them?

`python examples/companion/run.py` tells story.toml over the data folder that VADE_HOME names. The
language model is scripted: it proposes all that it is shown as a memory, and writes what the story
says. Everything else is the product: database, local embedding model, checks.
"""

import argparse
import asyncio
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import regex
from psycopg import sql

import vademecum
from vademecum.answer.prompt import SYSTEM as ANSWERS
from vademecum.app import App
from vademecum.memory.extract import SYSTEM as LEARNS
from vademecum.memory.extract import LearnParts
from vademecum.model.answer import Answer
from vademecum.model.document import Source
from vademecum.model.ids import ConversationId
from vademecum.model.memory import Memory, Recalled
from vademecum.ports.language_model import Prompt
from vademecum.postgres.learning import PostgresLearning
from vademecum.testing.clocks import ShiftedClock
from vademecum.testing.language_models import ScriptedModel
from vademecum.text.sentences import sentence_spans
from vademecum.worker.loop import once

HERE = Path(__file__).parent
PERSON = "user:companion"
SCOPE = vademecum.Scope.for_principal("default", PERSON, frozenset())
LAST_DAY = 30
_SECTION = regex.compile(
    r"<(?P<name>profile|memories|past|turn|source|question)-(?P<mark>[0-9a-f]{16})[^>]*>\n"
    r"(?P<text>.*?)\n</(?P=name)-(?P=mark)>",
    regex.DOTALL,
)
_NUMBERED = regex.compile(
    r"<turn-(?P<mark>[0-9a-f]{16}) number=(?P<number>\d+)>\n(?P<text>.*?)\n</turn-(?P=mark)>",
    regex.DOTALL,
)
_CITED = regex.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the story: a document that comes in, or a turn of the person."""

    day: int
    talk: str
    note: str
    say: str = ""
    file: str = ""
    reply: str = "I don't know."


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a step led to: the sections of the prompt by name (none for an order, which asks no
    model), the memories that stood in it, the answer, and what is remembered afterwards."""

    step: Step
    prompt: Mapping[str, tuple[str, ...]]
    memories: tuple[Recalled, ...]
    documents: tuple[str, ...]
    answer: str
    degraded: tuple[str, ...]
    remembered: tuple[str, ...]
    history: tuple[str, ...]


def model_for(steps: Sequence[Step]) -> ScriptedModel:
    """Return a model that proposes every whole sentence it is shown as a memory, and answers each
    turn with its reply in the story. It never chooses: what is kept is decided by code."""
    replies = {step.say: step.reply.strip() for step in steps if step.say}

    def reply(prompt: Prompt) -> str:
        if prompt.system == LEARNS:
            facts = [
                {"turn": int(turn["number"]), "quote": quote, "text": quote}
                for turn in _NUMBERED.finditer(prompt.user)
                for quote in _sentences(turn["text"])
            ]
            return json.dumps({"facts": facts})
        if prompt.system == ANSWERS:
            return _numbered(replies[sections(prompt)["question"][-1]], prompt)
        raise ValueError("the story has no reply to this prompt")

    return ScriptedModel(reply, name="scripted: no language model")


def _sentences(text: str) -> list[str]:
    spans = [text[start:end].strip() for start, end in sentence_spans(text)]
    return [sentence for sentence in spans if sentence.endswith((".", "!"))]


def _numbered(reply: str, prompt: Prompt) -> str:
    """Return a reply whose "[some words]" are the number of the source that holds those words."""
    sources = sections(prompt).get("source", ())

    def number(words: regex.Match[str]) -> str:
        return next(f"[{n}]" for n, text in enumerate(sources, start=1) if words[1] in text)

    return _CITED.sub(number, reply)


def sections(prompt: Prompt) -> dict[str, tuple[str, ...]]:
    """Return what stands in a prompt, by the names of its sections, in their order."""
    found: dict[str, tuple[str, ...]] = {}
    for section in _SECTION.finditer(prompt.user):
        found[section["name"]] = (*found.get(section["name"], ()), section["text"])
    return found


def on_day(app: App, model: ScriptedModel, behind: timedelta) -> App:
    """Return the app as it would be on a day of the story, with the scripted model."""
    clock = ShiftedClock(behind=behind)
    memory = replace(app.own_memories.parts, clock=clock)
    return replace(
        app,
        answer_parts=replace(
            app.answer_parts,
            memory=memory,
            talk=replace(app.answer_parts.talk, clock=clock),
            language_model=model,
        ),
        own_memories=replace(app.own_memories, parts=memory),
        learn_parts=LearnParts(
            learning=PostgresLearning(app.catalogue.pool, quiet=0.0),
            memories=memory,
            language_model=model,
        ),
    )


def move_back(url: str, since: datetime, behind: timedelta) -> None:
    """Give the person's rows that were written since a moment the day of the story on which they
    are written: the database has its own clock, and nobody sleeps thirty days here."""
    with psycopg.connect(url) as connection:
        columns = connection.execute(
            "SELECT c.table_name, c.column_name FROM information_schema.columns c"
            " JOIN information_schema.tables t USING (table_schema, table_name)"
            " WHERE c.table_schema = 'vademecum' AND c.data_type = 'timestamp with time zone'"
            " AND t.table_type = 'BASE TABLE' AND EXISTS (SELECT FROM information_schema.columns o"
            " WHERE o.table_schema = c.table_schema AND o.table_name = c.table_name"
            " AND o.column_name = 'principal')"
        ).fetchall()
        for table, column in columns:
            connection.execute(
                sql.SQL(
                    "UPDATE vademecum.{table} SET {column} = {column} - %(behind)s"
                    " WHERE principal = %(person)s AND {column} >= %(since)s"
                    " AND isfinite({column})"
                ).format(table=sql.Identifier(table), column=sql.Identifier(column)),
                {"behind": behind, "person": PERSON, "since": since},
            )


def moment_of(url: str) -> datetime:
    """Return the database's time."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT now()").fetchone()
        assert row is not None
        moment: datetime = row[0]
        return moment


async def put_in(app: App, name: str) -> None:
    """Ingest a document that only the person sees."""
    source = Source(
        uri=name,
        content=(HERE / "documents" / name).read_bytes(),
        collection="companion",
        access=(PERSON,),
        metadata={"example": True},
        language="en",
        title=None,
    )
    await app.ingest([source], scope=SCOPE)


async def tell(app: App, steps: Sequence[Step]) -> list[Shown]:
    """Tell the story step by step; after each, do what `vade worker` does behind it."""
    url = app.catalogue.owner_url
    assert url is not None
    model = model_for(steps)
    talks: dict[str, ConversationId] = {}
    shown = []
    for step in steps:
        behind = timedelta(days=LAST_DAY - step.day)
        today = on_day(app, model, behind)
        since, asked = moment_of(url), len(model.prompts)
        answer: Answer | None = None
        if step.file:
            await put_in(today, step.file)
        else:
            answer = await today.ask(step.say, scope=SCOPE, conversation_id=talks.get(step.talk))
            assert answer.conversation_id is not None
            talks[step.talk] = answer.conversation_id
        written = [prompt for prompt in model.prompts[asked:] if prompt.system == ANSWERS]
        move_back(url, since, behind)
        learning = moment_of(url)
        await once(today)
        move_back(url, learning, behind)
        shown.append(await _shown(today, step, answer, written))
    return shown


async def _shown(app: App, step: Step, answer: Answer | None, written: Sequence[Prompt]) -> Shown:
    prompt = sections(written[-1]) if written else {}
    told = "\n".join(prompt.get("profile", ()) + prompt.get("memories", ()))
    found = answer.memories if answer else ()
    remembered = await app.memories(scope=SCOPE)
    history = await app.memories(scope=SCOPE, states=("superseded",))
    return Shown(
        step=step,
        prompt=prompt,
        memories=tuple(one for one in found if one.memory.text in told),
        documents=tuple(section.splitlines()[0] for section in prompt.get("source", ())),
        answer=answer.text if answer else "",
        degraded=answer.degraded if answer else (),
        remembered=_texts(remembered),
        history=_texts(history),
    )


def _texts(memories: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(memory.text for memory in memories)


def show(shown: Shown) -> None:
    """Print a step as a person reads it."""
    step = shown.step
    print(f"\n── day {step.day} ── {step.note}")
    if step.file:
        print(f"   puts in      documents/{step.file}")
        return
    print(f"   says         {step.say}")
    if shown.prompt:
        print("   in the prompt:")
        _list("profile", [one.memory.text for one in shown.memories if one.score is None])
        _list("memories", [_scored(one) for one in shown.memories if one.score is not None])
        _list("history", [" ".join(turn.split()) for turn in shown.prompt.get("turn", ())])
        _list("documents", shown.documents)
    else:
        print("   an order: no model is asked, no document is searched")
    print(f"   answer       {' / '.join(shown.answer.splitlines())}")
    for part in shown.degraded:
        print(f"   without      {part}")
    print("   remembered afterwards:")
    _list("in use", shown.remembered)
    _list("superseded", shown.history)


def _list(name: str, lines: Sequence[str]) -> None:
    for number, line in enumerate(lines or ["nothing"]):
        print(f"     {'' if number else name:<11}{line}")


def _scored(recalled: Recalled) -> str:
    assert recalled.signals is not None
    signals = asdict(recalled.signals).items()
    told = ", ".join(f"{name} {value:.2f}" for name, value in signals if value is not None)
    return f"{recalled.memory.text}  [{recalled.score:.3f}: {told}]"


def as_json(shown: Shown) -> dict[str, Any]:
    """Return a step in one form that other programs read."""
    step = shown.step
    return {
        "day": step.day,
        "say": step.say,
        "file": step.file,
        "prompt": dict(shown.prompt),
        "memories": [
            {
                "text": one.memory.text,
                "score": one.score,
                "signals": asdict(one.signals) if one.signals else None,
            }
            for one in shown.memories
        ],
        "documents": list(shown.documents),
        "answer": shown.answer,
        "degraded": list(shown.degraded),
        "remembered": list(shown.remembered),
        "superseded": list(shown.history),
    }


async def main(*, as_text: bool) -> int:
    steps = [
        Step(**step) for step in tomllib.loads((HERE / "story.toml").read_text("utf-8"))["step"]
    ]

    def progress(line: str) -> None:
        print(line, file=sys.stderr)

    async with vademecum.open(tell=progress) as app:
        if await app.memories(scope=SCOPE) or await app.talking.list(scope=SCOPE):
            print(f"this data folder knows {PERSON} already: `vade forget --as {PERSON}` first")
            return 1
        told = await tell(app, steps)
    if not as_text:
        print(json.dumps([as_json(shown) for shown in told], ensure_ascii=False, indent=2))
        return 0
    print("Thirty days with a companion. The language model is scripted; all else is the product.")
    for shown in told:
        show(shown)
    print(
        f"\nGo on with the same VADE_HOME:\n  vade memories list --as {PERSON}\n"
        f'  vade recall "dinner ideas" --as {PERSON}\n  vade forget --as {PERSON}'
    )
    return 0


if __name__ == "__main__":
    options = argparse.ArgumentParser(description="A companion over thirty days.")
    options.add_argument("--json", action="store_true", help="one JSON document instead of text")
    sys.exit(asyncio.run(main(as_text=not options.parse_args().json)))
