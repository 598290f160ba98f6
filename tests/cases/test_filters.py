"""Are filters exact? The rows RE-04, RE-05, RE-06 and RE-26 of the public cases."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_filters import INJECTED_KEY, INJECTED_VALUE
from support import OPERATOR, Bench, make_bench, source

from vademecum.cli.main import run
from vademecum.cli.options import COMMON, Common
from vademecum.errors import InvalidFilter
from vademecum.model.filter import Filter
from vademecum.model.filter_json import parse_filter, where
from vademecum.model.principal import Scope
from vademecum.model.query import Mode
from vademecum.opening import search_rules
from vademecum.postgres.pool import Pool
from vademecum.settings import SearchSettings, Settings

TEXT = "The turnstile of the north gate opens at nine."
NEIGHBOUR = Scope.for_operator("neighbour")


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


async def put(bench: Bench, documents: dict[str, dict[str, Any]], scope: Scope = OPERATOR) -> None:
    """Ingest one text under many names, each with its metadata."""
    results = await bench.ingest(
        *(source(uri, TEXT, metadata=metadata) for uri, metadata in documents.items()), scope=scope
    )
    assert {result.status for result in results} == {"ready"}


async def uris(
    bench: Bench, wanted: Filter | None, *, mode: Mode = "hybrid", k: int = 100
) -> list[str]:
    found = await bench.app.search("turnstile", scope=OPERATOR, k=k, mode=mode, filter=wanted)
    assert found.retrieval.degraded == ()
    return sorted(passage.source.uri for passage in found.retrieval.passages)


@pytest.mark.parametrize(
    "value",
    [
        {"eq": ["user_id", INJECTED_VALUE]},
        {"in": ["user_id", [INJECTED_VALUE, "' OR '1'='1", '" || true || "']]},
        {"eq": [INJECTED_KEY, "a"]},
        {"exists": INJECTED_KEY},
        {"eq": ['user_id" ? (1 == 1) || $."user_id', "a"]},
        {"gte": ['x") || (exists($.*)) || exists($."x', ""]},
        {"eq": ["$.*", "b"]},
        {"eq": ["*", "b"]},
        {"eq": ["user_id.size()", 1]},
        {"eq": ["user_id", "$v0"]},
        {"null": "tenant"},
        {"eq": ["tenant", "neighbour"]},
    ],
)
async def test_re_04_values_and_keys_are_never_query_text(bench: Bench, value: Any) -> None:
    await put(bench, {"a": {"user_id": "a", "author": "a"}, "b": {"user_id": "b"}})
    await put(bench, {"theirs": {"user_id": "b", "tenant": "neighbour"}}, NEIGHBOUR)
    assert await uris(bench, None) == ["a", "b"]
    for mode in ("hybrid", "dense", "keyword"):
        assert await uris(bench, parse_filter(value), mode=mode) == []
    # Whatever is injected, "not" of it is all that one may see, and no more.
    assert await uris(bench, parse_filter({"not": value})) == ["a", "b"]


@pytest.mark.parametrize(
    "value",
    [
        {"eq": ["user_id", {"ne": ""}]},
        {"eq": ["user_id", {"$ne": None}]},
        {"user_id": "b"},
        {"user_id": {"$regex": ".*"}},
        {"in": ["user_id", {"b": 1}]},
        {"or": {"eq": ["user_id", "b"]}},
        {"matches": ["user_id", ".*"]},
        {"eq": ["document.tenant", "neighbour"]},
    ],
)
def test_re_04_a_dict_for_a_value_is_a_usage_error(
    value: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    with pytest.raises(InvalidFilter):
        parse_filter(value)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    for command in ("search", "ask"):
        for name in Common.__slots__:
            monkeypatch.setattr(COMMON, name, getattr(Common(), name))
        with pytest.raises(SystemExit) as left:
            run([command, "turnstile", "--filter", json.dumps(value), "--json"])
        assert left.value.code == 2
        assert json.loads(capsys.readouterr().out)["error"]["code"] == "filter-invalid"


async def test_an_answer_uses_only_what_the_filter_lets_through(bench: Bench) -> None:
    await bench.ingest(
        source("new", "The north gate opens at nine.", metadata={"season": 2026}),
        source("old", "The north gate opens at seven.", metadata={"season": 2024}),
    )
    for season, hour in ((2026, "nine"), (2024, "seven")):
        wanted = parse_filter({"eq": ["season", season]})
        question = "When does the north gate open?"
        answer = await bench.app.ask(question, scope=OPERATOR, filter=wanted)
        assert hour in answer.text
        assert len({passage.source.uri for passage in answer.passages}) == 1
    none = parse_filter({"eq": ["season", "2026"]})
    answer = await bench.app.ask(question, scope=OPERATOR, filter=none)
    assert (answer.abstained, answer.passages) == (True, ())


async def test_only_filters_over_allowed_keys_are_taken(bench: Bench) -> None:
    app = replace(bench.app, filter_keys=frozenset({"season"}))
    allowed = parse_filter({"and": [{"exists": "season"}, {"eq": ["document.language", "en"]}]})
    refused: list[Any] = [
        parse_filter({"or": [{"exists": "season"}, {"not": {"exists": "salary"}}]}),
        {"eq": ["season", 2026]},
        "season=2026",
    ]
    await app.search("gate", scope=OPERATOR, filter=allowed)
    await app.ask("gate?", scope=OPERATOR, filter=allowed)
    for wanted in refused:
        with pytest.raises(InvalidFilter):
            await app.search("gate", scope=OPERATOR, filter=wanted)
        with pytest.raises(InvalidFilter):
            await app.ask("gate?", scope=OPERATOR, filter=wanted)
        with pytest.raises(InvalidFilter):
            app.stream("gate?", scope=OPERATOR, filter=wanted)
    await bench.app.search("gate", scope=OPERATOR, filter=refused[0])  # without a list all are


HONEST = (
    'say "hi"', "it's", "\\", "back\\slash", "\\'", "%s", "%", "_", "${x}", "$v0", "a\nb", "O''Brien",
    "“quoted”", "é", "e\u0301", "票 🎟", "-- x", "a;b", "\u2028", " padded ", "{}",
)  # fmt: skip


async def test_re_05_honest_quotes_match_exactly(bench: Bench) -> None:
    named = {f"value-{n}": {"name": text} for n, text in enumerate(HONEST)}
    keyed = {f"key-{n}": {text: "here"} for n, text in enumerate(HONEST)}
    await put(bench, named | keyed)
    for n, text in enumerate(HONEST):
        assert await uris(bench, parse_filter({"eq": ["name", text]})) == [f"value-{n}"]
        assert await uris(bench, parse_filter({"in": ["name", [text]]})) == [f"value-{n}"]
        assert await uris(bench, parse_filter({"eq": [text, "here"]})) == [f"key-{n}"]
        assert await uris(bench, parse_filter({"exists": text})) == [f"key-{n}"]
        assert await uris(bench, where(f"name={json.dumps(text)}")) == [f"value-{n}"]
    for text in ('say "hi"', "it's", "\\", "%", "-- x"):  # no JSON: taken as it is
        assert await uris(bench, where(f"name={text}")) == [f"value-{HONEST.index(text)}"]


FALSE_LIKE: dict[str, dict[str, Any]] = {
    "false": {"public": False, "count": False, "year": False},
    "true": {"public": True, "count": True, "year": True},
    "zero": {"public": 0, "count": 0, "year": 0},
    "zero-text": {"public": "0", "count": "0", "year": "0"},
    "empty": {"public": "", "count": "", "year": ""},
    "null": {"public": None, "count": None, "year": None},
    "false-text": {"public": "false", "count": "false", "year": "false"},
    "year": {"public": 2024, "count": 2024, "year": 2024},
    "year-text": {"public": "2024", "count": "2024", "year": "2024"},
    "year-float": {"public": 2024.0, "count": 2024.0, "year": 2024.0},
    "missing": {},
}
EVERY = set(FALSE_LIKE)


async def test_re_06_false_zero_null_and_typed_numbers_are_exact(bench: Bench) -> None:
    await put(bench, FALSE_LIKE)
    numbers = {"zero", "year", "year-float"}
    rows: list[tuple[Any, set[str]]] = [
        ({"eq": ["public", False]}, {"false"}),
        ({"eq": ["count", 0]}, {"zero"}),
        ({"eq": ["year", "2024"]}, {"year-text"}),
        ({"eq": ["year", 2024]}, {"year", "year-float"}),
        ({"eq": ["public", ""]}, {"empty"}),
        ({"eq": ["public", None]}, {"null"}),
        ({"null": "public"}, {"null"}),
        ({"in": ["public", [False, 0, None]]}, {"false", "zero", "null"}),
        ({"in": ["public", []]}, set()),
        ({"eq": ["nowhere", False]}, set()),
        ({"eq": ["nowhere", None]}, set()),
        ({"null": "nowhere"}, set()),
        ({"exists": "nowhere"}, set()),
        ({"exists": "public"}, EVERY - {"missing"}),
        ({"ne": ["public", False]}, EVERY - {"false"}),
        ({"not": {"null": "public"}}, EVERY - {"null"}),
        ({"gte": ["year", 0]}, numbers),
        ({"lt": ["year", 2025]}, numbers),
        ({"gt": ["year", 0]}, {"year", "year-float"}),
        ({"gte": ["year", ""]}, {"zero-text", "empty", "false-text", "year-text"}),
    ]
    for value, expected in rows:
        assert set(await uris(bench, parse_filter(value))) == expected, value
    for text, expected in (
        ("public=false", {"false"}), ("count=0", {"zero"}), ("year=2024", {"year", "year-float"}),
        ('year="2024"', {"year-text"}), ("public=null", {"null"}), ("public=", {"empty"}),
        ('public="false"', {"false-text"}), ("nowhere=0", set()),
    ):  # fmt: skip
        assert set(await uris(bench, where(text))) == expected, text


@pytest.mark.parametrize("mode", ["hybrid", "dense", "keyword"])
async def test_re_26_an_or_gives_no_more_than_k(bench: Bench, mode: Mode) -> None:
    matching = {f"a-{n}": {"kind": "a"} for n in range(5)} | {
        f"b-{n}": {"kind": "b", "also": "a"} for n in range(4)
    }
    await put(bench, matching | {f"c-{n}": {"kind": "c"} for n in range(9)})
    either = parse_filter(
        {"or": [{"eq": ["kind", "a"]}, {"eq": ["kind", "b"]}, {"eq": ["also", "a"]}]}
    )
    three = await uris(bench, either, mode=mode, k=3)
    assert len(three) == len(set(three)) == 3
    assert set(three) <= set(matching)
    assert await uris(bench, either, mode=mode, k=9) == sorted(matching)
    assert await uris(bench, either, mode=mode, k=50) == sorted(matching)
    assert await uris(bench, either, mode=mode, k=0) == []


def test_the_setting_lists_names() -> None:
    listed = SearchSettings(filter_keys="venue, note of day,,season ")
    assert search_rules(Settings(search=listed)).filter_keys == {"venue", "note of day", "season"}
    assert search_rules(Settings()).filter_keys == frozenset()
