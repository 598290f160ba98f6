"""Is a filter exactly what was written, or an error of one line, and never one that matches all?"""

import json
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest
from made_filters import INJECTED_KEY, SCALARS, made_facts, made_filter

from vademecum.errors import InvalidFilter
from vademecum.model.filter import (
    DOCUMENT_KEYS,
    MOST_KEY,
    MOST_TEXT,
    And,
    Compare,
    Exists,
    Not,
    OneOf,
    Or,
    all_of,
    check_filter,
    document_facts,
    keys_of,
    matches,
)
from vademecum.model.filter_json import (
    MOST_LEVELS,
    MOST_VALUES,
    as_json,
    parse_filter,
    read_filter,
    read_pair,
    where,
)

VENUE = OneOf(key="venue", texts=("arena",))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"eq": ["venue", "arena"]}, VENUE),
        ({"eq": ["a", 1]}, OneOf(key="a", numbers=(1,))),
        ({"eq": ["a", False]}, OneOf(key="a", booleans=(False,))),
        ({"eq": ["a", None]}, OneOf(key="a", null=True)),
        ({"null": "a"}, OneOf(key="a", null=True)),
        ({"ne": ["venue", "arena"]}, Not(part=VENUE)),
        ({"in": ["a", []]}, OneOf(key="a")),
        (
            {"in": ["a", ["x", 1, True, None, 2.5]]},
            OneOf(key="a", texts=("x",), numbers=(1, 2.5), booleans=(True,), null=True),
        ),
        ({"gt": ["a", 1]}, Compare(key="a", order="gt", value=1)),
        ({"gte": ["a", "x"]}, Compare(key="a", order="gte", value="x")),
        ({"lt": ["a", 1.5]}, Compare(key="a", order="lt", value=1.5)),
        ({"lte": ["a", 0]}, Compare(key="a", order="lte", value=0)),
        ({"exists": "a.b"}, Exists(key="a.b")),
        ({"and": [{"exists": "a"}]}, And(parts=(Exists(key="a"),))),
        ({"or": [{"exists": "a"}, {"eq": ["venue", "arena"]}]}, Or(parts=(Exists(key="a"), VENUE))),
        ({"not": {"exists": "a"}}, Not(part=Exists(key="a"))),
        ({"eq": ["document.version", 3]}, OneOf(key="document.version", numbers=(3,))),
        ({"eq": ["document", "x"]}, OneOf(key="document", texts=("x",))),
    ],
)
def test_each_operator_is_read(value: Any, expected: Any) -> None:
    assert parse_filter(value) == expected
    assert read_filter(json.dumps(value)) == expected


WRONG: list[Any] = [
    None, True, 1, "venue=arena", [], {}, [{"eq": ["a", 1]}],
    {"like": ["a", "x"]}, {"EQ": ["a", 1]}, {"$eq": ["a", 1]}, {1: ["a", 1]}, {"a": "x"},
    {"eq": ["a", 1], "ne": ["a", 2]},
    {"eq": "a"}, {"eq": ["a"]}, {"eq": ["a", 1, 2]}, {"eq": {"a": 1}}, {"eq": None},
    {"eq": [1, "a"]}, {"eq": [None, 1]}, {"eq": ["", 1]}, {"eq": [["a"], 1]},
    {"eq": ["a", {"eq": 1}]}, {"eq": ["a", {}]}, {"eq": ["a", ["x"]]}, {"ne": ["a", ["x"]]},
    {"in": ["a", "x"]}, {"in": ["a", {"x": 1}]}, {"in": ["a", [["x"]]]}, {"in": ["a", [{}]]},
    {"in": ["a"]}, {"gt": ["a", None]}, {"gt": ["a", True]}, {"lte": ["a", [1]]}, {"lt": ["a", {}]},
    {"exists": ["a"]}, {"exists": True}, {"exists": ""}, {"null": ["a"]}, {"null": None},
    {"and": []}, {"or": []}, {"and": {}}, {"and": {"eq": ["a", 1]}}, {"and": ["x"]}, {"or": [None]},
    {"and": [{"exists": "a"}, {}]}, {"not": []}, {"not": {}}, {"not": [{"exists": "a"}]},
    {"eq": ["a", float("nan")]}, {"eq": ["a", float("inf")]}, {"gt": ["a", float("-inf")]},
    {"eq": ["a", 10**400]}, {"in": ["a", [1, -(10**400)]]},
    {"eq": ["a", "x\x00"]}, {"eq": ["a\x00", "x"]}, {"eq": ["a", "\ud800"]}, {"exists": "\udcff"},
    {"eq": ["a", "x" * (MOST_TEXT + 1)]}, {"exists": "k" * (MOST_KEY + 1)},
    {"eq": ["document.owner", "x"]}, {"exists": "document."}, {"exists": "document.Language"},
    {"eq": ["document.version", "3"]}, {"eq": ["document.version", True]},
    {"eq": ["document.version", None]}, {"gt": ["document.version", "3"]},
    {"eq": ["document.collection", 2026]}, {"gte": ["document.uri", 1]},
    {"eq": ["document.updated_at", "2026-01-31"]}, {"gt": ["document.updated_at", "soon"]},
    {"gt": ["document.updated_at", 2026]}, {"gt": ["document.updated_at", "0001-01-01T00:00+14:00"]},
    1j, {"eq": ("a", 1)}, {"eq": ["a", b"x"]}, {"eq": ["a", 1j]},
]  # fmt: skip


