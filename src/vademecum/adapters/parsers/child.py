"""The child process that reads one document and then ends; the nursery forks it.

The request is a JSON line `{"uri": …, "ocr": …}`, then the bytes; the answer is one JSON line on
stdout. A request with a `page` and `words` wants no text, but a picture of that page.
"""

import base64
import json
import resource
import sys
from dataclasses import fields
from functools import partial
from typing import Any

from vademecum.adapters.parsers import media_type
from vademecum.adapters.parsers.delimited import parse_delimited
from vademecum.adapters.parsers.dispatch import READERS, parse
from vademecum.adapters.parsers.json_values import parse_json, parse_json_lines
from vademecum.adapters.parsers.limits import CPU_SECONDS, MEMORY_BYTES
from vademecum.adapters.parsers.mail import parse_mail, parse_mbox
from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.adapters.parsers.office.opendocument import parse_opendocument
from vademecum.adapters.parsers.office.slides import parse_pptx
from vademecum.adapters.parsers.office.word import parse_docx
from vademecum.adapters.parsers.office.workbook import parse_xlsx
from vademecum.adapters.parsers.pdf import parse_pdf
from vademecum.adapters.parsers.pdf.picture import paint
from vademecum.adapters.parsers.plain import parse_text
from vademecum.adapters.parsers.rich_text import parse_rtf
from vademecum.adapters.parsers.web.epub import parse_epub
from vademecum.adapters.parsers.web.html_reader import parse_html
from vademecum.errors import VademecumError
from vademecum.model.document import Block, ParsedDocument

READERS.update(
    {
        media_type.PDF: parse_pdf,
        media_type.MARKDOWN: parse_markdown,
        media_type.TEXT: parse_text,
        media_type.HTML: parse_html,
        media_type.CSV: parse_delimited,
        media_type.TSV: parse_delimited,
        media_type.JSON: parse_json,
        media_type.JSON_LINES: parse_json_lines,
        media_type.RTF: parse_rtf,
        media_type.MAIL: parse_mail,
        media_type.MBOX: parse_mbox,
        media_type.EPUB: parse_epub,
        media_type.DOCX: parse_docx,
        media_type.XLSX: parse_xlsx,
        media_type.PPTX: parse_pptx,
        media_type.ODT: parse_opendocument,
        media_type.ODS: parse_opendocument,
        media_type.ODP: parse_opendocument,
    }
)


def _answer(parsed: ParsedDocument) -> dict[str, Any]:
    """Return what goes over the pipe. A document may have a million blocks, so each is a short
    list, in the order of its fields."""
    answer = {field.name: getattr(parsed, field.name) for field in fields(parsed)}
    names = [field.name for field in fields(Block)]
    answer["blocks"] = [[getattr(block, name) for name in names] for block in parsed.blocks]
    answer["metadata"] = dict(parsed.metadata)
    return answer


def _answered(request: dict[str, Any], content: bytes) -> dict[str, Any]:
    if "page" in request:
        picture = paint(content, request["page"], request["words"])
        return {"png": base64.b64encode(picture).decode("ascii")}
    READERS[media_type.PDF] = partial(parse_pdf, ocr=request["ocr"])
    return _answer(parse(content, request["uri"]))


def main() -> None:
    """Read one document from stdin under limits, and answer on stdout."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # At the lower limit comes the signal that tells why it ended, at the higher one the other.
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    request = json.loads(sys.stdin.buffer.readline())
    content = sys.stdin.buffer.read()
    try:
        answer = _answered(request, content)
    except VademecumError as error:
        answer = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
    except (MemoryError, RecursionError):
        answer = {
            "error": "LimitExceeded",
            "message": f"{request['uri']} needs more memory than a document may use",
            "hint": "split the document",
        }
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
