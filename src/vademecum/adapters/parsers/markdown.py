"""How is Markdown read? The text stays as written; only its structure is learned."""

from markdown_it import MarkdownIt
from markdown_it.token import Token

from vademecum.adapters.parsers.decode import decode
from vademecum.adapters.parsers.front_matter import split_front_matter
from vademecum.adapters.parsers.plain import parse_text
from vademecum.model.document import Block, BlockKind, ParsedDocument
from vademecum.text.normalise import clean

_KINDS: dict[str, BlockKind] = {
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "html_block": "paragraph",
    "blockquote_open": "quote",
}


def parse_markdown(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read Markdown: headings of both styles, lists, tables, fences, by their lines."""
    metadata, text = split_front_matter(clean(decode(content)))
    text = text.lstrip("\n") if metadata else text
    told = metadata.pop("title", "")
    language = str(metadata.get("lang") or metadata.get("language") or "")
    line_starts = [0]
    for line in text.split("\n"):
        line_starts.append(line_starts[-1] + len(line) + 1)
    blocks: list[Block] = []
    path: list[tuple[int, str]] = []
    title = ""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for position, token in enumerate(tokens):
        if token.level or token.map is None:
            continue  # inside another block, or closing one
        start, end = _offsets(token, line_starts, text)
        if start >= end:
            continue
        if token.type == "heading_open":
            level = int(token.tag[1])
            name = _plain(tokens[position + 1])
            path = [*((above, text) for above, text in path if above < level), (level, name)]
            title = title or name
            kind: BlockKind = "heading"
        else:
            level, kind = 0, _KINDS.get(token.type, "paragraph")
        names = tuple(name for _, name in path)
        header = _header_end(token, line_starts, text) if kind == "table" else 0
        blocks.append(
            Block(
                kind=kind,
                start=start,
                end=end,
                level=level,
                heading_path=names,
                header_end=header,
            )
        )
    return ParsedDocument(
        text=text,
        blocks=_with_rest(blocks, text),
        page_starts=(),
        title=str(told or title) or parse_text(text.encode(), uri, media_type).title,
        media_type=media_type,
        language=language[:3].partition("-")[0].lower() if language[:2].isalpha() else "",
        metadata=metadata,
        warnings=(),
    )


def _plain(inline: Token) -> str:
    """Return a heading's words, without its marks and the addresses of its links."""
    return "".join(
        " " if part.type in ("softbreak", "hardbreak") else part.content
        for part in inline.children or ()
        if part.type != "html_inline"
    ).strip()


def _offsets(token: Token, line_starts: list[int], text: str) -> tuple[int, int]:
    first, last = token.map or (0, 0)
    start = line_starts[first]
    end = min(line_starts[min(last, len(line_starts) - 1)], len(text))
    return start, start + len(text[start:end].rstrip())


def _header_end(table: Token, line_starts: list[int], text: str) -> int:
    """Return the end of the line below the column names, which parts them from the rows."""
    first = (table.map or (0, 0))[0]
    start, end = line_starts[first], min(line_starts[first + 2], len(text))
    return start + len(text[start:end].rstrip())


def _with_rest(blocks: list[Block], text: str) -> tuple[Block, ...]:
    """Add what the grammar swallows (link definitions), so that no word is lost."""
    whole: list[Block] = []
    position = 0
    for block in [*blocks, None]:
        until = block.start if block else len(text)
        gap = text[position:until]
        if gap.strip():
            start = position + len(gap) - len(gap.lstrip())
            path = whole[-1].heading_path if whole else ()
            whole.append(
                Block(
                    kind="paragraph",
                    start=start,
                    end=start + len(gap.strip()),
                    level=0,
                    heading_path=path,
                )
            )
        if block:
            whole.append(block)
            position = block.end
    return tuple(whole)