@pytest.mark.parametrize("value", WRONG, ids=lambda v: repr(v)[:40].encode("ascii", "replace"))
def test_what_is_no_filter_is_one_clear_line(value: Any) -> None:
    with pytest.raises(InvalidFilter) as caught:
        parse_filter(value)
    said = str(caught.value)
    assert len(said.splitlines()) == 1
    assert len(said) < 300
    assert caught.value.hint
    assert (caught.value.code, caught.value.exit_status) == ("filter-invalid", 2)
    # Nor is it a part of a filter.
    for around in ({"not": value}, {"and": [{"exists": "a"}, value]}):
        with pytest.raises(InvalidFilter):
            parse_filter(around)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "venue=arena", "null", '{"eq":["a",NaN]}', '{"eq":["a",1e999]}',
        '{"eq":["a",1],"eq":["a",2]}', '{"and":[{"eq":["a",1]},{"not":{"exists":"b"},"not":{"exists":"c"}}]}',
        "[" * 100_000, '{"not":' * 100_000, '{"eq":["a",' + "9" * 5_000 + "]}",
    ],
)  # fmt: skip
def test_what_is_no_json_of_a_filter_is_refused(text: str) -> None:
    with pytest.raises(InvalidFilter):
        read_filter(text)


def test_the_bounds() -> None:
    deep: Any = {"exists": "a"}
    for _ in range(MOST_LEVELS - 2):
        deep = {"not": deep}
    assert matches(parse_filter(deep), {"a": 1})
    wide = {"in": ["a", list(range(MOST_VALUES - 4))]}
    assert matches(parse_filter(wide), {"a": 7})
    loop: dict[str, Any] = {}
    loop["not"] = loop
    for value in ({"not": deep}, {"in": ["a", list(range(MOST_VALUES - 3))]}, loop):
        with pytest.raises(InvalidFilter, match=f"over {MOST_LEVELS} levels or {MOST_VALUES}"):
            parse_filter(value)


def test_a_filter_is_frozen_and_no_invalid_one_can_be_made() -> None:
    with pytest.raises(FrozenInstanceError):
        VENUE.key = "other"  # type: ignore[misc]
    for wrong in (
        lambda: OneOf(key="document.owner", texts=("x",)),
        lambda: OneOf(key="a", numbers=(float("nan"),)),
        lambda: Compare(key="a", order="gt", value="\x00"),
        lambda: Exists(key=""),
        lambda: And(parts=()),
        lambda: Or(parts=()),
    ):
        with pytest.raises(InvalidFilter):
            wrong()


# A value of each row equals those of its own row only.
SAME: list[tuple[Any, ...]] = [
    (1, 1.0), (0, 0.0, -0.0), (True,), (False,), (None,), ("1",), ("true",), ("",), ("None",),
    (10**30, 1e30), (2**53, float(2**53)), (2**53 + 1,), (0.1,), ("2024",), (2024,), ("é",),
    ("e\u0301",),
]  # fmt: skip


