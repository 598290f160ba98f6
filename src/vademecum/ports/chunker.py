"""How is a document's text divided?"""

from typing import Protocol

from vademecum.model.chunk import Span
from vademecum.model.document import ParsedDocument
from vademecum.ports.embedder import Tokenizer


class Chunker(Protocol):
    """Divide a text into spans that can be found and cited."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text may be divided otherwise."""
        ...

    def split(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[Span]:
        """Return spans in order: starts strictly increase, none lies inside another, together
        they cover every non-blank character, none passes the chunker's token limit."""
        ...
