"""CSV, JSON and YAML: depth, huge numbers, repeated keys, formulas, aliases, unequal rows."""

import json
from collections.abc import Callable
from random import Random

from malformed.sample import Sample, damaged, sentence


def _json(text: str) -> Sample:
    return Sample(content=text.encode("utf-8", "surrogatepass"), uri="data/list.json")


def _csv(text: str, name: str = "list.csv") -> Sample:
    return Sample(content=text.encode("utf-8", "surrogatepass"), uri=f"data/{name}")


def json_changed(random: Random) -> Sample:
    whole = json.dumps([{"name": sentence(random, 3), "n": n} for n in range(20)])
    return Sample(content=damaged(random, whole.encode()), uri="data/list.json")


def json_depth(random: Random) -> Sample:
    depth = random.choice([500, 3_000, 100_000])
    opening, closing = random.choice([("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
    return _json(opening * depth + "1" + closing * depth)


def json_unclosed(random: Random) -> Sample:
    return _json(random.choice(["[", '{"a":', '["x",', '"', "[1,"]) * random.choice([1, 100_000]))


def json_numbers(random: Random) -> Sample:
    numbers = [
        "1e999",
        "-1e999",
        "NaN",
        "Infinity",
        "-0",
        "9" * random.choice([400, 5_000, 200_000]),
        "1e-999",
        "0x1",
    ]
    return _json("[" + ",".join(random.sample(numbers, 4)) + "]")


def json_repeated_keys(random: Random) -> Sample:
    return _json("{" + ",".join(f'"a": "{sentence(random, 2)}"' for _ in range(2_000)) + "}")


def json_odd_strings(random: Random) -> Sample:
    odd = ["\\ud800", "\\u0000", "\\udc00\\ud800", "\x01", "\\q", "</script>", "\\u202e"]
    return _json(
        json.dumps({"name": sentence(random)})[:-1]
        + ', "x": "'
        + "".join(random.choices(odd, k=30))
        + '"}'
    )


def json_many_keys(random: Random) -> Sample:
    return _json(
        json.dumps({f"key {n}": sentence(random, 2) for n in range(random.choice([100, 20_000]))})
    )


def json_lines(random: Random) -> Sample:
    lines = [
        random.choice([json.dumps({"n": n}), "", "null", "[]", "{", sentence(random), '"x"'])
        for n in range(200)
    ]
    return Sample(content="\n".join(lines).encode(), uri="data/list.jsonl")


def csv_formulas(random: Random) -> Sample:
    cells = [
        "=1+1",
        "@SUM(A1)",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "\t=1",
        '=HYPERLINK("http://192.0.2.1")',
    ]
    return _csv(
        "name,value\n"
        + "\n".join(f'"{random.choice(cells)}",{random.choice(cells)}' for _ in range(60))
    )


def csv_unequal(random: Random) -> Sample:
    return _csv("\n".join(",".join(["x"] * random.randrange(0, 40)) for _ in range(300)))


def csv_quotes(random: Random) -> Sample:
    return _csv(
        "".join(
            random.choice(['"', ",", "\n", "x", '""', "\r", ";", "\0", "é"]) for _ in range(3_000)
        )
    )


def csv_one_quote(random: Random) -> Sample:
    return _csv('a,b\n"' + (sentence(random) + "\n") * random.choice([10, 9_000]))


def csv_large_cell(random: Random) -> Sample:
    return _csv("a,b\n" + "x" * random.choice([131_072, 1_000_000]) + f",{sentence(random)}\n")


def csv_wide(random: Random) -> Sample:
    columns = random.choice([300, 20_000])
    return _csv(",".join(f"c{n}" for n in range(columns)) + "\n" + ",".join(["1"] * columns))


def csv_long(random: Random) -> Sample:
    return _csv("a,b\n" + "".join(f"{n},{n * n}\n" for n in range(random.choice([1_000, 60_000]))))


def csv_no_delimiter(random: Random) -> Sample:
    return _csv("\n".join(sentence(random) for _ in range(60)), random.choice(["a.csv", "a.tsv"]))


def yaml_aliases(random: Random) -> Sample:
    lines = ["a0: &a0 [lol, lol]"] + [
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 30)
    ]
    return Sample(content="\n".join(lines).encode(), uri="data/list.yaml")


def yaml_objects(random: Random) -> Sample:
    text = f"!!python/object/apply:os.system ['touch /tmp/x']\nname: {sentence(random)}\n"
    return Sample(content=text.encode(), uri="data/list.yml")


KINDS: tuple[Callable[[Random], Sample], ...] = (
    json_changed, json_depth, json_unclosed, json_numbers, json_repeated_keys, json_odd_strings,
    json_many_keys, json_lines, csv_formulas, csv_unequal, csv_quotes, csv_one_quote, csv_large_cell,
    csv_wide, csv_long, csv_no_delimiter, yaml_aliases, yaml_objects,
)  # fmt: skip