@pytest.mark.parametrize("row", SAME, ids=repr)
def test_values_are_typed_and_exact(row: tuple[Any, ...]) -> None:
    for wanted in row:
        for other in SAME:
            for value in other:
                for made in ({"eq": ["k", wanted]}, {"in": ["k", ["z", wanted]]}):
                    assert matches(parse_filter(made), {"k": value}) is (other is row)
                assert matches(parse_filter({"ne": ["k", wanted]}), {"k": value}) is (
                    other is not row
                )


def test_a_missing_key_is_not_equal_and_nothing_else() -> None:
    for operator in ("eq", "gt", "gte", "lt", "lte"):
        assert not matches(parse_filter({operator: ["k", 0]}), {})
        assert matches(parse_filter({"not": {operator: ["k", 0]}}), {})
    assert matches(parse_filter({"ne": ["k", 0]}), {})
    assert not matches(parse_filter({"in": ["k", [None, 0, False, ""]]}), {})
    assert not matches(parse_filter({"exists": "k"}), {"K": 1})
    assert not matches(parse_filter({"null": "k"}), {})
    assert matches(parse_filter({"null": "k"}), {"k": None})
    assert matches(parse_filter({"exists": "k"}), {"k": None})
    assert not matches(parse_filter({"null": "k"}), {"k": False})


@pytest.mark.parametrize(
    ("operator", "lower", "same", "higher"),
    [("gt", False, False, True), ("gte", False, True, True), ("lt", True, False, False),
     ("lte", True, True, False)],
)  # fmt: skip
def test_orders(operator: str, lower: bool, same: bool, higher: bool) -> None:
    for bound, values in ((2, (1, 2.0, 10)), ("b", ("a", "b", "é"))):
        wanted = parse_filter({operator: ["k", bound]})
        assert [matches(wanted, {"k": v}) for v in values] == [lower, same, higher]
    for bound in (2, "2"):
        wanted = parse_filter({operator: ["k", bound]})
        others = (None, True, False, "2" if bound == 2 else 2, ["2", 2], {"k": 2})
        assert not any(matches(wanted, {"k": value}) for value in others)


@pytest.mark.parametrize("seed", range(20))
def test_laws_that_hold_for_every_filter(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        one, other = parse_filter(made_filter(random)), parse_filter(made_filter(random))
        facts = made_facts(random)
        a, b = matches(one, facts), matches(other, facts)
        assert matches(Not(part=one), facts) is not a
        assert matches(And(parts=(one, other)), facts) is (a and b)
        assert matches(Or(parts=(one, other)), facts) is (a or b)
        # What was written comes back, through JSON too, and no two filters are equal by accident.
        assert parse_filter(as_json(one)) == one
        assert read_filter(json.dumps(as_json(one))) == one
        assert (one == other) <= (as_json(one) == as_json(other))


def test_filters_are_equal_only_where_they_mean_the_same() -> None:
    # Or a cache of answers would give one's to the other: in Python, True == 1.
    made = [parse_filter({"eq": ["k", value]}) for value in (True, 1, "1", False, 0, "", None)]
    assert len(set(made)) == len(made)
    assert parse_filter({"eq": ["k", 1]}) == parse_filter({"eq": ["k", 1.0]})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k=arena", "arena"), ("k=2026", 2026), ("k=0", 0), ("k=1.5", 1.5), ("k=false", False),
        ("k=null", None), ('k="2024"', "2024"), ("k=", ""), ("k=a=b", "a=b"), ("k=it's", "it's"),
        ('k=say "hi"', 'say "hi"'), ("k=\\", "\\"), ("k=NaN", "NaN"), ("k=True", "True"),
        ("k=[1]", "[1]"), ('k={"a":1}', '{"a":1}'),
    ],
)  # fmt: skip
def test_where_is_short_for_eq(text: str, value: Any) -> None:
    assert where(text) == parse_filter({"eq": ["k", value]})
    found = read_pair(text)
    assert (found, type(found[1])) == (("k", value), type(value))


