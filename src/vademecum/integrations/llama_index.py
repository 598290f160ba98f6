"""How does LlamaIndex find passages here? `pip install 'vademecum[llama-index]'`."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from vademecum.integrations.client import Passage, SearchClient, narrowed

# LlamaIndex writes metadata before a text that a model reads; of ours it reads these.
_TOLD = frozenset({"uri", "title", "page_start"})


class VademecumRetriever(BaseRetriever):
    """A retriever over a running server: the `k` best passages that the key may see, best first,
    each with its place in its metadata. `collections`, `where` and `filter` narrow."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        k: int = 5,
        collections: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._client = SearchClient(
            url=url, key=key, k=k, narrowed=narrowed(collections, where, filter)
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(passage) for passage in self._client.search(query_bundle.query_str)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(passage) for passage in await self._client.asearch(query_bundle.query_str)]


def _node(passage: Passage) -> NodeWithScore:
    about = dict(passage.about)
    untold = [name for name in about if name not in _TOLD]
    node = TextNode(
        id_=about["chunk_id"],
        text=passage.text,
        metadata=about,
        excluded_llm_metadata_keys=untold,
        excluded_embed_metadata_keys=untold,
        start_char_idx=about["start"],
        end_char_idx=about["end"],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=about["document_id"])},
    )
    return NodeWithScore(node=node, score=passage.score)
