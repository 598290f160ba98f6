"""What can be set? Every key with its default, its limits and what it does."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from vademecum.model.index import EXACT_BELOW
from vademecum.model.query import Queries
from vademecum.rank.blend import MAXSIM, RERANK_FIRST, RERANK_LEAD
from vademecum.rank.fuse import DENSE_WEIGHT, Method
from vademecum.rank.memory import FLOOR

LOCAL_E5 = "local:multilingual-e5-small"


class _Section(BaseModel):
    # A refused value may be a secret in the wrong place.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class DatabaseSettings(_Section):
    url: SecretStr | None = Field(default=None, description="the server; empty = the embedded one")
    owner_url: SecretStr | None = Field(
        default=None, description="another login that owns the schema"
    )
    pool_size: int = Field(default=10, ge=2, le=100, description="most connections of one process")


class ModelsSettings(_Section):
    language: str = Field(
        default="", description="provider:model for generated answers; empty = quote"
    )
    embedding: str = Field(default=LOCAL_E5, description="provider:model of the vectors")
    embedding_price: float | None = Field(
        default=None, ge=0, description="what a million tokens cost there, for estimates"
    )
    reranker: str = Field(
        default=MAXSIM,
        pattern=rf"^(|{MAXSIM}|(cohere|jina):\S+|(http:)?https?://[^\s@?]+|file:.+)$",
        description="what orders the best candidates; empty = nothing; behind local:maxsim also "
        "cohere:NAME, jina:NAME, a URL like http://localhost:8000/v1#NAME or file:PATH of a "
        "cross-encoder",
    )
    folder: Annotated[Path, AfterValidator(Path.expanduser)] | None = Field(
        default=None, description="a folder with model.onnx and tokenizer.json"
    )
    threads: int | None = Field(
        default=None, ge=1, le=256, description="processor threads for models"
    )


class ProvidersSettings(_Section):
    openai_api_key: SecretStr | None = Field(
        default=None, description="key of the OpenAI-compatible API"
    )
    openai_base_url: str | None = Field(default=None, description="its address, for other servers")
    anthropic_api_key: SecretStr | None = Field(
        default=None, description="key of the Anthropic API"
    )
    cohere_api_key: SecretStr | None = Field(default=None, description="key of Cohere's reranker")
    cohere_base_url: str | None = Field(default=None, description="its address, for other servers")
    jina_api_key: SecretStr | None = Field(default=None, description="key of Jina's reranker")
    jina_base_url: str | None = Field(default=None, description="its address, for other servers")
    reranker_api_key: SecretStr | None = Field(
        default=None, description="key of the reranker at a URL"
    )


class ChunkingRuleSettings(_Section):
    strategy: str | None = Field(
        default=None,
        pattern="^(structure|fixed|recursive|semantic|parent)$",
        description="how text is divided: structure (default), fixed, recursive, semantic, parent",
    )
    size: int | None = Field(
        default=None,
        ge=8,
        le=4000,
        description="most tokens of a chunk; empty: 200, 800 for fixed, 100 for parent",
    )
    overlap: int | None = Field(
        default=None, ge=0, le=4000, description="tokens that two fixed chunks share"
    )
    section: int | None = Field(
        default=None,
        ge=8,
        le=16000,
        description="most tokens of the section that answers for its parent chunks; empty: 4 times"
        " their size",
    )


class ChunkingSettings(ChunkingRuleSettings):
    collections: dict[str, ChunkingRuleSettings] = Field(default_factory=dict)
    types: dict[str, ChunkingRuleSettings] = Field(default_factory=dict)


class IngestSettings(_Section):
    ocr: str = Field(
        default="off",
        pattern=r"^(off|auto|[a-zA-Z_]+(\+[a-zA-Z_]+)*)$",
        description="read pages without text by tesseract: off, auto (every language that it has) "
        "or its names of languages, like por+eng",
    )
    allow_networks: str = Field(
        default="",
        description="inside networks that a URL may reach, like 10.1.0.0/16",
    )


class SearchSettings(_Section):
    fusion: Method = Field(default="upper_bound", description="how the two legs become one order")
    fusion_k: int | None = Field(
        default=None, ge=0, description="k of reciprocal ranks; empty = the method's own"
    )
    dense_weight: float = Field(
        default=DENSE_WEIGHT, ge=0, le=1, description="share of the dense leg; the rest is words"
    )
    leg_seconds: float = Field(
        default=5.0, gt=0, le=60, description="after this the other leg answers alone"
    )
    rerank_first: int = Field(
        default=RERANK_FIRST,
        ge=2,
        le=100,
        description="so many of the best are given to a reranker behind local:maxsim",
    )
    rerank_lead: float = Field(
        default=RERANK_LEAD,
        gt=0,
        le=100,
        description="it is asked only where the best leads the second by fewer standard deviations",
    )
    per_document: int = Field(
        default=0, ge=0, le=100, description="most passages of one document; 0 = any number"
    )
    exact_below: int = Field(
        default=EXACT_BELOW, ge=0, description="up to so many chunks are compared one by one"
    )
    queries: Queries = Field(
        default="",
        description="what a language model adds to a search: multi (other wordings), hyde (a "
        "passage that would answer), decompose (the questions in it); empty = nothing",
    )
    query_seconds: float = Field(
        default=6.0, gt=0, le=60, description="after this what was typed is searched alone"
    )
    filter_keys: str = Field(
        default="",
        description="metadata that filters may ask about, like venue,season; empty = all",
    )


class AnswerSettings(_Section):
    temperature: float | None = Field(
        default=0.7, ge=0, le=2, description="sent where the model takes one"
    )
    show_unsupported: bool = Field(
        default=False, description="show, marked, what no source supports"
    )
    best_at_ends: bool = Field(
        default=False,
        description="give a language model the best sources first and last, not best first",
    )


class CacheSettings(_Section):
    answers: bool = Field(
        default=True,
        description="give an answer again to the same question of the same principal, as long as "
        "no document changed",
    )
    answer_minutes: float = Field(
        default=60.0, gt=0, le=10_080, description="how long an answer may be given again"
    )
    answers_of_one: int = Field(
        default=1_000, ge=1, le=100_000, description="answers kept of one principal"
    )
    semantic_collections: str = Field(
        default="",
        description="collections that everyone of the tenant may read, like faq,rules, in which an "
        "answer is given again to another wording, whoever asks; empty = none",
    )
    semantic_cosine: float = Field(
        default=0.95, ge=0.9, le=1, description="how near the questions must be, at least"
    )
    semantic_minutes: float = Field(
        default=60.0, gt=0, le=10_080, description="how long such an answer may be given again"
    )
    semantic_answers: int = Field(
        default=10_000, ge=1, le=10_000, description="such answers kept of one tenant"
    )


class MemorySettings(_Section):
    floor: float = Field(
        default=FLOOR, ge=0, le=1, description="least similarity of a memory that is recalled"
    )
    cosine_low: float | None = Field(
        default=None, ge=-1, le=1, description="cosine that counts as 0; empty = the model's own"
    )
    cosine_width: float | None = Field(
        default=None, gt=0, le=2, description="how far above it 1 is; empty = the model's own"
    )
    seconds: float = Field(
        default=2.0,
        gt=0,
        le=60,
        description="an answer waits so long for memories after its search",
    )


class MemoryDays(_Section):
    profile_fact: int = Field(default=0, ge=0, description="days since last touched; 0 = ever")
    preference: int = Field(default=0, ge=0, description="days since last touched; 0 = ever")
    boundary: int = Field(default=0, ge=0, description="days since last touched; 0 = ever")
    relationship: int = Field(default=0, ge=0, description="days since last touched; 0 = ever")
    episodic_event: int = Field(default=0, ge=0, description="days since last touched; 0 = ever")
    task: int = Field(default=0, ge=0, description="days since last touched; 0 = ever")


class ConversationSettings(_Section):
    session_hours: float = Field(
        default=2.0, gt=0, le=8760, description="idle hours after which a session is over"
    )


class RetentionSettings(_Section):
    revisions_days: int = Field(
        default=400, ge=0, description="how long old revisions stay, with their originals; 0 = ever"
    )
    changes_days: int = Field(
        default=30, ge=0, description="how long events of the outbox stay; 0 = ever"
    )
    traces_days: int = Field(
        default=90, ge=0, description="how long traces of searches and answers stay; 0 = ever"
    )
    expired_days: int = Field(
        default=30, ge=0, description="how long expired memories stay for --as-of; 0 = not at all"
    )
    index_days: int = Field(
        default=7,
        ge=0,
        description="how long the build of the index before a switch can be gone back to; 0 = ever",
    )
    memories_days: MemoryDays = MemoryDays()


class ServerSettings(_Section):
    host: str = Field(default="127.0.0.1", description="the address to listen on")
    port: int = Field(default=8080, ge=0, le=65535, description="its port; 0 = any that is free")
    hosts: str = Field(
        default="",
        description="names by which it may be called, like ask.example.org; empty = this machine's",
    )
    proxies: str = Field(
        default="",
        description="addresses of proxies whose word on caller and https counts, like 10.0.0.2",
    )
    session_hours: float = Field(
        default=12.0, gt=0, le=720, description="hours after which a browser signs in again"
    )
    grace_seconds: float = Field(
        default=20.0, ge=0, le=600, description="how long answers may go on when it is stopped"
    )


class OidcClaims(_Section):
    principal: str = Field(default="sub", description="the claim that names the person")
    labels: str = Field(default="groups", description="the claim with their groups; empty = none")
    tenant: str = Field(default="", description="the claim with their tenant; empty = the one set")


class OidcSettings(_Section):
    issuer: str = Field(default="", description="the address of the issuer; empty = off")
    client_id: str = Field(default="", description="the name by which it knows this server")
    client_secret: SecretStr | None = Field(
        default=None, description="the secret that goes with it"
    )
    claims: OidcClaims = OidcClaims()
    tenant: str = Field(default="default", description="whose data, without a claim")
    scopes: str = Field(default="read,memory", description="what whoever signs in may do")
    operators: str = Field(
        default="", description="the label whose holders are operators; empty = nobody"
    )


class AuthSettings(_Section):
    oidc: OidcSettings = OidcSettings()


class LimitsSettings(_Section):
    requests_per_minute: int = Field(
        default=60, ge=1, description="searches, questions and changes of one key"
    )
    reads_per_minute: int = Field(default=600, ge=1, description="what one key only looks at")
    uploads_per_hour: int = Field(default=20, ge=1, description="uploads of one key")
    streams: int = Field(default=2, ge=1, description="answers of one key at the same time")
    tokens_per_day: int = Field(
        default=0, ge=0, description="tokens of language models that one key has a day; 0 = any"
    )
    cost_per_day: float = Field(
        default=0.0, ge=0, description="money that one key has a day; 0 = any"
    )
    tenant_tokens_per_day: int = Field(
        default=0, ge=0, description="tokens that all keys of a tenant have together; 0 = any"
    )
    tenant_cost_per_day: float = Field(
        default=0.0, ge=0, description="money that all keys of a tenant have together; 0 = any"
    )
    prompt_price: float = Field(
        default=0.0, ge=0, description="what a million tokens of prompts cost"
    )
    completion_price: float = Field(
        default=0.0, ge=0, description="what a million tokens of answers cost"
    )
    answer_seconds: float = Field(
        default=300.0, gt=0, le=3600, description="the longest that one answer may take"
    )
    idle_seconds: float = Field(
        default=60.0, gt=0, le=3600, description="the longest that an answer may be silent"
    )


class EvaluationSettings(_Section):
    gates: dict[str, float] = Field(
        default_factory=dict,
        description="least value of a metric in `vade eval run`, of wrongly_refused the most",
    )


class LogSettings(_Section):
    level: str = Field(
        default="warning",
        pattern="(?i)^(debug|info|warning|warn|error|critical|fatal)$",
        description="least level of what is logged to stderr",
    )


class Settings(_Section):
    """The whole tree. Every key has a default; `origins` tells where each value came from."""

    database: DatabaseSettings = DatabaseSettings()
    models: ModelsSettings = ModelsSettings()
    providers: ProvidersSettings = ProvidersSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    ingest: IngestSettings = IngestSettings()
    search: SearchSettings = SearchSettings()
    answer: AnswerSettings = AnswerSettings()
    cache: CacheSettings = CacheSettings()
    memory: MemorySettings = MemorySettings()
    conversation: ConversationSettings = ConversationSettings()
    retention: RetentionSettings = RetentionSettings()
    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    limits: LimitsSettings = LimitsSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    log: LogSettings = LogSettings()
