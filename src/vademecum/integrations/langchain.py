"""How does a chain of LangChain find passages here? `pip install 'vademecum[langchain]'`."""

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, SecretStr

from vademecum.integrations.client import Passage, SearchClient, narrowed


class VademecumRetriever(BaseRetriever):
    """A retriever over a running server: the `k` best passages that the key may see, best first,
    each with `score` and its place in its metadata. `collections`, `where` and `filter` narrow."""

    url: str
    key: SecretStr
    k: int = Field(default=5, ge=1, le=1000)
    collections: list[str] | None = None
    where: Mapping[str, Any] | None = None
    filter: Mapping[str, Any] | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [_document(passage) for passage in self._client.search(query)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [_document(passage) for passage in await self._client.asearch(query)]

    @property
    def _client(self) -> SearchClient:
        return SearchClient(
            url=self.url,
            key=self.key.get_secret_value(),
            k=self.k,
            narrowed=narrowed(self.collections, self.where, self.filter),
        )


def _document(passage: Passage) -> Document:
    return Document(
        id=passage.about["chunk_id"],
        page_content=passage.text,
        metadata=dict(passage.about) | {"score": passage.score},
    )
