"""`vade search` and `vade ask`: find passages, and get checked answers."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated

import typer

from vademecum.app import App
from vademecum.cli.conversations import conversation_id
from vademecum.cli.memories import StageOption, stage_named
from vademecum.cli.options import (
    COMMON,
    As,
    AsOf,
    Collection,
    FilterJson,
    Labels,
    Persona,
    Where,
    day_of,
    filter_of,
    scope_of,
)
from vademecum.cli.output import (
    Work,
    escape,
    out,
    page_text,
    print_json,
    working,
)
from vademecum.composing import open as open_app
from vademecum.errors import UsageError
from vademecum.interface import NEAREST, answer_json, event_json, found_json, scope_json
from vademecum.model.answer import Answer, Checked, Citation, Conflict, Done, Event, Sentence
from vademecum.model.ids import ConversationId
from vademecum.model.memory import DEFAULT_PERSONA
from vademecum.model.passage import Found, Passage
from vademecum.model.principal import Scope
from vademecum.model.query import Mode

_SUPPORT = {"supported": "green", "partly": "yellow"}


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="what to look for")],
    collection: Collection = None,
    k: Annotated[int, typer.Option("-k", min=0, max=1000, help="how many passages")] = 5,
    where: Where = None,
    filter_json: FilterJson = None,
    mode: Annotated[str, typer.Option(help="hybrid, dense or keyword")] = "hybrid",
    principal: As = None,
    labels: Labels = None,
    as_of: AsOf = None,
    explain: Annotated[bool, typer.Option("--explain", help="show every signal")] = False,
) -> None:
    """Find the passages nearest to a text."""
    scope = scope_of(principal, labels)
    if mode not in ("hybrid", "dense", "keyword"):
        raise UsageError(f"there is no mode {mode!r}", hint="use hybrid, dense or keyword")
    chosen: Mode = mode  # type: ignore[assignment]  # checked on the line above
    wanted = filter_of(where, filter_json)

    async def run() -> Found:
        with working("opening", quiet=COMMON.json) as work:
            async with open_app(COMMON.settings(), tell=work.tell) as app:
                collections = frozenset(collection) if collection else None
                return await app.search(
                    text,
                    scope=scope,
                    k=k,
                    mode=chosen,
                    collections=collections,
                    as_of=day_of(as_of),
                    filter=wanted,
                )

    found = asyncio.run(run())
    retrieval = found.retrieval
    if COMMON.json:
        print_json(found_json(found, scope))
        return
    for passage in retrieval.passages:
        _show_passage(passage, explain=explain)
    if not retrieval.passages:
        out.print("nothing found")
    elif retrieval.abstention.would:
        out.print(f"[yellow]probably not an answer:[/] {escape(retrieval.abstention.reason)}")
    _show_degraded(retrieval.degraded)


def _show_passage(passage: Passage, *, explain: bool) -> None:
    source, chunk = passage.source, passage.source.chunk
    page = page_text(chunk.page_start, chunk.page_end)
    place = f"[cyan]{escape(source.title)}[/]{page}  [dim]{escape(source.uri)}[/]"
    out.print(f"[bold]{passage.rank}[/]  {place}")
    text = " ".join(chunk.text.split())
    out.print(f"   {escape(text[:300])}{'…' if len(text) > 300 else ''}")
    if explain:
        parts = [
            f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}"
            for name, value in asdict(passage.signals).items()
            if value is not None
        ]
        out.print(f"   [dim]{' · '.join(parts)}[/]")


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="in any language")],
    collection: Collection = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="go on with this one")
    ] = None,
    where: Where = None,
    filter_json: FilterJson = None,
    principal: As = None,
    labels: Labels = None,
    as_of: AsOf = None,
    persona: Persona = None,
    stage: StageOption = None,
    go_on: Annotated[
        bool, typer.Option("--continue", help="go on with the conversation used last")
    ] = False,
    temporary: Annotated[bool, typer.Option("--temporary", help="keep nothing of it")] = False,
    stream: Annotated[bool, typer.Option("--stream", help="show sentences as they come")] = False,
) -> None:
    """Get an answer whose every sentence is backed by your documents, or an honest no."""
    if not question.strip():
        raise UsageError("the question is empty", hint="ask something")
    scope = scope_of(principal, labels)
    if (conversation is not None) + go_on + temporary > 1:
        raise UsageError(
            "--conversation, --continue and --temporary exclude each other", hint="give one"
        )
    named = conversation_id(conversation) if conversation is not None else None
    wanted = filter_of(where, filter_json)
    known = stage_named(stage)

    async def run() -> Answer:
        with working("opening", quiet=COMMON.json) as work:
            async with open_app(COMMON.settings(), tell=work.tell) as app:
                show = _streaming(work) if stream else _unshown
                latest = await _latest(app, scope, persona) if go_on else None
                events = app.stream(
                    question,
                    scope=scope,
                    collections=frozenset(collection) if collection else None,
                    conversation_id=named or latest,
                    as_of=day_of(as_of),
                    filter=wanted,
                    persona=persona,
                    stage=known,
                    temporary=temporary,
                )
                return await _follow(events, show)

    answer = asyncio.run(run())
    if stream:
        return
    if COMMON.json:
        print_json(answer_json(answer) | {"scope": scope_json(scope)})
    else:
        show_answer(answer)


async def _latest(app: App, scope: Scope, persona: str | None) -> ConversationId | None:
    return await app.talking.latest(scope=scope, persona=persona or DEFAULT_PERSONA)


def _unshown(_event: Event) -> None: ...


def _streaming(work: Work) -> Callable[[Event], None]:
    """Show each event as it comes: a JSON line, or for a person the sentences, then the sources."""

    def show(event: Event) -> None:
        work.stop()
        if COMMON.json:
            print_json(event_json(event), compact=True)
        elif isinstance(event, Checked):
            show_sentence(event.sentence, quoted=event.mode == "extractive")
        elif isinstance(event, Done):
            show_rest(event.answer)

    return show


async def _follow(events: AsyncGenerator[Event, None], show: Callable[[Event], None]) -> Answer:
    async with aclosing(events):
        async for event in events:
            show(event)
            if isinstance(event, Done):
                return event.answer
    raise RuntimeError("the answer had no end")


def show_answer(answer: Answer) -> None:
    """Print an answer with its sources; an abstention with what was nearest."""
    for sentence in answer.sentences:
        show_sentence(sentence, quoted=answer.mode == "extractive")
    show_rest(answer)


def show_sentence(sentence: Sentence, *, quoted: bool) -> None:
    """Print one sentence and its markers, in the colour of their support."""
    markers = "".join(f"\\[{marker}]" for marker in sentence.markers)
    if sentence.support == "unsupported":
        out.print(f"[yellow]{escape(sentence.text)}[/]")
    else:
        text = escape(sentence.text)
        text = f"“{text}”" if quoted and sentence.markers else text
        marked = f" [{_SUPPORT[sentence.support]}]{markers}[/]" if markers else ""
        out.print(f"{text}{marked}")


def show_rest(answer: Answer) -> None:
    """Print what comes after the sentences: the sources, or what was nearest."""
    if answer.abstained:
        out.print(f"[yellow]{escape(answer.text)}[/]")
        if answer.searched:
            names = answer.collections
            where = "everywhere" if names is None else f"in {', '.join(sorted(names))}"
            texts = ", ".join(f"“{' '.join(text.split())}”" for text in answer.searched)
            out.print(f"[dim]  searched {escape(where)} for {escape(texts)}[/]")
        for place in list(dict.fromkeys(_place(passage) for passage in answer.passages))[:NEAREST]:
            out.print(f"[dim]  nearest: {escape(place)}[/]")
    shown: set[tuple[object, ...]] = set()
    for citation in answer.citations:
        _show_citation(citation, shown)
    for conflict in answer.conflicts:
        _show_conflict(conflict)
    if answer.as_of is not None:
        out.print(f"[dim]as it was on {answer.as_of}[/]")
    _show_remembered(answer)
    _show_degraded(answer.degraded)


def _show_remembered(answer: Answer) -> None:
    """Print what is remembered beside quotations, which cannot use it, and what a written answer
    rests on; an order's answer says its memory already."""
    named = {memory_id for sentence in answer.sentences for memory_id in sentence.memories}
    for recalled in answer.memories:
        beside = answer.mode == "extractive" or recalled.memory.id in named
        if beside and recalled.memory.text not in answer.text:
            out.print(f"[dim]  remembered: {escape(recalled.memory.text)}[/]")


def _place(passage: Passage) -> str:
    chunk = passage.source.chunk
    return passage.source.title + page_text(chunk.page_start, chunk.page_end)


def _show_citation(citation: Citation, shown: set[tuple[object, ...]]) -> None:
    key = (citation.marker, citation.page_start)
    if key in shown:
        return
    shown.add(key)
    page = page_text(citation.page_start, citation.page_end)
    out.print(
        f"  [dim]\\[{citation.marker}] {escape(citation.title)}{page} · {escape(citation.uri)}[/]"
    )


def _show_conflict(conflict: Conflict) -> None:
    other = conflict.other
    page = page_text(other.page_start, other.page_end)
    out.print(
        f"[yellow]another source than \\[{other.marker}] says otherwise:[/]"
        f" “{escape(' '.join(other.quote.split()))}”"
    )
    out.print(
        f"  [dim]{escape(other.title)}{page} · {escape(other.uri)},"
        f" since {conflict.other_since:%Y-%m-%d}; \\[{other.marker}] since"
        f" {conflict.since:%Y-%m-%d}[/]"
    )


def _show_degraded(degraded: tuple[str, ...]) -> None:
    for part in degraded:
        out.print(f"[yellow]without {escape(part)}[/]")
