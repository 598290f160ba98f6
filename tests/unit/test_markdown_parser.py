"""Is Markdown's structure learned without changing a letter of it?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.model.document import Block, ParsedDocument

ALL = """\
Refunds
=======

Intro *text* here
on two lines.

## Refunds ##

- one
  goes on
- two

1. first
2. second

# C#

| gate | time |
|------|------|
| A    | 10   |

```python
# no heading
x = 1
```

> quoted
> twice

    indented code

<div>html</div>

[link]: https://example.org/a "title"

***

### `code` and **bold** ###

Last.
"""


def read(text: str) -> ParsedDocument:
    return parse_markdown(text.encode(), "notes/my-file.md", "text/markdown")


def shown(document: ParsedDocument) -> list[tuple[str, str, int]]:
    return [(b.kind, document.text[b.start : b.end], b.level) for b in document.blocks]


def faults(document: ParsedDocument) -> list[str]:
    """What is wrong with blocks, whatever the text: order, blanks at the ends, lost letters."""
    text, found, position = document.text, [], 0
    for block in document.blocks:
        if block.start < position or block.end <= block.start:
            found.append(f"out of order: {block}")
        if text[position : block.start].strip():
            found.append(f"lost: {text[position : block.start]!r}")
        if text[block.end - 1].isspace():
            found.append(f"blank at the end: {block}")
        position = block.end
    if text[position:].strip():
        found.append(f"lost: {text[position:]!r}")
    return found


def test_every_kind_of_block_is_an_exact_slice() -> None:
    document = read(ALL)
    assert document.text == ALL
    assert faults(document) == []
    assert shown(document) == [
        ("heading", "Refunds\n=======", 1),
        ("paragraph", "Intro *text* here\non two lines.", 0),
        ("heading", "## Refunds ##", 2),
        ("list", "- one\n  goes on\n- two", 0),
        ("list", "1. first\n2. second", 0),
        ("heading", "# C#", 1),
        ("table", "| gate | time |\n|------|------|\n| A    | 10   |", 0),
        ("code", "```python\n# no heading\nx = 1\n```", 0),
        ("quote", "> quoted\n> twice", 0),
        ("code", "    indented code", 0),
        ("paragraph", "<div>html</div>", 0),
        ("paragraph", '[link]: https://example.org/a "title"', 0),
        ("paragraph", "***", 0),
        ("heading", "### `code` and **bold** ###", 3),
        ("paragraph", "Last.", 0),
    ]


def test_heading_paths() -> None:
    document = read(ALL)
    paths = {document.text[b.start : b.end]: b.heading_path for b in document.blocks}
    assert document.title == "Refunds"
    assert paths["## Refunds ##"] == ("Refunds", "Refunds")
    assert paths["- one\n  goes on\n- two"] == ("Refunds", "Refunds")
    assert paths["# C#"] == ("C#",)
    assert paths["Last."] == ("C#", "code and bold")
    assert paths['[link]: https://example.org/a "title"'] == ("C#",)


@pytest.mark.parametrize(
    ("line", "name"),
    [("# snake_case_name", "snake_case_name"), ("# 2 * 3 * 4", "2 * 3 * 4"), ("# _so_", "so"),
     ("# \\# sharp", "# sharp"), ("# a [link](https://example.org)", "a link"), ("# C++ & C#", "C++ & C#")],
)  # fmt: skip
def test_the_name_of_a_heading_is_its_text(line: str, name: str) -> None:
    assert read(f"{line}\n\ntext").title == name


def test_a_heading_in_a_quotation_or_list_is_none_of_the_documents() -> None:
    document = read("# Top\n\n> # quoted\n\n- # listed\n\ntext\n")
    assert [b.kind for b in document.blocks] == ["heading", "quote", "list", "paragraph"]
    assert {b.heading_path for b in document.blocks} == {("Top",)}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"# A\r\n\r\nb\rc\r\n", "# A\n\nb\nc\n"),
        ("# Ação".encode("cp1252"), "# Ação"),
        ("# Ac\u0327a\u0303o".encode(), "# Ação"),
        (b"\xef\xbb\xbf# A", "# A"),
        (b"# A\x00B", "# AB"),
        ("# A\u2028b".encode(), "# A\nb"),
    ],
)
def test_the_text_is_clean_and_offsets_are_of_the_clean_text(content: bytes, text: str) -> None:
    document = parse_markdown(content, "a.md", "text/markdown")
    assert document.text == text
    assert faults(document) == []
    assert document.blocks[0].start == 0
    assert document.blocks[0].kind == "heading"


def test_without_a_heading_the_title_is_the_name() -> None:
    assert read("A sentence that ends with a full stop.\n").title == "my file"
    assert read("").title == "my file"
    assert read("").blocks == ()


def test_front_matter_and_an_open_fence_lose_nothing() -> None:
    for text in (
        "---\ntitle: x\n---\n\n# A\n",
        "```\nnever closed\n\n# not a heading\n",
        "- a\n\n\n  b\n",
    ):
        assert faults(read(text)) == []


LINES = st.sampled_from(
    ["# a", "## b ##", "text", "", "- item", "  more", "1. n", "> q", "```", "| a | b |", "|---|---|",
     "===", "---", "[x]: y", "    code", "<b>", "\t", "\x0c", "a\x0bb", "\u00a0", "***", "\x1c", "\u2029"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(LINES, max_size=14))
def test_no_letter_is_lost_whatever_the_lines(lines: list[str]) -> None:
    assert faults(read("\n".join(lines))) == []


def test_the_check_sees_what_is_lost() -> None:
    document = read("one\n\ntwo\n")
    lost = Block(kind="paragraph", start=0, end=3, level=0, heading_path=())
    broken = ParsedDocument(
        text=document.text, blocks=(lost,), page_starts=(), title="", media_type="", warnings=()
    )
    assert faults(broken) == ["lost: '\\n\\ntwo\\n'"]
