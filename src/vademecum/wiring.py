"""How do opened parts become what each line of work needs from outside?"""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from vademecum import opening
from vademecum.adapters.clock import SystemClock
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.adapters.language_models.pydantic_ai import PydanticAiModel
from vademecum.adapters.parsers.jail import ChildParser
from vademecum.adapters.tracing import Tracing, open_tracing
from vademecum.answer.converse import TalkParts
from vademecum.answer.fold import TendParts
from vademecum.answer.prompt import SYSTEM
from vademecum.answer.reuse import ReuseParts, SharedParts
from vademecum.answer.write import AnswerParts
from vademecum.catalogue import Catalogue, open_catalogue
from vademecum.ingest.deliver import DeliverParts
from vademecum.ingest.pipeline import IngestParts
from vademecum.ingest.reconcile import ReconcileParts
from vademecum.ingest.retain import Keep, RetainParts
from vademecum.memory.extract import LearnParts
from vademecum.memory.recall import MemoryParts
from vademecum.memory.turns import TurnParts
from vademecum.memory.upkeep import MemoryKeep, MemoryUpkeepParts
from vademecum.model.index import IndexGeneration
from vademecum.opening import (
    AnswerRules,
    MemoryRules,
    ReuseRules,
    SearchRules,
    SharedRules,
    Tell,
    silent,
)
from vademecum.ports.chunker import Chunking
from vademecum.ports.embedder import Embedder, TokenEncoder, Tokenizer
from vademecum.ports.language_model import LanguageModel, TokenCounter
from vademecum.ports.parser import Parser
from vademecum.ports.reranker import Reranker
from vademecum.postgres.conversation.turns import PostgresTurns
from vademecum.postgres.evaluation.calibration import CalibrationsOf
from vademecum.postgres.index import PostgresIndex
from vademecum.postgres.learning import PostgresLearning
from vademecum.postgres.memory.store import PostgresMemories
from vademecum.postgres.memory.upkeep import PostgresMemoryUpkeep
from vademecum.postgres.revision import PostgresRevisions
from vademecum.postgres.trace.kept_answer import PostgresKeptAnswers
from vademecum.postgres.upkeep import PostgresUpkeep
from vademecum.retrieve.expand import Expanding
from vademecum.retrieve.pipeline import RetrieveParts
from vademecum.settings import LOCAL_E5, Loaded, Settings
from vademecum.text import language

