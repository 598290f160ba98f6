"""How does a test build the index for another model? Over a Bench, with hash embedders."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support import HereParser

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.app import App
from vademecum.catalogue import catalogue_over
from vademecum.composing import compose
from vademecum.ingest.retain import Keep
from vademecum.model.embedding import Role, TokenStates
from vademecum.model.index import GenerationRecord, IndexGeneration
from vademecum.ports.embedder import Embedder
from vademecum.postgres.pool import Pool
from vademecum.reindexing import Event, Reindexing
from vademecum.testing.embedders import HashEmbedder

OLD, NEW = "testing:old", "testing:new"


class Slow(HashEmbedder):
    """A hash embedder that takes its time over passages."""

    def __init__(self, *, seconds: float, dimension: int = 32, model: str = "another") -> None:
        super().__init__(dimension=dimension, model=model)
        self._seconds = seconds

    async def _states(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        if role == "passage":
            await asyncio.sleep(self._seconds)
        return await super()._states(texts, role)


def another(dimension: int = 32) -> HashEmbedder:
    """A model whose vectors say nothing to those of the usual one, and have another size."""
    return HashEmbedder(dimension=dimension, model="another")


def app_over(pool: Pool, folder: Path, generation: IndexGeneration, embedder: Embedder) -> App:
    """What `support.make_bench` composes, over any build of the index."""
    assert isinstance(embedder, HashEmbedder)
    return compose(
        catalogue_over(pool, folder),
        generation,
        parser=HereParser(),
        chunking=ChunkingRules(ChunkingRule(size=20), window=400),
        tokenizer=embedder,
        embedder=embedder,
        encoder=embedder,
        language_model=None,
        counter=embedder,
        keep=Keep(revisions=None, changes=None, traces=None),
    )


def rebuilding(
    pool: Pool,
    folder: Path,
    models: Mapping[str, HashEmbedder],
    *,
    name: str = NEW,
    setting: str = OLD,
    event: Event = lambda _name, _facts: None,
) -> Reindexing:
    """What `reindex` and `roll_back` need, where models are opened by their names in `models`."""

    async def reopen(record: GenerationRecord) -> App:
        embedder = models[record.embedding or OLD]
        assert embedder.space == record.generation.space
        app = app_over(pool, folder, record.generation, embedder)
        app.reopen = reopen
        return app

    def over(generation: IndexGeneration, embedder: Any) -> App:
        return app_over(pool, folder, generation, embedder)

    return Reindexing(
        catalogue=catalogue_over(pool, folder),
        setting=setting,
        name=name,
        embedder=models[name],
        over=over,
        reopen=reopen,
        event=event,
        settle_seconds=0.0,
    )
