"""What does Markdown say of itself?"""

import pytest
from made_documents import read

TEXT = """---
title: The rules
effective_from: 2024-05-01
effective_until: 2025-01-02T10:00:00Z
tags: [a, b]
weight: 3
draft: false
nested: {x: 1}
---

# Head

Body
"""


def test_values_go_to_the_metadata_and_not_into_the_text() -> None:
    parsed = read(TEXT.encode(), "a.md")
    assert parsed.text == "# Head\n\nBody\n"
    assert parsed.title == "The rules"
    assert dict(parsed.metadata) == {
        "effective_from": "2024-05-01",
        "effective_until": "2025-01-02T10:00:00+00:00",
        "tags": "a, b",
        "weight": 3,
        "draft": False,
    }


def test_toml_stands_between_pluses() -> None:
    parsed = read(b"+++\ntitle = 'X'\neffective_from = 2025-01-02\n+++\nbody", "a.md")
    assert (parsed.title, dict(parsed.metadata), parsed.text) == (
        "X",
        {"effective_from": "2025-01-02"},
        "body",
    )


@pytest.mark.parametrize(
    "text",
    [
        "---\nnot: [closed\n---\nbody",
        "---\nJust a rule\n---\nx",
        "---\n---\nx",
        "---\na: &x [1]\nb: *x\n---\nq",
        "+++\nbroken = = 1\n+++\nx",
        "---\nno end",
        "text\n---\na: 1\n---\n",
        "---\na: !!python/object/apply:os.system ['true']\n---\nx",
        "---\n" + "a: [" * 3_000 + "\n---\nx",
    ],
)
def test_what_is_broken_is_text(text: str) -> None:
    parsed = read(text.encode(), "a.md")
    assert parsed.text == text
    assert parsed.metadata == {}


def test_nul_and_half_pairs_leave_the_metadata() -> None:
    parsed = read(b'---\nauthor: "A\\0B\\uD83D"\n---\nx', "a.md")
    assert parsed.metadata in ({"author": "AB"}, {})
