"""Does PostgreSQL let through exactly what `matches` lets through, whatever the keys and values?"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import psycopg
import pytest
from made_filters import KEYS, OTHERS, SCALARS, TEXTS, made_facts, made_filter

from vademecum.model.filter import Filter, OneOf, matches
from vademecum.model.filter_json import MOST_VALUES, parse_filter
from vademecum.postgres.embedded import Server
from vademecum.postgres.filter import compiled

# No cast and no default stands between: what raises, raises here, and NULL is no answer.
_MATCH = """
SELECT jsonb_path_match(facts::jsonb, path::jsonpath, variables::jsonb)
FROM unnest(%s::text[], %s::text[], %s::text[]) WITH ORDINALITY AS w (facts, path, variables, n)
ORDER BY n
"""


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.url, autocommit=True) as opened:
        yield opened


def asked(
    connection: psycopg.Connection, pairs: Sequence[tuple[Filter, Mapping[str, Any]]]
) -> list[bool | None]:
    """Return what the database says of each filter and its facts."""
    questions = [(json.dumps(facts), *compiled(wanted)) for wanted, facts in pairs]
    rows = connection.execute(
        _MATCH,
        (
            [facts for facts, _, _ in questions],
            [path for _, path, _ in questions],
            [json.dumps(variables) for _, _, variables in questions],
        ),
    )
    return [row[0] for row in rows]


def compare(
    connection: psycopg.Connection, pairs: Sequence[tuple[Filter, Mapping[str, Any]]]
) -> Counter[bool]:
    """Assert that the database and the model agree; return how often each answer was given."""
    told = asked(connection, pairs)
    expected = [matches(wanted, facts) for wanted, facts in pairs]
    different = [
        (wanted, dict(facts), truth, said)
        for (wanted, facts), truth, said in zip(pairs, expected, told, strict=True)
        if said is not truth
    ]
    assert different == [], f"{len(different)} of {len(pairs)}, first {different[0]}"
    return Counter(expected)


@pytest.mark.parametrize(
    ("seed", "filters"),
    [*((seed, 300) for seed in range(4)), pytest.param(4, 20_000, marks=pytest.mark.slow)],
)
def test_made_filters_and_facts(connection: psycopg.Connection, seed: int, filters: int) -> None:
    random = Random(seed)
    told: Counter[bool] = Counter()
    for _ in range(filters // 100):
        made = [parse_filter(made_filter(random)) for _ in range(100)]
        told += compare(connection, [(f, made_facts(random)) for f in made for _ in range(40)])
    assert told.total() == 40 * filters
    assert min(told[True], told[False]) > told.total() / 5  # else nothing would be compared


@pytest.mark.parametrize("operator", ["eq", "ne", "gt", "gte", "lt", "lte"])
def test_each_value_against_each(connection: psycopg.Connection, operator: str) -> None:
    ordered = operator not in ("eq", "ne")
    values = [v for v in SCALARS if not (ordered and (v is None or isinstance(v, bool)))]
    made = [parse_filter({operator: ["a", value]}) for value in values]
    told = compare(connection, [(f, {"a": v}) for f in made for v in (*SCALARS, *OTHERS)])
    missing = compare(connection, [(f, {"b": 1}) for f in made])
    assert told[True] and told[False]
    assert set(missing) == {operator == "ne"}


@pytest.mark.parametrize("key", KEYS)
def test_each_key_is_only_its_own_name(connection: psycopg.Connection, key: str) -> None:
    facts = [{other: "x"} for other in KEYS]
    for made in ({"exists": key}, {"eq": [key, "x"]}, {"gte": [key, "x"]}):
        assert asked(connection, [(parse_filter(made), f) for f in facts]) == [
            other == key for other in KEYS
        ]


def test_texts_are_ordered_by_code_points(connection: psycopg.Connection) -> None:
    ordered = sorted(TEXTS)
    for at, text in enumerate(ordered):
        told = asked(connection, [(parse_filter({"gt": ["a", text]}), {"a": t}) for t in ordered])
        assert told == [n > at for n in range(len(ordered))]


def test_no_text_of_a_caller_stands_in_the_path() -> None:
    wanted = parse_filter(
        {"or": [{"in": ["a", ["needle", 7177, True, None]]}, {"not": {"lt": ["b", "needle"]}}]}
    )
    path, variables = compiled(wanted)
    assert "needle" not in path
    assert "7177" not in path
    assert variables == {"v0": ["needle"], "v1": [7177], "v2": [True], "v3": "needle"}


def test_the_largest_filters_run(connection: psycopg.Connection) -> None:
    many = OneOf(key="a", numbers=tuple(range(MOST_VALUES - 4)))
    wide = parse_filter({"or": [{"eq": ["a", n]} for n in range(MOST_VALUES // 4 - 1)]})
    deep: dict[str, Any] = {"exists": "a"}
    for _ in range(30):
        deep = {"not": deep}
    for wanted in (many, wide, parse_filter(deep)):
        told = compare(connection, [(wanted, {"a": 7}), (wanted, {"b": 7})])
        assert told == {True: 1, False: 1}


def test_an_empty_list_matches_nothing(connection: psycopg.Connection) -> None:
    none = parse_filter({"in": ["a", []]})
    assert asked(connection, [(none, {"a": v}) for v in SCALARS]) == [False] * len(SCALARS)
