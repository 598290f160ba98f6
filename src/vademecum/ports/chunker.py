"""How is a document's text divided?"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from vademecum.model.chunk import Span
from vademecum.model.document import ParsedDocument
from vademecum.model.embedding import FloatArray
from vademecum.ports.embedder import Tokenizer


class Chunker(Protocol):
    """Divide a text into spans that can be found and cited."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text may be divided otherwise."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever reads the result should know, for example a size that was reduced."""
        ...

    def split(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[Span]:
        """Return spans in order: starts strictly increase, none lies inside another, together
        they cover every non-blank character, none passes the chunker's token limit.

        Only a chunk of a single code point may have more tokens. A letter cluster is cut only
        where it alone passes the limit. Spans that name a section lie in it; sections do not
        overlap, and spans of one are neighbours.
        """
        ...


@runtime_checkable
class VectorChunker(Chunker, Protocol):
    """A chunker that divides by vectors of the text's parts. Whoever calls it embeds them."""

    def wanted(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[str]:
        """Return the texts whose vectors it wants, each once, none blank, none over its limit."""
        ...

    def knowing(self, vectors: Mapping[str, FloatArray]) -> Chunker:
        """Return the chunker that divides by these vectors, each of shape (d,) and norm 1, by text.
        One that is lacking is like no other."""
        ...


class Chunking(Protocol):
    """Say which chunker divides a document, by its collection, its type and what was asked for."""

    def choose(self, collection: str, media_type: str, asked: str | None = None) -> Chunker:
        """Return the chunker of a document; `asked` names a strategy and may be None.

        Raises: InvalidSetting for a strategy that does not exist.
        """
        ...

    def fingerprint(self, collection: str, asked: str | None = None) -> str:
        """Changes whenever a document of any type in the collection may be divided otherwise.

        Raises: InvalidSetting for a strategy that does not exist.
        """
        ...
