"""Which reader reads these bytes, and how deep may documents stand in documents?"""

from collections.abc import Callable
from contextvars import ContextVar

from vademecum.adapters.parsers.limits import MOST_CHARACTERS, MOST_NESTING
from vademecum.adapters.parsers.media_type import media_type
from vademecum.errors import LimitExceeded
from vademecum.model.document import ParsedDocument

Reader = Callable[[bytes, str, str], ParsedDocument]

# From media type to reader. `child` fills it: a reader of mail calls the others through it, so
# this module may know none of them.
READERS: dict[str, Reader] = {}
_DEPTH: ContextVar[int] = ContextVar("depth", default=0)


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


def parse_part(content: bytes, name: str) -> ParsedDocument:
    """Read a document that stands inside another one, such as an attachment. `name` is only
    text: it breaks ties of the type and stands in messages."""
    depth = _DEPTH.get()
    if depth >= MOST_NESTING:
        raise LimitExceeded(
            f"{name} stands over {MOST_NESTING} documents deep", hint="ingest it by itself"
        )
    token = _DEPTH.set(depth + 1)
    try:
        return parse(content, name)
    finally:
        _DEPTH.reset(token)