# Turns are learned from together, once nobody has said anything for so long.
QUIET_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What reads, divides, embeds and writes. Without `language_model` nothing is generated."""

    parser: Parser
    chunking: Chunking
    tokenizer: Tokenizer
    embedder: Embedder
    encoder: TokenEncoder
    language_model: LanguageModel | None
    counter: TokenCounter
    reranker: Reranker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """The parts of one system: over one database and one index generation, with its models."""

    catalogue: Catalogue
    generation: IndexGeneration
    models: Models

    @property
    def upkeep(self) -> PostgresUpkeep:
        return PostgresUpkeep(self.catalogue.pool, self.generation.id)

    def ingest(self) -> IngestParts:
        return IngestParts(
            revisions=PostgresRevisions(self.catalogue.pool, self.generation.id),
            blobs=self.catalogue.blobs,
            parser=self.models.parser,
            chunking=self.models.chunking,
            tokenizer=self.models.tokenizer,
            embedder=self.models.embedder,
            encoder=self.models.encoder,
            generation=self.generation,
        )

    def deliver(self) -> DeliverParts:
        return DeliverParts(
            documents=self.catalogue.documents,
            jobs=self.catalogue.jobs,
            ingest=self.ingest(),
            remove=self.catalogue.remove,
            settle=self.upkeep.settle,
        )

    def retrieve(self, rules: SearchRules) -> RetrieveParts:
        return RetrieveParts(
            store=self.catalogue.documents,
            index=PostgresIndex(
                self.catalogue.pool, self.generation, exact_below=rules.exact_below
            ),
            embedder=self.models.embedder,
            encoder=self.models.encoder,
            clock=SystemClock(),
            ranking=rules.ranking,
            reranker=self.models.reranker,
            calibrations=CalibrationsOf(self.catalogue.pool, self.generation.id),
            expanding=self.expanding(rules),
            turnstile=self.catalogue.turnstile,
        )

    def expanding(self, rules: SearchRules) -> Expanding | None:
        """Return what is added to queries, None where nothing is."""
        if not rules.queries:
            return None
        return Expanding(
            how=rules.queries,
            model=self.models.language_model,
            seconds=rules.query_seconds,
            clock=SystemClock(),
        )

    def talk(self) -> TalkParts:
        return TalkParts(
            conversations=self.catalogue.conversations,
            records=self.catalogue.records,
            clock=SystemClock(),
        )

    def answer(
        self,
        search: SearchRules,
        answers: AnswerRules,
        memory: MemoryParts,
        reuse: ReuseRules | None,
    ) -> AnswerParts:
        versions = self.versions(search, answers)
        return AnswerParts(
            retrieve=self.retrieve(search),
            talk=self.talk(),
            encoder=self.models.encoder,
            language_model=self.models.language_model,
            counter=self.models.counter,
            temperature=answers.temperature,
            show_unsupported=answers.show_unsupported,
            best_at_ends=answers.best_at_ends,
            memory=memory,
            reuse=self.reuse(reuse, versions),
            versions=versions,
        )

    def versions(self, search: SearchRules, answers: AnswerRules) -> dict[str, Any]:
        """Return what a result depends on beside the documents, as traces name it: settings by
        their dotted keys."""
        model = self.models.language_model
        return {
            "release": version("vademecum"),
            "space": self.models.embedder.space.name,
            "generation": self.generation.id,
            "analyser": self.generation.analyser,
            "language_model": model.name if model else "",
            "prompt": hashlib.sha256(SYSTEM.encode()).hexdigest()[:12],
            **search.named,
            **answers.named,
        }

    def reuse(self, rules: ReuseRules | None, versions: Mapping[str, Any]) -> ReuseParts | None:
        """Return what giving an answer again needs: it depends on all settings and `versions`."""
        if rules is None:
            return None
        return ReuseParts(
            store=PostgresKeptAnswers(self.catalogue.pool),
            documents=self.catalogue.documents,
            fingerprint=repr((rules.settings, versions)),
            lasts=rules.lasts,
            most=rules.most,
            shared=self.shared(rules.shared),
        )

    def shared(self, rules: SharedRules | None) -> SharedParts | None:
        if rules is None:
            return None
        return SharedParts(
            collections=rules.collections,
            embedder=self.models.embedder,
            least=rules.least,
            lasts=rules.lasts,
            most=rules.most,
        )

    def memory(self, rules: MemoryRules) -> MemoryParts:
        space = self.models.embedder.space
        return MemoryParts(
            store=PostgresMemories(self.catalogue.pool, self.generation.id),
            embedder=self.models.embedder,
            clock=SystemClock(),
            calibration=rules.calibration or opening.calibration_of(space),
            floor=rules.floor,
            average_length=self.generation.average_length,
            seconds=rules.seconds,
        )

    def memory_upkeep(self, memory: MemoryParts, keep: MemoryKeep) -> MemoryUpkeepParts:
        return MemoryUpkeepParts(
            memory=memory,
            upkeep=PostgresMemoryUpkeep(self.catalogue.pool, self.generation.id),
            keep=keep,
        )

    def learn(self, memory: MemoryParts) -> LearnParts | None:
        """Return what learning needs; without a language model only what is ordered is kept."""
        if self.models.language_model is None:
            return None
        return LearnParts(
            learning=PostgresLearning(self.catalogue.pool, quiet=QUIET_SECONDS),
            memories=memory,
            language_model=self.models.language_model,
        )

    def reconcile(self) -> ReconcileParts:
        return ReconcileParts(
            upkeep=self.upkeep,
            jobs=self.catalogue.jobs,
            encoders=self.ingest().encoders,
            generation=self.generation,
        )

    def retain(self, keep: Keep) -> RetainParts:
        return RetainParts(
            upkeep=self.upkeep,
            documents=self.catalogue.documents,
            blobs=self.catalogue.blobs,
            clock=SystemClock(),
            keep=keep,
        )

    def tend(self) -> TendParts:
        return TendParts(
            folds=self.catalogue.conversations,
            turns=TurnParts(
                index=PostgresTurns(self.catalogue.pool, self.generation.id),
                embedder=self.models.embedder,
                encoder=self.models.encoder,
                tokenizer=self.models.tokenizer,
            ),
            language_model=self.models.language_model,
            counter=self.models.counter,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Parts that are open and of which an App is made, of whichever build of the index. A model
    stays open to the end, since what was begun with it ends with it."""

    settings: Settings
    catalogue: Catalogue
    local: LocalE5
    language_model: PydanticAiModel | None
    parser: ChildParser
    tracing: Tracing
    stack: AsyncExitStack
    embedders: dict[str, Embedder]
    reranker: Reranker | None

    async def embedder(self, name: str) -> Embedder:
        """Return the model of a name as `models.embedding` takes it. Raises: what opening it
        raises."""
        if name not in self.embedders:
            remote = await opening.open_remote(self.settings, name)
            self.stack.push_async_callback(remote.aclose)
            self.embedders[name] = remote
        return self.embedders[name]


@asynccontextmanager
async def opened(loaded: Loaded, *, tell: Tell = silent) -> AsyncIterator[Opened]:
    """Open what the settings name, but for a model of vectors that is not the local one: which one
    that is, the index tells."""
    settings = loaded.settings
    async with AsyncExitStack() as stack:
        # The models and the database start at the same time: each takes seconds at first.
        warming = asyncio.create_task(asyncio.to_thread(language.warm))
        stack.push_async_callback(asyncio.wait, {warming})
        local = asyncio.create_task(asyncio.to_thread(opening.load_local, loaded, tell))
        written = asyncio.create_task(asyncio.to_thread(opening.language_model, settings))
        stack.push_async_callback(opening.close_models, local, written)
        catalogue = await stack.enter_async_context(open_catalogue(loaded, tell=tell))
        encoder, language_model = await local, await written
        await warming
        ocr = await asyncio.to_thread(opening.recognition_languages, settings.ingest.ocr)
        reranker = await asyncio.to_thread(opening.open_reranker, settings)
        if reranker is not None:
            stack.push_async_callback(reranker.aclose)
        parser = ChildParser(ocr=ocr)
        stack.push_async_callback(parser.aclose)
        tracing = open_tracing(os.environ)
        stack.push_async_callback(asyncio.to_thread, tracing.close)
        yield Opened(
            settings=settings,
            catalogue=catalogue,
            local=encoder,
            language_model=language_model,
            parser=parser,
            tracing=tracing,
            stack=stack,
            embedders={LOCAL_E5: encoder},
            reranker=reranker,
        )
