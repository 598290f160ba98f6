"""Does a command say what happened, in words and with its exit status, and steer no terminal?"""

import json
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from vademecum import interface
from vademecum.answer.cite import citation
from vademecum.cli import ask, documents, memories
from vademecum.cli.ingest import pair
from vademecum.cli.main import run
from vademecum.cli.options import COMMON, Common, scope_of
from vademecum.cli.output import Work
from vademecum.errors import UsageError
from vademecum.model.answer import Answer, Checked, Done, Event, Retrieved, Sentence, Usage
from vademecum.model.ids import ConversationId, DocumentId, TraceId, TurnId
from vademecum.model.memory import Memory, MemoryVersion, Recalled
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt, StoreReceipt
from vademecum.remembering import MemoryStory
from vademecum.testing.memories import make_memory
from vademecum.testing.passages import make_passage

ID = UUID(int=7)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a process of its own, as far as the options and the hook go."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    for name in Common.__slots__:
        monkeypatch.setattr(COMMON, name, getattr(Common(), name))


def vade(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        run(list(arguments))
    return int(left.value.code or 0)


def instead(monkeypatch: pytest.MonkeyPatch, result: Any) -> None:
    """Let the commands on documents get this from the catalogue."""

    def with_catalogue(work: Callable[..., Any]) -> Any:
        return result

    monkeypatch.setattr(documents, "with_catalogue", with_catalogue)


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--tenant", ""],
        ["status", "--tenant", " "],
        ["status", "--tenant", "\udcff"],
        ["search", "x", "--as", ""],
        ["search", "x", "--as", "\udcff"],
        ["search", "x", "--as", "a", "--labels", ""],
        ["search", "x", "--labels", "a"],
        ["ingest", "-"],
        ["ingest", "a.txt", "--uri", "x"],
        ["ask", "x", "--conversation", "7"],
        ["explain", "x"],
    ],
)
def test_wrong_words_are_one_line(arguments: list[str], capsys: Any) -> None:
    assert vade(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert said.err.startswith("error: ")
    assert said.err.endswith(" [usage]\n")


@pytest.mark.parametrize(
    "arguments", [["search", "--json"], ["frob", "--json"], ["search", "x", "--tenant=", "--json"]]
)
def test_wrong_words_are_json_where_json_was_asked(arguments: list[str], capsys: Any) -> None:
    assert vade(*arguments) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


def test_a_fault_of_ours_is_one_line_and_json(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def broken(work: Any) -> Any:
        raise ZeroDivisionError("a person's text")

    monkeypatch.setattr(documents, "with_catalogue", broken)
    for arguments in (["documents", "list"], ["documents", "list", "--json"]):
        with pytest.raises(ZeroDivisionError) as caught:
            run(arguments)
        sys.excepthook(caught.type, caught.value, caught.tb)
        said = capsys.readouterr()
        assert said.err.startswith("error: something broke inside (ZeroDivisionError). ")
        assert len(said.err.splitlines()) == 1
        assert "a person's text" not in said.out + said.err
        assert ("--json" in arguments) == bool(said.out)
    assert json.loads(said.out)["error"]["code"] == "internal"


RECEIPT = Receipt(
    purge_id="p",
    stores=(
        StoreReceipt(store="postgres.chunks", found=3, deleted=3, left=0, why=""),
        StoreReceipt(store="blobs", found=2, deleted=1, left=1, why="/x[/] cannot be deleted"),
    ),
)


def test_a_deletion_that_left_something_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    instead(monkeypatch, RECEIPT)
    assert vade("documents", "delete", "x") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "postgres.chunks            found     3  deleted     3  left 0",
        "blobs                      found     2  deleted     1  left 1  /x[/] cannot be deleted",
        "something is left",
    ]
    assert vade("documents", "delete", "x", "--json") == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["complete"] is False
    assert printed["stores"][1]["left"] == 1


def test_a_deletion_that_left_nothing(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    instead(monkeypatch, replace(RECEIPT, stores=RECEIPT.stores[:1]))
    assert vade("documents", "delete", "x") == 0
    assert capsys.readouterr().out.endswith("nothing is left\n")


def test_a_document_s_text_steers_no_terminal_but_is_whole_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    text = "one\x1b[2J\ntwo\tthree [/]"
    instead(monkeypatch, (DocumentId(ID), text))
    assert vade("documents", "text", "x") == 0
    assert capsys.readouterr().out == f"{text}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert vade("documents", "text", "x") == 0
    assert capsys.readouterr().out == "one�[2J\ntwo\tthree [/]\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k=2024", 2024),
        ("k=1.5", 1.5),
        ("k=true", True),
        ("k=null", None),
        ('k="2024"', "2024"),
        ("k=plain text", "plain text"),
        ("k=a=b", "a=b"),
        ("k=", ""),
        ("k=[1]", "[1]"),
        ('k={"a":1}', '{"a":1}'),
        ("k=" + "[" * 100_000, "[" * 100_000),
    ],
)
def test_metadata_is_a_json_scalar_or_text(text: str, value: object) -> None:
    assert pair(text) == ("k", value)


@pytest.mark.parametrize("text", ["", "k", "=v"])
def test_metadata_needs_a_key_and_a_sign(text: str) -> None:
    with pytest.raises(UsageError, match="is not KEY=VALUE"):
        pair(text)


def test_the_scope_of_a_command() -> None:
    assert scope_of(None, None) == Scope.for_operator("default")
    scope = scope_of("ana", ["group:box"])
    assert (scope.principal, scope.operator) == ("user:ana", False)
    assert scope.labels == {"tenant", "user:ana", "group:box"}
    assert scope_of("role:bot", None).principal == "role:bot"
    assert interface.scope_json(scope)["labels"] == ["group:box", "tenant", "user:ana"]


