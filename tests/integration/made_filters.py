"""Which facts and filters do tests of filters try? Made from a seed, so that each other's near
misses meet: equal texts and numbers, keys that look like syntax, values that look like others."""

from random import Random
from typing import Any

INJECTED_VALUE = 'x" OR user_id = "b'
INJECTED_KEY = "author' = 'a' OR '1'='1' --"
KEYS = (
    "a", "b", "c.d", "$", "$.a", "@", "*", "[*]", '"', "'", "\\", 'a"', "a\\", " ", "é", "e\u0301",
    "票", "🎟", "v0", "$v0", "\n", "\x01", "\x7f", "\u2028", "type()", "document", "a) || (1==1",
    '" ? (1 == 1) || $."', INJECTED_KEY,
)  # fmt: skip
TEXTS = (
    "", "1", "01", "2024", "true", "null", "a", "A", "b", "é", "e\u0301", "票", "🎟", "\uffff",
    'say "hi"', "it's", "\\", "a\\", "\\u0041", "$v0", "$", "\n", "\x01", "\x7f", " ", "[1]", "%s",
    "%", "{}", INJECTED_VALUE,
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 2024, 0.0, -0.0, 1.0, 0.1, 0.30000000000000004, 0.3, 1e30, 10**30, 1e-300, 1e308,
    -1e308, 5e-324, 2**53, 2**53 + 1, float(2**53), 2**64, 10**300,
)  # fmt: skip
SCALARS = (None, True, False, *TEXTS, *NUMBERS)
# No metadata of ours, but whatever a database holds must not match by accident, nor raise.
OTHERS: tuple[Any, ...] = (
    [], ["a"], [1], [None], [True], [[1]], ["a", "b"], {}, {"a": 1}, {"b": "a"}, [{"a": 1}],
)  # fmt: skip
_OPERATORS = ("eq", "ne", "in", "gt", "gte", "lt", "lte", "exists", "null")


def made_facts(random: Random) -> dict[str, Any]:
    """Return the metadata of a document, some of it of a kind that no metadata has."""
    keys = random.sample(KEYS, random.randint(0, 4)) + ["a"] * random.randint(0, 1)
    pool = (SCALARS, TEXTS, NUMBERS, (None, True, False), SCALARS, OTHERS)
    return {key: random.choice(random.choice(pool)) for key in keys}


def made_filter(
    random: Random,
    *,
    keys: tuple[str, ...] = KEYS,
    values: tuple[Any, ...] = SCALARS,
    depth: int = 3,
) -> dict[str, Any]:
    """Return a filter as JSON, with operators `depth` deep at most."""
    if depth > 1 and random.random() < 0.5:
        operator = random.choice(("and", "or", "not"))
        inner = [
            made_filter(random, keys=keys, values=values, depth=depth - 1)
            for _ in range(random.randint(1, 3))
        ]
        return {operator: inner[0] if operator == "not" else inner}
    operator, key = random.choice(_OPERATORS), random.choice((keys[0], random.choice(keys)))
    if operator in ("exists", "null"):
        return {operator: key}
    if operator == "in":
        return {"in": [key, [random.choice(values) for _ in range(random.randint(0, 4))]]}
    if operator in ("eq", "ne"):
        return {operator: [key, random.choice(values)]}
    ordered = [v for v in values if v is not None and not isinstance(v, bool)]
    return {operator: [key, random.choice(ordered)]}
