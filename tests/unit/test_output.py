"""Is what documents hold printed as it is, and does every value have its JSON form?"""

import io
import json
from dataclasses import fields, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vademecum import interface
from vademecum.answer.cite import citation
from vademecum.cli import ask as ask_commands
from vademecum.cli import output
from vademecum.cli.output import escape, page_text, print_json, say_error, visible
from vademecum.errors import VademecumError
from vademecum.interface import passage_json
from vademecum.model.answer import Answer, Sentence, Usage
from vademecum.model.document import State
from vademecum.model.ids import ConversationId, TraceId, TurnId
from vademecum.testing.passages import make_passage

ID = UUID(int=7)


def printed(markup: str, *, colour: bool = False) -> str:
    console = Console(
        file=io.StringIO(), highlight=False, soft_wrap=True, emoji=False, force_terminal=colour
    )
    console.print(markup, end="")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "[bold]not bold[/bold]",
        "[/]",
        r"\[/]",
        r"\\[red]x[/red]",
        r"see \[1] and [2]",
        "an [open bracket",
        "C:\\documents\\",
        "three \\\\\\",
        "the :warning: stays",
        "[link=file:///x]y[/link]",
        "R$\u00a050 \u3000全角 क्‍ष می‌رود 👩‍🚀 soft\u00adhyphen",
        "a\ttab",
    ],
)
def test_text_is_printed_as_it_is(text: str) -> None:
    assert printed(f"[dim]{escape(text)}[/] end") == f"{text} end".expandtabs(8)