def an_answer(*, abstained: bool) -> Answer:
    passage = make_passage("Doors open at nine.")
    cited = citation(1, passage, 0, 19, support="supported")
    return Answer(
        question="?",
        text="I don't know" if abstained else "Doors open at nine. [1]",
        abstained=abstained,
        mode="extractive",
        sentences=() if abstained else (_SENTENCE,),
        citations=() if abstained else (cited,),
        passages=(passage,),
        degraded=(),
        usage=Usage(prompt_tokens=0, completion_tokens=0),
        timings_ms={},
        conversation_id=ConversationId(ID),
        turn_id=TurnId(ID),
        trace_id=TraceId(ID),
        asked_turn_id=TurnId(UUID(int=4)),
    )


def remembered(text: str, number: int) -> Recalled:
    return Recalled(memory=make_memory(text, number=number), score=None, signals=None)


@pytest.mark.parametrize("abstained", [False, True])
def test_what_is_remembered_stands_beside_quotations(abstained: bool, capsys: Any) -> None:
    own = (remembered("I am allergic to peanuts", 1),)
    ask.show_answer(replace(an_answer(abstained=abstained), memories=own))
    assert "  remembered: I am allergic to peanuts\n" in capsys.readouterr().out


def test_of_what_is_remembered_a_written_answer_shows_what_it_rests_on(capsys: Any) -> None:
    own = (remembered("I am allergic to peanuts", 1), remembered("I own a boat", 2))
    rests = replace(_SENTENCE, text="You sail.", markers=(), memories=(own[1].memory.id,))
    answer = an_answer(abstained=False)
    ask.show_answer(replace(answer, mode="generated", sentences=(rests,), memories=own))
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "You sail.", "no space where a marker would stand"
    assert [line for line in shown if "remembered" in line] == ["  remembered: I own a boat"]


def test_an_order_does_not_repeat_its_memory(capsys: Any) -> None:
    said = replace(_SENTENCE, text="Saved: I own a boat", markers=())
    answer = replace(
        an_answer(abstained=False), text=said.text, sentences=(said,), citations=(), passages=()
    )
    ask.show_answer(replace(answer, memories=(remembered("I own a boat", 1),)))
    assert capsys.readouterr().out == "Saved: I own a boat\n"


def test_a_memory_is_shown_as_a_person_reads_it(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    memory = make_memory(
        "I am allergic to peanuts and cashews", pinned=True, sensitive=frozenset({"health"})
    )
    before = MemoryVersion(
        version=1,
        kind="profile_fact",
        text="I am allergic to peanuts",
        true_from=None,
        true_until=None,
        known_from=memory.known_from,
        known_until=memory.known_from,
    )
    story = MemoryStory(memory=memory, versions=(before,))

    def with_app(work: Callable[..., Any]) -> MemoryStory:
        return story

    monkeypatch.setattr(memories, "with_app", with_app)
    assert vade("memories", "show", str(memory.id)) == 0
    shown = dict(line.strip().split("  ", 1) for line in capsys.readouterr().out.splitlines())
    assert shown["pinned"] == "yes"
    assert shown["sensitive"] == "health"
    assert shown["known from"] == "2026-11-30 12:00"
    assert shown["until 2026-11-30 12:00"] == "I am allergic to peanuts"
    assert not {"expires at", "client", "reason", "superseded by"} & set(shown)


_SENTENCE = Sentence(text="Doors open at nine.", markers=(1,), support="supported")


@pytest.mark.parametrize("abstained", [False, True])
async def test_sentences_are_shown_as_they_come(abstained: bool, capsys: Any) -> None:
    answer = an_answer(abstained=abstained)
    shown: list[str] = []

    async def stream() -> AsyncGenerator[Event, None]:
        yield Retrieved(passages=answer.passages)
        if not abstained:
            yield Checked(mode="extractive", sentence=_SENTENCE, citations=answer.citations)
            shown.append(capsys.readouterr().out)
        yield Done(answer=answer)

    stopped: list[bool] = []
    work = Work(tell=lambda _: None, count=lambda *_: None, stop=lambda: stopped.append(True))
    streaming = ask._streaming(work)
    assert await ask._follow(stream(), streaming) == answer
    assert stopped  # the progress line made room
    assert shown == ([] if abstained else ["“Doors open at nine.” [1]\n"])
    end = capsys.readouterr().out
    assert ("I don't know" in end) is abstained
    assert ("[1] " in end) is not abstained
    # Without --stream nothing is shown before the end.
    assert await ask._follow(stream(), ask._unshown) == answer
    assert shown[1:] == ([] if abstained else [""])


def test_a_listed_memory_is_told_apart_below_its_text(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    memory = make_memory(pinned=True, expires_at=datetime(2026, 12, 2, 9, 30, tzinfo=UTC))
    found = [memory]

    remembers = True

    def with_app(work: Callable[..., Any]) -> tuple[list[Memory], bool]:
        return found, remembers

    monkeypatch.setattr(memories, "with_app", with_app)
    expires = "expires 2026-12-02 09:30"
    assert vade("memories", "list") == 0
    assert capsys.readouterr().out.splitlines() == [
        "I like tea",
        f"  {memory.id}  active · preference · since 2026-11-30 · pinned · {expires}",
    ]
    found.clear()
    assert vade("memories", "list", "--as-of", "2026-11-01") == 0
    assert capsys.readouterr().out == "nothing was remembered on that day\n"
    remembers = False
    assert vade("memories", "list") == 0
    assert capsys.readouterr().out == "remembering is off: `vade memories on` switches it on\n"
