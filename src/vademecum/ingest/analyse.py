"""Which terms will a chunk be found by?"""

from collections.abc import Sequence

from vademecum.model.chunk import Chunk
from vademecum.model.ids import Tenant
from vademecum.model.index import KeywordRow
from vademecum.rank.bm25 import document_weights
from vademecum.text.analyse import term_id, terms


def keyword_rows(
    chunks: Sequence[Chunk], tenant: Tenant, average_length: float
) -> list[KeywordRow]:
    """Return one row a chunk; `average_length` (terms a chunk) is the generation's."""
    return [
        keyword_row(chunk.embedded_text, chunk.language, tenant, average_length) for chunk in chunks
    ]


def keyword_row(text: str, language: str, tenant: Tenant, average_length: float) -> KeywordRow:
    """Return the weights of a text's terms, stemmed as its language asks."""
    ids = (term_id(term, tenant) for term in terms(text, language))
    return KeywordRow(weights=document_weights(ids, average_length))