@given(st.text(alphabet="\\[]/ab#@:= ", max_size=12))
def test_no_mix_of_brackets_and_backslashes_is_read_as_markup(text: str) -> None:
    assert printed(f"[dim]{escape(text)}[/]|{escape(text)}[bold]![/]") == f"{text}|{text}!"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "�[31mred"),
        ("\x1b]0;title\x07", "�]0;title�"),
        ("over\rwritten", "over�written"),
        ("c1 \x9b2J", "c1 �2J"),
        ("del\x7f bell\x07", "del� bell�"),
        ("half \ud800", "half �"),
        ("txt.\u202efdp", "txt.�fdp"),
        ("line\u2028sep", "line�sep"),
    ],
)
def test_nothing_steers_the_terminal(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert len(shown) == len(text)
    assert printed(escape(text)) == shown


HOSTILE = "\x1b[2J[/] [red]:x: \\"
SHOWN = "�[2J[/] [red]:x: \\"


def an_answer(text: str, *, abstained: bool = False) -> Answer:
    passage = make_passage(text, title=text, uri=text)
    cited = citation(1, passage, 0, len(text), support="supported")
    return Answer(
        question=text,
        text=text,
        abstained=abstained,
        mode="extractive",
        sentences=() if abstained else (Sentence(text=text, markers=(1,), support="supported"),),
        citations=() if abstained else (cited,),
        passages=(passage,),
        degraded=(text,),
        usage=Usage(prompt_tokens=0, completion_tokens=0),
        timings_ms={"total": 1.5},
        conversation_id=ConversationId(ID),
        turn_id=TurnId(ID),
        trace_id=TraceId(ID),
        asked_turn_id=TurnId(UUID(int=4)),
    )


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a person at a colour terminal is sent, without our own colours."""
    file = io.StringIO()
    console = Console(file=file, highlight=False, soft_wrap=True, emoji=False, no_color=True)
    for module in (output, ask_commands):
        monkeypatch.setattr(module, "out", console)
    monkeypatch.setattr(output, "err", console)
    return file


@pytest.mark.parametrize("abstained", [False, True])
def test_an_answer_of_a_hostile_document(screen: io.StringIO, abstained: bool) -> None:
    ask_commands.show_answer(an_answer(HOSTILE, abstained=abstained))
    shown = screen.getvalue()
    assert "\x1b" not in shown
    lines = (
        [SHOWN, f"  nearest: {SHOWN}", f"without {SHOWN}"]
        if abstained
        else [f"“{SHOWN}” [1]", f"  [1] {SHOWN} · {SHOWN}", f"without {SHOWN}"]
    )
    assert shown.splitlines() == lines


def test_a_passage_of_a_hostile_document(screen: io.StringIO) -> None:
    passage = make_passage(HOSTILE, title=HOSTILE, uri=HOSTILE)
    ask_commands._show_passage(passage, explain=True)
    assert screen.getvalue().splitlines()[:2] == [f"1  {SHOWN}  {SHOWN}", f"   {SHOWN}"]


def test_every_signal_that_a_passage_has_is_explained(screen: io.StringIO) -> None:
    passage = make_passage("text")
    some = replace(
        passage.signals, dense=0.8125, dense_rank=2, keyword=None, keyword_rank=None, final=0.5
    )
    ask_commands._show_passage(replace(passage, signals=some), explain=True)
    shown = screen.getvalue().splitlines()[2]
    for field in fields(some):
        value = getattr(some, field.name)
        assert (f" {field.name} " in shown) is (value is not None), field.name
    assert " dense 0.812 · dense_rank 2 · " in shown
    ask_commands._show_passage(passage, explain=False)
    assert len(screen.getvalue().splitlines()) == 5


def test_an_error_about_a_hostile_name(screen: io.StringIO) -> None:
    say_error(VademecumError(f"no file {HOSTILE}", hint="look"))
    assert screen.getvalue() == f"error: no file {SHOWN}. look [internal]\n"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (ID, str(ID)),
        (Path("/a/b"), "/a/b"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({2, 1}, [1, 2]),
        (State.NO_TEXT, "no_text"),
        (("x", None, True, 1.5), ["x", None, True, 1.5]),
        ("é\x1b[2J \ud800", "é\x1b[2J \ud800"),
    ],
)
def test_each_type_has_a_json_form(value: Any, plain: Any, capfdbinary: Any) -> None:
    print_json({"value": value})
    printed_bytes = capfdbinary.readouterr().out
    assert json.loads(printed_bytes) == {"value": plain}
    assert b"\x1b" not in printed_bytes
    print_json(value, compact=True)
    assert capfdbinary.readouterr().out.count(b"\n") == 1


def test_what_has_no_json_form_is_an_error_of_ours() -> None:
    with pytest.raises(TypeError, match="bytes has no JSON form"):
        print_json(b"x")


def test_an_answer_and_a_passage_have_the_interface_s_fields() -> None:
    answer = interface.answer_json(an_answer("Doors open at nine."))
    assert list(answer) == [
        "answer", "abstained", "mode", "citations", "sentences", "memories", "degraded", "usage",
        "timings_ms", "conversation_id", "turn_id", "trace_id", "given_before", "as_of",
        "conflicts", "searched", "collections", "nearest",
    ]  # fmt: skip
    assert answer["nearest"] == [], "only where nothing answers"
    assert list(answer["citations"][0]) == [
        "marker", "chunk_id", "document_id", "uri", "title", "page_start", "page_end", "start",
        "end", "quote", "support",
    ]  # fmt: skip
    assert list(passage_json(make_passage("x"))) == [
        "rank", "score", "chunk_id", "document_id", "uri", "title", "heading_path", "page_start",
        "page_end", "start", "end", "language", "text", "metadata", "signals",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [(None, None, ""), (3, None, ", p. 3"), (3, 3, ", p. 3"), (3, 5, ", pp. 3-5")],
)
def test_pages(start: int | None, end: int | None, text: str) -> None:
    assert page_text(start, end) == text


def test_what_is_not_in_the_sources_says_what_was_searched_and_what_came_nearest(
    screen: io.StringIO,
) -> None:
    answer = replace(
        an_answer("Doors.", abstained=True), searched=("when do\ndoors open", "[/] \x1b[2J"),
        collections=frozenset(["hall", "gates"]),
    )  # fmt: skip
    ask_commands.show_rest(answer)
    lines = screen.getvalue().splitlines()
    assert lines[1] == "  searched in gates, hall for “when do doors open”, “[/] �[2J”"
    assert lines[2] == "  nearest: Doors."
    told = interface.answer_json(answer)
    assert told["collections"] == ["gates", "hall"]
    [near] = told["nearest"]
    assert list(near) == [
        "chunk_id", "document_id", "uri", "title", "page_start", "page_end", "start", "end",
    ]  # fmt: skip
    assert near["uri"] == "Doors."
    ask_commands.show_rest(replace(answer, collections=None))
    assert "  searched everywhere for “when do doors open”" in screen.getvalue()


def test_an_unsupported_sentence_has_no_quotation_marks(screen: io.StringIO) -> None:
    answer = an_answer("x")
    unknown = Sentence(text="The documents do not answer: y", markers=(), support="unsupported")
    ask_commands.show_answer(replace(answer, sentences=(*answer.sentences, unknown)))
    assert screen.getvalue().splitlines()[1] == "The documents do not answer: y"


def test_what_is_printed_beside_a_bar_has_its_own_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    for name in ("out", "err"):
        monkeypatch.setattr(output, name, Console(file=screen, force_terminal=True, width=80))
    with output.working("opening", quiet=False) as work:
        work.tell("reading [/] \x1b[2J")
        work.count(1, 2)
        output.out.print("an answer")
    # The bar's line is gone when the text comes.
    assert "\x1b[2Kan answer" in screen.getvalue()
    assert "reading [/] \x1b" not in screen.getvalue()


def test_what_is_printed_beside_a_bar_goes_into_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    bar = io.StringIO()
    monkeypatch.setattr(output, "err", Console(file=bar, force_terminal=True, width=80))
    with output.working("opening", quiet=False):
        output.out.print("an answer")
    assert capsys.readouterr().out == "an answer\n"
    assert "opening" in bar.getvalue()


def test_quiet_work_says_nothing(capsys: Any) -> None:
    with output.working("opening", quiet=True) as work:
        work.tell("reading")
        work.count(1, 2)
    assert capsys.readouterr() == ("", "")
    with output.working("opening", quiet=False) as work:
        work.tell("reading [/] \x1b[2J")
    assert capsys.readouterr() == ("", "reading [/] �[2J\n")