@pytest.mark.parametrize("text", ["", "k", "=v", "document.owner=x", "k=1e999", "k=\x00"])
def test_a_wrong_where_is_refused(text: str) -> None:
    with pytest.raises(InvalidFilter):
        where(text)


def test_all_of() -> None:
    other = Exists(key="b")
    assert all_of([]) is None
    assert all_of([VENUE]) == VENUE
    assert all_of([VENUE, other]) == And(parts=(VENUE, other))


def test_only_allowed_keys_may_be_asked_about() -> None:
    wanted = parse_filter(
        {"and": [{"exists": "a"}, {"not": {"or": [{"gt": ["b", 1]}, {"in": ["c", []]}]}}]}
    )
    assert keys_of(wanted) == {"a", "b", "c"}
    every = frozenset({"a", "b", "c"})
    assert check_filter(wanted, frozenset()) is check_filter(wanted, every) is wanted
    assert check_filter(None, every) is None
    with pytest.raises(InvalidFilter, match="may not ask about 'b'"):
        check_filter(wanted, frozenset({"a", "c"}))
    facts = parse_filter({"and": [{"exists": key} for key in DOCUMENT_KEYS]})
    assert check_filter(facts, frozenset({"a"})) is facts
    with pytest.raises(InvalidFilter, match="parse_filter makes one"):
        check_filter({"eq": ["a", 1]}, frozenset())  # type: ignore[arg-type]


FACTS = document_facts(
    {"document.uri": "a lie", "venue": "arena", INJECTED_KEY: 1},
    language="pt",
    collection="rules",
    uri="file:///rules.pdf",
    version=3,
    updated_at=datetime(2026, 1, 31, 6, 30, 7, 900_000, tzinfo=timezone(timedelta(hours=-3))),
)


@pytest.mark.parametrize(
    "value",
    [
        {"eq": ["document.language", "pt"]},
        {"in": ["document.collection", ["rules", "notices"]]},
        {"eq": ["document.uri", "file:///rules.pdf"]},
        {"and": [{"gte": ["document.version", 3]}, {"lt": ["document.version", 4]}]},
        {"eq": ["document.updated_at", "2026-01-31T09:30:07Z"]},
        {"gte": ["document.updated_at", "2026-01-31"]},
        {"lte": ["document.updated_at", "2026-01-31"]},
        {"not": {"gt": ["document.updated_at", "2026-01-31"]}},
        {"not": {"lt": ["document.updated_at", "2026-01-31"]}},
        {"gt": ["document.updated_at", "2026-01-30"]},
        {"lt": ["document.updated_at", "2026-02-01"]},
        {"gte": ["document.updated_at", "2026-01-31T06:30:07-03:00"]},
        {"lt": ["document.updated_at", "2026-01-31T09:30:08"]},
        {"and": [{"exists": key} for key in DOCUMENT_KEYS]},
        {"eq": ["venue", "arena"]},
        {"eq": [INJECTED_KEY, 1]},
    ],
)
def test_the_facts_of_a_document(value: Any) -> None:
    assert matches(parse_filter(value), FACTS)
    assert not matches(parse_filter({"not": value}), FACTS)


def test_the_facts_are_those_that_the_interface_names() -> None:
    assert set(DOCUMENT_KEYS) == {
        "document.language", "document.collection", "document.uri", "document.version",
        "document.updated_at",
    }  # fmt: skip
    assert {key: FACTS[key] for key in DOCUMENT_KEYS} == {
        "document.language": "pt",
        "document.collection": "rules",
        "document.uri": "file:///rules.pdf",
        "document.version": 3,
        "document.updated_at": "2026-01-31T09:30:07Z",
    }
    early = datetime(9, 1, 1, tzinfo=UTC)
    told = document_facts({}, language="", collection="c", uri="u", version=1, updated_at=early)
    assert told["document.updated_at"] == "0009-01-01T00:00:00Z"


def test_every_scalar_is_equal_to_itself() -> None:
    for value in SCALARS:
        assert matches(parse_filter({"eq": ["k", value]}), {"k": value})
