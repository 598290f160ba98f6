"""What kind of document is it? Its first bytes decide; its name only breaks ties."""

import io
import unicodedata
import zipfile
import zlib
from typing import Final

import regex

from vademecum.adapters.parsers.archive import damaged, locked
from vademecum.adapters.parsers.decode import decode
from vademecum.adapters.parsers.delimited import is_delimited
from vademecum.adapters.parsers.json_values import is_json, is_json_lines
from vademecum.adapters.parsers.limits import MOST_ENTRIES
from vademecum.adapters.parsers.uris import suffix_of
from vademecum.errors import LimitExceeded, MediaTypeUnknown

PDF = "application/pdf"
MARKDOWN = "text/markdown"
TEXT = "text/plain"
HTML = "text/html"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
JSON_LINES = "application/jsonl"
RTF = "application/rtf"
MAIL = "message/rfc822"
MBOX = "application/mbox"
EPUB = "application/epub+zip"
_OPEN_XML = "application/vnd.openxmlformats-officedocument."
DOCX = f"{_OPEN_XML}wordprocessingml.document"
XLSX = f"{_OPEN_XML}spreadsheetml.sheet"
PPTX = f"{_OPEN_XML}presentationml.presentation"
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
ODT = f"{_OPEN_DOCUMENT}text"
ODS = f"{_OPEN_DOCUMENT}spreadsheet"
ODP = f"{_OPEN_DOCUMENT}presentation"

READABLE: Final = "PDF, DOCX, XLSX, PPTX, ODT, ODS, EPUB, HTML, Markdown, text, CSV, JSON or e-mail"
_MARKDOWN_NAMES = {".md", ".markdown", ".mdown", ".mkd"}
_DELIMITED_NAMES = {".csv": CSV, ".tsv": TSV, ".tab": TSV}
_MAIL_NAMES = {".eml", ".mht", ".mhtml"}
_HTML_NAMES = {".html", ".htm", ".xhtml"}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BINARY = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"BM": "a bitmap image",
    b"II*\x00": "a TIFF image",
    b"MM\x00*": "a TIFF image",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x7fELF": "a program",
    b"MZ\x90": "a program",
    b"\xca\xfe\xba\xbe": "a program",
    b"\x00asm": "a program",
    b"SQLite format 3\x00": "a database",
    b"PAR1": "a Parquet table",
    b"RIFF": "an image, sound or film",
    b"OggS": "a sound or film",
    b"ID3": "a sound",
    b"fLaC": "a sound",
    b"\x00\x01\x00\x00\x00": "a font",
    b"OTTO": "a font",
    b"wOF": "a font",
    b"\x0e\x11\xfc\x0d\xd0\xcf\x11\x0e": "an old office document",
}
# A text may begin with these.
_ALSO_WORDS = {b"BM", b"BZh", b"RIFF", b"ID3", b"OTTO", b"wOF"}
# What the directory of an old office file calls the stream with the text.
_OLE_STREAMS = {
    "EncryptedPackage": "",
    "WordDocument": "an old Word document (.doc): save it as DOCX",
    "PowerPoint Document": "an old presentation (.ppt): save it as PPTX",
    "Workbook": "an old workbook (.xls): save it as XLSX",
    "Book": "an old workbook (.xls): save it as XLSX",
    "__substg1.0_": "an Outlook message (.msg): save it as EML",
}
# Other bytes may stand before it, but a text that only names the mark is no PDF.
_PDF_HEAD = regex.compile(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])\s*%PDF-\d")
_SAMPLE_BYTES = 1 << 15
_FEW = 2  # letters that no text holds may stand in a short one all the same
_HTML_START = regex.compile(
    r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta|style|script)[\s>]",
    regex.I | regex.S,
)
_HTML_PART = regex.compile(
    r"\s*(?:<!--.*?-->\s*)*<(?:div|p|table|ul|ol|dl|h[1-6]|article|section|main|span|center|font|b|i|a|header|nav|link)\b[^<>]*>",
    regex.I | regex.S,
)
_CLOSING = regex.compile(
    r"</(?:div|p|table|ul|ol|li|td|h[1-6]|article|section|main|span|a|b)\s*>", regex.I
)
_HEADER_LINE = regex.compile(r"([A-Za-z][A-Za-z0-9-]{1,60}):(?:[^\S\n].*)?")
_MAIL_HEADERS = frozenset(
    (
        *("from", "to", "subject", "date", "received", "return-path", "mime-version", "message-id"),
        *("delivered-to", "content-type", "reply-to", "cc", "sender", "x-mailer"),
    )
)
_MBOX_START = regex.compile(r"^From \S+.*\n(?=[A-Za-z-]+:)", regex.M)
_UNTOLD_NAMES = {"", ".txt", ".dat", ".text"}
_MBOX_NAMES = {".mbox", ".mbx"}


def media_type(content: bytes, uri: str) -> str:
    """Return the media type of a document.

    Raises MediaTypeUnknown for what cannot be read, PasswordRequired for a locked office document,
    DocumentUnreadable for a broken container and LimitExceeded for one of too many parts.
    """
    if _PDF_HEAD.search(content[:1024]):
        return PDF
    if content.startswith(_ZIP):
        return _in_zip(content, uri)
    if content.startswith(_OLE[:4]):
        raise _old_office(content, uri)
    _refuse_binary(content, uri)
    if content.lstrip()[:6] == b"{\\rtf1":
        return RTF
    return _of_text(content, uri)


