"""Is what no database or index can hold refused before it is written?"""

from dataclasses import replace
from typing import Any

import pytest

from vademecum.errors import InvalidSetting, LimitExceeded, VademecumError
from vademecum.ingest.accept import MOST_BYTES, check
from vademecum.model.document import Source

GOOD = Source(
    uri="rules.md",
    content=b"text",
    collection="default",
    access=("tenant",),
    metadata={"effective_from": "2026-01-31", "season": 2026, "open": True, "none": None},
    language="pt",
    title=None,
)


def test_what_is_right_passes() -> None:
    check(GOOD)
    check(replace(GOOD, access=(), language=None, metadata={}))


class Giant(bytes):
    """Bytes that say that they are more than they are."""

    def __len__(self) -> int:
        return MOST_BYTES + 1


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"content": Giant()}, LimitExceeded, "rules.md has over 100 MB"),
        ({"uri": ""}, InvalidSetting, "a uri has 1 to 2000 characters"),
        ({"uri": "x" * 2001}, InvalidSetting, "a uri has"),
        ({"uri": "a\0b"}, InvalidSetting, "holds a NUL"),
        ({"collection": " "}, InvalidSetting, "a collection's name has 1 to 200"),
        ({"collection": "x" * 201}, InvalidSetting, "a collection's name"),
        ({"access": ("",)}, InvalidSetting, "access labels"),
        ({"access": ("x",) * 65}, InvalidSetting, "access labels"),
        ({"access": ("\ud800",)}, InvalidSetting, "half a character"),
        ({"language": "pt-BR"}, InvalidSetting, "'pt-BR' is no code of a language"),
        ({"language": "English"}, InvalidSetting, "no code of a language"),
        ({"language": ""}, InvalidSetting, "no code of a language"),
        ({"title": "\ud800"}, InvalidSetting, "half a character"),
        ({"metadata": {"k": "\0"}}, InvalidSetting, "holds a NUL"),
        ({"metadata": {"k\0": 1}}, InvalidSetting, "holds a NUL"),
        ({"metadata": {"k": float("nan")}}, InvalidSetting, "not a finite number"),
        ({"metadata": {"k": float("inf")}}, InvalidSetting, "not a finite number"),
        ({"metadata": {str(n): n for n in range(101)}}, InvalidSetting, "at most 100 metadata"),
    ],
)
def test_what_is_wrong_is_named(
    change: dict[str, Any], error: type[VademecumError], said: str
) -> None:
    with pytest.raises(error, match=said):
        check(replace(GOOD, **change))


@pytest.mark.parametrize(
    "value", ["soon", "2026-02-30", "20260131", "2026-W05-6", "31.01.2026", 20260131, 2026.5, True]
)
def test_a_date_has_one_form(value: Any) -> None:
    # The database would refuse the others in the middle of a batch.
    for key in ("effective_from", "effective_until"):
        with pytest.raises(InvalidSetting, match=f"{key} is .* no date. write it like 2026-01-31"):
            check(replace(GOOD, metadata={key: value}))
