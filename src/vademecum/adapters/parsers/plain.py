"""How are text and JSON read?"""

import codecs
import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import regex

from vademecum.errors import DocumentUnreadable
from vademecum.model.document import Block, ParsedDocument
from vademecum.text.normalise import clean

_BLANK_LINES = regex.compile(r"\n\s*\n")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(content: bytes) -> str:
    """Return the text of bytes: by their mark, else UTF-8, else Windows-1252."""
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def parse_text(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read text: paragraphs stand apart by blank lines; a short first line is the title."""
    text = clean(decode(content))
    blocks = tuple(
        Block(kind="paragraph", start=start, end=end, level=0, heading_path=())
        for start, end in _paragraphs(text)
    )
    first = text.strip().split("\n", 1)[0].strip()
    title = first if 0 < len(first) <= 80 and not first.endswith(".") else _name(uri)
    return ParsedDocument(
        text=text, blocks=blocks, page_starts=(), title=title, media_type=media_type, warnings=()
    )


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of what stands between blank lines, blanks at both ends left out."""
    start = 0
    for gap_start, gap_end in [
        *(match.span() for match in _BLANK_LINES.finditer(text)),
        (len(text), len(text)),
    ]:
        piece = text[start:gap_start]
        if stripped := piece.strip():
            begin = start + len(piece) - len(piece.lstrip())
            yield begin, begin + len(stripped)
        start = gap_end


def parse_json(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read JSON as `key: value` lines, so that each value stands beside its name."""
    try:
        value = json.loads(decode(content))
        lines = list(_lines(value, ""))
    except (ValueError, RecursionError) as error:
        raise DocumentUnreadable(
            f"{uri} is not valid JSON", hint="check the file with a JSON tool"
        ) from error
    parsed = parse_text("\n\n".join(lines).encode(), uri, media_type)
    title = value.get("title") or value.get("name") if isinstance(value, dict) else None
    return ParsedDocument(
        text=parsed.text,
        blocks=parsed.blocks,
        page_starts=(),
        title=clean(str(title)) if title else _name(uri),
        media_type=media_type,
        warnings=(),
    )


def _lines(value: Any, path: str) -> list[str]:
    if isinstance(value, dict):
        if all(not isinstance(item, dict | list) for item in value.values()) and path:
            inner = "; ".join(f"{key}: {item}" for key, item in value.items())
            return [f"{path}: {inner}"]
        return [
            line
            for key, item in value.items()
            for line in _lines(item, f"{path} {key}".strip().replace("_", " "))
        ]
    if isinstance(value, list):
        if all(not isinstance(item, dict | list) for item in value):
            return [f"{path}: {', '.join(map(str, value))}"]
        return [line for item in value for line in _lines(item, path)]
    return [f"{path}: {value}" if path else str(value)]


def _name(uri: str) -> str:
    return PurePosixPath(uri).stem.replace("-", " ").replace("_", " ") or uri
