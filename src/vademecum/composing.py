"""How do the parts become one system? The composition root: settings in, an App out."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from vademecum import opening
from vademecum import settings as settings_tree
from vademecum.adapters.language_models.bpe import BpeCounter
from vademecum.adapters.language_models.metered import MeteredModel
from vademecum.adapters.tracing import NO_TRACING, TracedEmbedder, TracedModel, Tracing
from vademecum.app import App, follow
from vademecum.catalogue import Catalogue
from vademecum.errors import DatabaseAway, VademecumError
from vademecum.ingest.contextualize import CONTEXT_TOKENS
from vademecum.ingest.retain import Keep
from vademecum.model.index import GenerationRecord, IndexGeneration
from vademecum.opening import (
    DEFAULT_ANSWERS,
    DEFAULT_MEMORY,
    DEFAULT_SEARCH,
    AnswerRules,
    MemoryRules,
    ReuseRules,
    SearchRules,
    Tell,
    chunking_rules,
    silent,
)
from vademecum.ports.chunker import Chunking
from vademecum.ports.embedder import Embedder, TokenEncoder, Tokenizer, is_one_model
from vademecum.ports.language_model import LanguageModel, TokenCounter
from vademecum.ports.parser import Parser
from vademecum.ports.reranker import Reranker
from vademecum.postgres.generation.store import (
    PostgresGenerations,
    check_readable,
    current_generation,
    opened_name,
)
from vademecum.postgres.graph import PostgresGraph
from vademecum.remembering import Memories
from vademecum.settings import Loaded
from vademecum.text.analyse import VERSION as ANALYSER_VERSION
from vademecum.wiring import Models, Opened, Wiring, opened

# Terms of a typical chunk of 200 tokens with its context line: a constant of the generation.
AVERAGE_LENGTH = 120.0
# How soon a process that runs reads another build of the index once it was switched to.
FOLLOW_SECONDS = 2.0
_log = logging.getLogger(__name__)


@asynccontextmanager
async def open(
    loaded: Loaded | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    tell: Tell = silent,
) -> AsyncIterator[App]:
    """Open the system as the settings say; `overrides` maps dotted keys to values.

    With `loaded` settings nothing is read, and nothing can be overridden.
    Raises: any VademecumError that tells what is missing and what to do.
    """
    if loaded is None:
        loaded = settings_tree.load(config=None, flags=overrides or {}, environment=os.environ)
    elif overrides:
        raise ValueError("give either loaded settings or overrides")
    async with opened(loaded, tell=tell) as parts:
        app = await current_app(parts)
        following = asyncio.create_task(_following(app))
        try:
            yield app
        finally:
            following.cancel()
            await asyncio.wait({following})


async def current_app(parts: Opened) -> App:
    """Return the App of the build that is read, made for the settings where there is none.

    Raises: SpaceMismatch, where the settings name another model than it was built with.
    """
    pool, setting = parts.catalogue.pool, parts.settings.models.embedding
    name = opened_name(await PostgresGenerations(pool).current(), setting)
    embedder = await parts.embedder(name)
    generation = await current_generation(
        pool, embedder.space, ANALYSER_VERSION, AVERAGE_LENGTH, embedding=name
    )
    return app_over(parts, generation, embedder)


async def reopened(parts: Opened, record: GenerationRecord) -> App:
    """Return the App of a build with its own model, whatever the settings say. Raises:
    SpaceMismatch, where that name stands for another model now."""
    embedder = await parts.embedder(record.embedding or parts.settings.models.embedding)
    check_readable(record.generation, embedder.space, ANALYSER_VERSION)
    return app_over(parts, record.generation, embedder)


def app_over(parts: Opened, generation: IndexGeneration, embedder: Embedder) -> App:
    """Return the App of a build of the index, of which `embedder` is the model."""
    settings, local = parts.settings, parts.local
    window = min(local.max_tokens, embedder.max_tokens)
    app = compose(
        parts.catalogue,
        generation,
        parser=parts.parser,
        chunking=chunking_rules(settings, window - CONTEXT_TOKENS),
        tokenizer=local,
        embedder=embedder,
        encoder=local,
        language_model=parts.language_model,
        counter=BpeCounter(),
        answers=opening.answer_rules(settings),
        search=opening.search_rules(settings, parts.reranker),
        keep=opening.keep_rules(settings),
        memory=opening.memory_rules(settings, embedder.space),
        reuse=opening.reuse_rules(settings),
        tracing=parts.tracing,
        reranker=parts.reranker,
    )
    return replace(app, reopen=partial(reopened, parts))


async def _following(app: App) -> None:
    told = ""
    while True:
        await asyncio.sleep(FOLLOW_SECONDS)
        try:
            await follow(app)
            told = ""
        except DatabaseAway:
            pass  # every call says so, and it may come back
        except VademecumError as error:
            if error.code != told:
                told = error.code
                _log.error("the build of the index that is current cannot be read: %s", told)


def compose(
    catalogue: Catalogue,
    generation: IndexGeneration,
    *,
    parser: Parser,
    chunking: Chunking,
    tokenizer: Tokenizer,
    embedder: Embedder,
    encoder: TokenEncoder,
    language_model: LanguageModel | None,
    counter: TokenCounter,
    keep: Keep,
    answers: AnswerRules = DEFAULT_ANSWERS,
    search: SearchRules = DEFAULT_SEARCH,
    memory: MemoryRules = DEFAULT_MEMORY,
    reuse: ReuseRules | None = None,
    tracing: Tracing = NO_TRACING,
    reranker: Reranker | None = None,
) -> App:
    """Put opened parts together; `open` opens those that the settings name."""
    if language_model is not None:
        language_model = TracedModel(MeteredModel(language_model, counter), tracing)
    if not is_one_model(embedder, encoder):  # the local one is a library's call, and in every span
        embedder = TracedEmbedder(embedder, tracing)
    models = Models(
        parser=parser,
        chunking=chunking,
        tokenizer=tokenizer,
        embedder=embedder,
        encoder=encoder,
        language_model=language_model,
        counter=counter,
        reranker=reranker,
    )
    wiring = Wiring(catalogue=catalogue, generation=generation, models=models)
    remembered = wiring.memory(memory)
    return App(
        catalogue=catalogue,
        ingest_parts=wiring.ingest(),
        deliver_parts=wiring.deliver(),
        answer_parts=wiring.answer(search, answers, remembered, reuse),
        own_memories=Memories(parts=remembered),
        memory_upkeep_parts=wiring.memory_upkeep(remembered, memory.keep),
        reconcile_parts=wiring.reconcile(),
        retain_parts=wiring.retain(keep),
        tend_parts=wiring.tend(),
        learn_parts=wiring.learn(remembered),
        graph=PostgresGraph(catalogue.owner_url, generation) if catalogue.owner_url else None,
        filter_keys=search.filter_keys,
        tracing=tracing,
    )
