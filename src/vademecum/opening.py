"""Which models and rules do the settings name, and how are they opened and closed?"""

import asyncio
import hashlib
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.adapters.embedders.e5_convert import MODEL_NAME, ModelFiles, ensure_model, open_model
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.adapters.embedders.openai_compatible import RemoteEmbedder, open_embedder
from vademecum.adapters.language_models.bpe import BpeCounter
from vademecum.adapters.language_models.pydantic_ai import PydanticAiModel, make_language_model
from vademecum.adapters.providers import split_name
from vademecum.adapters.rerankers.cross_encoder import CrossEncoder
from vademecum.adapters.rerankers.http import HttpReranker, make_http_reranker, split_reranker
from vademecum.errors import InvalidSetting
from vademecum.ingest.retain import Keep
from vademecum.memory.upkeep import MemoryKeep
from vademecum.model.embedding import EmbeddingSpace
from vademecum.model.index import EXACT_BELOW
from vademecum.model.memory import KINDS
from vademecum.model.query import Queries
from vademecum.ports.reranker import Reranker
from vademecum.rank.blend import MAXSIM
from vademecum.rank.memory import E5_SMALL, FLOOR, WHOLE_RANGE, Calibration
from vademecum.retrieve.fuse import Fusion
from vademecum.retrieve.pipeline import DEFAULT_RANKING, Ranking
from vademecum.settings import ChunkingRuleSettings, Loaded, Settings

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRules:
    """How to search: the order, when a graph may be used, what filters may ask about (all where no
    key is named), and what a language model adds to a query, in how many seconds at most."""

    ranking: Ranking
    exact_below: int
    filter_keys: frozenset[str]
    queries: Queries = ""
    query_seconds: float = 6.0

    @property
    def named(self) -> dict[str, object]:
        """What a search depends on, by the dotted keys of the settings."""
        named = {"search.exact_below": self.exact_below, **self.ranking.named}
        # Named only where it is on, so that a trace of before differs in nothing.
        return named | ({"search.queries": self.queries} if self.queries else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRules:
    """How memories are recalled and kept: the least similarity, how long an answer waits for them,
    how cosines become 0..1 (None where the embedding space tells it), and how long they stay."""

    floor: float
    seconds: float
    calibration: Calibration | None
    keep: MemoryKeep


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRules:
    """How a language model is asked, and whether what no source supports is shown, marked."""

    temperature: float | None
    show_unsupported: bool
    best_at_ends: bool

    @property
    def named(self) -> dict[str, object]:
        """What a text depends on, by the dotted keys of the settings."""
        named: dict[str, object] = {
            "answer.temperature": self.temperature,
            "answer.show_unsupported": self.show_unsupported,
        }
        # Named only where it is on, so that a trace of before differs in nothing.
        return named | ({"answer.best_at_ends": True} if self.best_at_ends else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRules:
    """In which collections answers are given to other wordings of their question, from which
    cosine on, how long, and how many are kept of a tenant."""

    collections: frozenset[str]
    least: float
    lasts: timedelta
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseRules:
    """How long an answer may be given again, how many are kept of one principal, and the digest of
    every setting that one may depend on. In `shared` collections it is given to other wordings."""

    lasts: timedelta
    most: int
    settings: str
    shared: SharedRules | None = None


DEFAULT_ANSWERS = AnswerRules(temperature=None, show_unsupported=False, best_at_ends=False)
DEFAULT_SEARCH = SearchRules(
    ranking=DEFAULT_RANKING, exact_below=EXACT_BELOW, filter_keys=frozenset()
)
DEFAULT_MEMORY = MemoryRules(
    floor=FLOOR,
    seconds=2.0,
    calibration=None,
    keep=MemoryKeep(kinds={}, expired=timedelta(days=30)),
)
_TESSERACT_SECONDS = 10


def silent(_: str) -> None:
    """Tell nobody."""


def load_local(loaded: Loaded, tell: Tell) -> LocalE5:
    """Load the local model: the embedder by default, and always the tokenizer and the encoder of
    token states, so that ranking and quoting do not depend on a provider."""
    return LocalE5.load(model_files(loaded, tell), threads=loaded.settings.models.threads)


def model_files(loaded: Loaded, tell: Tell = silent) -> ModelFiles:
    """Return the local model's files: those of the settings' folder, else our own, which are made
    at first. Raises: ModelUnusable."""
    folder = loaded.settings.models.folder
    if folder is not None:
        return open_model(folder)
    return ensure_model(loaded.home / "models" / "multilingual-e5-small", progress=tell)


def language_model(settings: Settings) -> PydanticAiModel | None:
    name = settings.models.language
    if not name:
        return None
    key, address = _credentials(settings, name)
    return make_language_model(name, api_key=key, base_url=address)


async def open_remote(settings: Settings, name: str) -> RemoteEmbedder:
    key, address = _credentials(settings, name)
    return await open_embedder(name, BpeCounter(), api_key=key, base_url=address)


def _credentials(settings: Settings, name: str) -> tuple[str | None, str | None]:
    """Return the key and the address that the settings hold for a `provider:model`."""
    provider, _ = split_name(name)
    providers = settings.providers
    key = {
        "openai": providers.openai_api_key,
        "anthropic": providers.anthropic_api_key,
    }.get(provider)
    address = providers.openai_base_url if provider == "openai" else None
    return (key.get_secret_value() if key else None), address


async def close_models(
    local: asyncio.Task[LocalE5], written: asyncio.Task[PydanticAiModel | None]
) -> None:
    """Close what was opened, also where opening something else failed meanwhile."""
    await asyncio.wait({local, written})
    if not local.cancelled() and local.exception() is None:
        local.result().close()
    if not written.cancelled() and written.exception() is None:
        model = written.result()
        if model is not None:
            await model.aclose()


def recognition_languages(setting: str) -> str:
    """Return the languages of `ingest.ocr` as tesseract takes them, empty where it is off.

    Raises: InvalidSetting where there is no tesseract, or not the language.
    """
    if setting == "off":
        return ""
    try:
        told = subprocess.run(
            ["tesseract", "--list-langs"],  # noqa: S607  # whichever one the system has
            capture_output=True, text=True, timeout=_TESSERACT_SECONDS, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise InvalidSetting(
            f"ingest.ocr is {setting}, but there is no tesseract",
            hint="install tesseract-ocr and its languages, or set it off",
        ) from error
    there = [name for name in told.stdout.splitlines()[1:] if name != "osd"]
    if setting == "auto":
        return "+".join(sorted(there))
    if missing := [name for name in setting.split("+") if name not in there]:
        raise InvalidSetting(
            f"tesseract has no language {missing[0]}", hint=f"it has {', '.join(there)}"
        )
    return setting


def chunking_rules(settings: Settings, window: int) -> ChunkingRules:
    """Return the rules by which documents are divided; `window` is the most tokens of a chunk.

    Raises: InvalidSetting.
    """
    chunking = settings.chunking
    return ChunkingRules(
        _rule(chunking),
        window=window,
        collections={name: _rule(rule) for name, rule in chunking.collections.items()},
        types={name: _rule(rule) for name, rule in chunking.types.items()},
    )


def _rule(rule: ChunkingRuleSettings) -> ChunkingRule:
    return ChunkingRule(
        strategy=rule.strategy, size=rule.size, overlap=rule.overlap, section=rule.section
    )


def open_reranker(settings: Settings) -> HttpReranker | CrossEncoder | None:
    """Return what reranks behind late interaction, None where nothing does.

    Raises: InvalidSetting; ModelUnusable for a file that cannot be used.
    """
    name, providers = settings.models.reranker, settings.providers
    if name in ("", MAXSIM):
        return None
    kind, rest = split_reranker(name)
    if kind == "file":
        return CrossEncoder.load(Path(rest).expanduser(), threads=settings.models.threads)
    key, address = {
        "cohere": (providers.cohere_api_key, providers.cohere_base_url),
        "jina": (providers.jina_api_key, providers.jina_base_url),
    }.get(kind, (providers.reranker_api_key, None))
    return make_http_reranker(
        name, api_key=key.get_secret_value() if key else None, base_url=address
    )


def search_rules(settings: Settings, reranker: Reranker | None = None) -> SearchRules:
    """Return how the settings say to search, with the reranker that they name.

    Raises: InvalidSetting, where a language model is to add to queries and there is none.
    """
    search = settings.search
    if search.queries in ("multi", "hyde") and not settings.models.language:
        raise InvalidSetting(
            f"search.queries is {search.queries}, but there is no language model",
            hint="set models.language, or search.queries to decompose or nothing",
        )
    fusion = Fusion(method=search.fusion, k=search.fusion_k, dense_weight=search.dense_weight)
    names = frozenset(name.strip() for name in search.filter_keys.split(","))
    return SearchRules(
        ranking=Ranking(
            fusion=fusion,
            rerank=bool(settings.models.reranker),
            leg_seconds=search.leg_seconds,
            reranker=MAXSIM if reranker is None else reranker.name,
            rerank_first=search.rerank_first,
            rerank_lead=search.rerank_lead,
            per_document=search.per_document,
        ),
        exact_below=search.exact_below,
        filter_keys=names - {""},
        queries=search.queries,
        query_seconds=search.query_seconds,
    )


def answer_rules(settings: Settings) -> AnswerRules:
    """Return how the settings say to answer."""
    return AnswerRules(
        temperature=settings.answer.temperature,
        show_unsupported=settings.answer.show_unsupported,
        best_at_ends=settings.answer.best_at_ends,
    )


def reuse_rules(settings: Settings) -> ReuseRules | None:
    """Return how the settings let answers be given again, None where they do not."""
    cache = settings.cache
    if not cache.answers:
        return None
    names = frozenset(name.strip() for name in cache.semantic_collections.split(",")) - {""}
    shared = SharedRules(
        collections=names,
        least=cache.semantic_cosine,
        lasts=timedelta(minutes=cache.semantic_minutes),
        most=cache.semantic_answers,
    )
    return ReuseRules(
        lasts=timedelta(minutes=cache.answer_minutes),
        most=cache.answers_of_one,
        settings=hashlib.sha256(settings.model_dump_json().encode()).hexdigest(),
        shared=shared if names else None,
    )


def memory_rules(settings: Settings, space: EmbeddingSpace) -> MemoryRules:
    """Return the rules of recall in an embedding space; a setting wins over the space's own."""
    memory, own = settings.memory, calibration_of(space)
    calibration = Calibration(
        low=own.low if memory.cosine_low is None else memory.cosine_low,
        width=own.width if memory.cosine_width is None else memory.cosine_width,
    )
    return MemoryRules(
        floor=memory.floor,
        seconds=memory.seconds,
        calibration=calibration,
        keep=memory_keep(settings),
    )


def calibration_of(space: EmbeddingSpace) -> Calibration:
    """Return how cosines of a space become 0..1."""
    return E5_SMALL if space.model == MODEL_NAME else WHOLE_RANGE


def keep_rules(settings: Settings) -> Keep:
    """Return how long each thing is kept."""
    retention = settings.retention
    return Keep(
        revisions=_days(retention.revisions_days),
        changes=_days(retention.changes_days),
        traces=_days(retention.traces_days),
        generations=_days(retention.index_days),
    )


def memory_keep(settings: Settings) -> MemoryKeep:
    """Return how long memories of each kind are kept."""
    retention = settings.retention
    days = {kind: getattr(retention.memories_days, kind) for kind in KINDS}
    return MemoryKeep(
        kinds={kind: timedelta(days=number) for kind, number in days.items() if number},
        expired=timedelta(days=retention.expired_days),
    )


def _days(number: int) -> timedelta | None:
    return timedelta(days=number) if number else None