def _refuse_binary(content: bytes, uri: str) -> None:
    magic = next((magic for magic in _BINARY if content.startswith(magic)), b"")
    if magic and not (magic in _ALSO_WORDS and _looks_like_text(content)):
        raise MediaTypeUnknown(f"{uri} is {_BINARY[magic]}", hint=f"give a {READABLE}")
    if content[4:8] == b"ftyp":
        raise MediaTypeUnknown(f"{uri} is a film, sound or photo", hint=f"give a {READABLE}")
    if not _looks_like_text(content):
        raise MediaTypeUnknown(f"{uri} is not text", hint=f"give a {READABLE}")


def _looks_like_text(content: bytes) -> bool:
    """Tell whether the first bytes become letters, and hardly anything that no text holds."""
    sample = content[:_SAMPLE_BYTES]
    if not sample:
        return True
    if sample.count(0) > len(sample) // 20 and sample.startswith(b"\x00\x00\x00\x00"):
        return False
    text = decode(sample)
    strange = sum(
        letter == "\ufffd"
        or (
            unicodedata.category(letter) in ("Cc", "Cn", "Co")
            and letter not in "\t\n\r\f\x0b\x1b\x85"
        )
        for letter in text
    )
    return strange <= max(_FEW, len(text) // 20)


def _in_zip(content: bytes, uri: str) -> str:
    """Return the kind of document that a zip container holds."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as container:
            names = container.namelist()
            if len(names) > MOST_ENTRIES:
                raise LimitExceeded(
                    f"{uri} holds {len(names)} parts, over {MOST_ENTRIES}",
                    hint="split the document",
                )
            told = b""
            if "mimetype" in names and container.getinfo("mimetype").file_size < 200:
                told = container.read("mimetype")
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        OSError,
        ValueError,
    ) as error:
        raise damaged(uri) from error
    except RuntimeError as error:  # the library's word for an entry with a password
        raise locked(uri) from error
    kind = told.decode("ascii", "ignore").strip().removesuffix("-template").removesuffix("-master")
    if kind in (EPUB, ODT, ODS, ODP):
        return kind
    folders = {name.replace("\\", "/").lower() for name in names}
    if "[content_types].xml" in folders or "_rels/.rels" in folders:
        for folder, found in (("word/", DOCX), ("xl/", XLSX), ("ppt/", PPTX)):
            if any(name.startswith(folder) and name.endswith(".xml") for name in folders):
                return found
    if "meta-inf/container.xml" in folders:
        return EPUB
    raise MediaTypeUnknown(
        f"{uri} is a zip container of no known kind of document",
        hint="unpack it and ingest the files that it holds",
    )


def _old_office(content: bytes, uri: str) -> Exception:
    """Return what to tell about an office file in the format of before 2007."""
    for name, told in _OLE_STREAMS.items():
        if name.encode("utf-16-le") in content:
            if not told:
                return locked(uri)
            kind, _, advice = told.partition(": ")
            return MediaTypeUnknown(f"{uri} is {kind}", hint=f"{advice} and ingest it again")
    return MediaTypeUnknown(f"{uri} is an old office document", hint=f"give a {READABLE}")


def _of_text(content: bytes, uri: str) -> str:
    """Return the kind of a text: by its beginning, then by its name, then by its look."""
    head = decode(content[:_SAMPLE_BYTES]).lstrip("\ufeff")
    suffix = suffix_of(uri)
    if _HTML_START.match(head):
        return HTML
    if suffix in _MARKDOWN_NAMES:
        return MARKDOWN
    if suffix in _HTML_NAMES and "<" in head:
        return HTML
    if kind := _kind_of_mail(head, suffix):
        return kind
    return _DELIMITED_NAMES.get(suffix) or _by_look(content, head, suffix)


def _by_look(content: bytes, head: str, suffix: str) -> str:
    if head.lstrip()[:1] in ("{", "["):
        text = decode(content)
        if is_json(text):
            return JSON
        if is_json_lines(text):
            return JSON_LINES
    if _HTML_PART.match(head) and len(_CLOSING.findall(head)) > 1:
        return HTML
    return CSV if suffix in _UNTOLD_NAMES and is_delimited(head) else TEXT


def _kind_of_mail(head: str, suffix: str) -> str:
    """Return the type of a message or of a box of them, or an empty string."""
    named = suffix in _MAIL_NAMES
    start = _MBOX_START.match(head)
    if start is None:
        return MAIL if _is_mail(head, named=named) else ""
    if suffix in _MBOX_NAMES or len(_MBOX_START.findall(head)) > 1:
        return MBOX
    return MAIL if _is_mail(head[start.end() :], named=named) else ""


def _is_mail(head: str, *, named: bool) -> bool:
    """Tell whether a text begins with the lines of a message's head."""
    names: set[str] = set()
    for line in head.lstrip("\r\n").splitlines()[:60]:
        match = _HEADER_LINE.fullmatch(line.rstrip())
        if match is None:
            if line.startswith((" ", "\t")) and names:
                continue  # a header goes on in the next line
            break
        names.add(match[1].lower())
    known = names & _MAIL_HEADERS
    if named:
        return bool(known)
    return len(known) > 1 and bool(known - {"to", "date", "subject", "content-type", "cc"})
