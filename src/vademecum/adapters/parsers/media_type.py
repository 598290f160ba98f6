"""What kind of document is it? Its first bytes decide; its name only breaks ties."""

import codecs
import json
import re
from pathlib import PurePosixPath

from vademecum.errors import MediaTypeUnknown

PDF = "application/pdf"
MARKDOWN = "text/markdown"
TEXT = "text/plain"
JSON = "application/json"

_MARKDOWN_NAMES = {".md", ".markdown", ".mdown", ".mkd"}
_BINARY = {
    b"PK\x03\x04": "a zip container (for example an office document)",
    b"\xd0\xcf\x11\xe0": "an old office document",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
}
# Other bytes may stand before it, but a text that only names the mark is no PDF.
_PDF_HEAD = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])\s*%PDF-\d")
_BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def media_type(content: bytes, uri: str) -> str:
    """Return the media type of a document. Raises MediaTypeUnknown for what cannot be read."""
    if _PDF_HEAD.search(content[:1024]):
        return PDF
    for magic, name in _BINARY.items():
        if content.startswith(magic):
            raise MediaTypeUnknown(
                f"{uri} is {name}", hint="give a PDF, Markdown, text or JSON document"
            )
    if not content.startswith(_BOMS) and b"\x00" in content[:4096].replace(b"\x00\x00", b"\x00"):
        control = sum(byte < 9 for byte in content[:4096])
        if control > len(content[:4096]) // 20:
            raise MediaTypeUnknown(
                f"{uri} is not text", hint="give a PDF, Markdown, text or JSON document"
            )
    suffix = PurePosixPath(uri.lower()).suffix
    if suffix in _MARKDOWN_NAMES:
        return MARKDOWN
    if content.lstrip()[:1] in (b"{", b"[") and _is_json(content):
        return JSON
    return TEXT


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True
