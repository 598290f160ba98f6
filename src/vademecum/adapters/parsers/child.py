"""The child process that reads one document and then ends; the nursery forks it.

The request is a JSON line `{"uri": …}`, then the bytes; the answer is one JSON line on stdout.
"""

import json
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict

from vademecum.adapters.parsers.limits import CPU_SECONDS, MEMORY_BYTES, MOST_CHARACTERS
from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.adapters.parsers.media_type import JSON, MARKDOWN, PDF, TEXT, media_type
from vademecum.adapters.parsers.pdf import parse_pdf
from vademecum.adapters.parsers.plain import parse_json, parse_text
from vademecum.errors import LimitExceeded, VademecumError
from vademecum.model.document import ParsedDocument

Reader = Callable[[bytes, str, str], ParsedDocument]


READERS: dict[str, Reader] = {
    PDF: parse_pdf,
    MARKDOWN: parse_markdown,
    TEXT: parse_text,
    JSON: parse_json,
}


def parse(content: bytes, uri: str) -> ParsedDocument:
    """Read one document in this process."""
    kind = media_type(content, uri)
    parsed = READERS[kind](content, uri, kind)
    if len(parsed.text) > MOST_CHARACTERS:
        raise LimitExceeded(
            f"{uri} holds over {MOST_CHARACTERS // 1_000_000} million characters",
            hint="split the document",
        )
    return parsed


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
        answer = asdict(parse(content, request["uri"]))
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
