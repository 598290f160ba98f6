"""How is RTF read? Paragraphs, items and tables, without pictures and fields' codes."""

from dataclasses import dataclass, field, replace

import regex

from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.tables import header_rows
from vademecum.adapters.parsers.uris import name_of
from vademecum.model.document import ParsedDocument

_TOKEN = regex.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])"
    rb"|([{}])|[\r\n]+|([^\\{}\r\n]+)"
)
_MOST_DEPTH = 1_000
# Groups that hold no text of the document.
_SKIPPED = frozenset(
    (
        *("fonttbl", "colortbl", "stylesheet", "pict", "object", "header", "headerl", "headerr"),
        *("headerf", "footer", "footerl", "footerr", "footerf", "fldinst", "listtable", "info"),
        *("listoverridetable", "themedata", "datastore", "annotation", "xe", "tc", "bkmkstart"),
        *("bkmkend", "generator", "nonshppict", "revtbl", "rsidtbl", "latentstyles", "filetbl"),
    )
)
_ITEM_MARKS = frozenset(("listtext", "pntext"))
# Groups behind `\*` that hold text all the same.
_READ_ANYWAY = frozenset(("shptxt", "ud"))
_SIGNS = {
    "tab": " ",
    "line": "\n",
    "emdash": "—",
    "endash": "–",
    "bullet": "•",
    "emspace": " ",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "enspace": " ",
}
_LITERALS = {b"~": "\u00a0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}"}
_CHARSETS = {
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    134: "gb18030",
    136: "big5hkscs",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """What holds inside of one pair of braces."""

    skipped: str = ""  # why nothing of it is read
    hidden: bool = False
    fallback: int = 1  # how many letters stand for programs that know no Unicode
    encoding: str = ""


@dataclass(slots=True, kw_only=True)
class _Reading:
    """A document while it is read from its first token to the last."""

    composer: Composer
    group: _Group = _Group()
    above: list[_Group] = field(default_factory=list)
    usual: str = "cp1252"
    fonts: dict[int, str] = field(default_factory=dict)
    font: int = 0
    raw: bytearray = field(default_factory=bytearray)  # letters of one encoding, not yet decoded
    line: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    in_table: bool = False
    item: bool = False
    level: int = 0
    to_skip: int = 0
    optional: bool = False  # `\*` came: a group that is not known is not read
    title: str = ""
    hidden: int = 0


def parse_rtf(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read RTF. Deleted and hidden text is left out."""
    reading = _Reading(composer=Composer())
    for token in _TOKEN.finditer(content):
        word, number, code, literal, brace, text = token.groups()
        if brace:
            _brace(reading, opens=brace == b"{")
        elif word:
            _word(reading, word.decode(), int(number) if number else None)
        elif code:
            _letters(reading, bytes([int(code, 16)]))
        elif literal:
            _literal(reading, literal)
        elif text:
            _letters(reading, text)
    _paragraph(reading)
    _table(reading)
    return reading.composer.document(
        title="" if "??" in reading.title else reading.title,  # its letters were lost before
        name=name_of(uri),
        media_type=media_type,
        warnings=[f"{reading.hidden} hidden passages left out"] if reading.hidden else (),
    )


def _brace(reading: _Reading, *, opens: bool) -> None:
    _decode(reading)
    reading.optional = False
    if opens and len(reading.above) < _MOST_DEPTH:
        reading.above.append(reading.group)
    elif not opens and reading.above:
        reading.group = reading.above.pop()


def _word(reading: _Reading, word: str, number: int | None) -> None:
    optional, reading.optional = reading.optional, False
    group = reading.group
    if word == "u" and number is not None:
        _unicode(reading, number)
        return
    _decode(reading)
    if word in _ITEM_MARKS:
        reading.item = True
        reading.group = replace(group, skipped=word)
    elif word == "title" and group.skipped == "info":
        reading.group = replace(group, skipped="title")
    elif word in _SKIPPED or (optional and word not in _READ_ANYWAY):
        reading.group = replace(group, skipped=word)
    elif word in ("f", "fcharset", "ansicpg", "uc", "deff", "plain"):
        _letters_are(reading, word, number)
    elif word in ("v", "deleted"):
        reading.group = replace(group, hidden=number != 0)
    elif not group.skipped and word in _SIGNS:
        reading.line.append(_SIGNS[word])
    elif not group.skipped:
        _structure(reading, word, number)


def _letters_are(reading: _Reading, word: str, number: int | None) -> None:
    """Learn how the bytes that follow are to be read."""
    if word == "ansicpg" and number in (932, 936, 949, 950, 874, *range(1250, 1259)):
        reading.usual = f"cp{number}"
    elif word == "uc" and number is not None:
        reading.group = replace(reading.group, fallback=max(0, min(8, number)))
    elif word == "f" and number is not None:
        reading.font = number
        reading.group = replace(reading.group, encoding=reading.fonts.get(number, ""))
    elif word == "fcharset" and reading.group.skipped == "fonttbl":
        reading.fonts[reading.font] = _CHARSETS.get(number or 0, "")


def _structure(reading: _Reading, word: str, number: int | None) -> None:
    if word in ("par", "sect", "page"):
        if reading.in_table:
            reading.line.append("\n")
        else:
            _paragraph(reading)
    elif word == "pard":
        reading.in_table, reading.item, reading.level = False, False, 0
    elif word == "intbl":
        reading.in_table = True
    elif word in ("cell", "nestcell"):
        reading.cells.append(_taken(reading))
        reading.in_table = True
    elif word in ("row", "nestrow"):
        if reading.cells:
            reading.rows.append(reading.cells)
        reading.cells = []
    elif word == "outlinelevel" and number is not None and 0 <= number < 6:
        reading.level = number + 1


def _unicode(reading: _Reading, number: int) -> None:
    _decode(reading)
    if not reading.group.skipped and not reading.group.hidden:
        unit = number % 65_536
        reading.line.append(chr(unit))
    reading.to_skip = reading.group.fallback


def _literal(reading: _Reading, literal: bytes) -> None:
    if literal == b"*":
        reading.optional = True
    elif literal in (b"\n", b"\r"):
        _word(reading, "par", None)
    elif literal in _LITERALS and not reading.group.skipped:
        _decode(reading)
        reading.line.append(_LITERALS[literal])


def _letters(reading: _Reading, text: bytes) -> None:
    skip = min(reading.to_skip, len(text))
    reading.to_skip -= skip
    reading.raw.extend(text[skip:])


def _decode(reading: _Reading) -> None:
    if not reading.raw:
        return
    group = reading.group
    text = reading.raw.decode(group.encoding or reading.usual, errors="replace")
    reading.raw.clear()
    if group.skipped == "title":
        reading.title += text
    elif not group.skipped and group.hidden:
        reading.hidden += bool(text.strip())
    elif not group.skipped:
        reading.line.append(text)


def _taken(reading: _Reading) -> str:
    _decode(reading)
    text = "".join(reading.line)
    reading.line.clear()
    # Letters beyond the first plane come as two halves.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").strip()


def _paragraph(reading: _Reading) -> None:
    text = _taken(reading)
    if not text:
        return
    _table(reading)
    if reading.level:
        reading.composer.heading(text, reading.level)
    elif reading.item:
        reading.composer.item(text)
    else:
        reading.composer.paragraph(text)


def _table(reading: _Reading) -> None:
    rows, reading.rows = reading.rows, []
    if reading.cells:
        rows.append(reading.cells)
        reading.cells = []
    reading.composer.table(rows, header_rows=header_rows(rows))
