"""Which bodies may a request have? Checked before anything is done with them."""

from dataclasses import replace
from datetime import date
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from vademecum.model.document import DEFAULT_COLLECTION
from vademecum.model.feedback import Reason, Verdict
from vademecum.model.filter import Filter, all_of
from vademecum.model.filter_json import parse_filter
from vademecum.model.memory import DEFAULT_PERSONA, Kind, Stage
from vademecum.model.query import Mode
from vademecum.model.serving.key import Permission
from vademecum.rank.fuse import Method
from vademecum.retrieve.fuse import Fusion
from vademecum.retrieve.pipeline import Ranking


def storable(text: str) -> str:
    """Return a name as it is; what no database can hold is none. Texts are cleaned instead."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("it holds a character that is none")
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000, pattern=r"\S")]
Short = Annotated[str, StringConstraints(min_length=1, max_length=2_000), AfterValidator(storable)]
Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200, pattern=r"\S"),
    AfterValidator(storable),
]
Scalar = str | int | float | bool | None


class Form(BaseModel):
    """A body: an unknown key is an error, and is named."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Filtered(Form):
    """What narrows a search: collections, a day, and what must be so of a document."""

    collections: list[Name] | None = Field(default=None, max_length=100)
    where: dict[str, Scalar] | None = Field(default=None, max_length=100)
    filter: dict[str, Any] | None = None
    as_of: date | None = None

    def wanted(self) -> Filter | None:
        """Return the filter that `where` and `filter` are together. Raises: InvalidFilter."""
        pairs = [parse_filter({"eq": [key, value]}) for key, value in (self.where or {}).items()]
        given = [parse_filter(self.filter)] if self.filter is not None else []
        return all_of([*given, *pairs])

    def among(self) -> frozenset[str] | None:
        return frozenset(self.collections) if self.collections else None


class SearchForm(Filtered):
    """What is looked for; `k` passages at most."""

    query: Text
    k: int = Field(default=5, ge=0, le=1000)
    mode: Mode = "hybrid"


class AskForm(Filtered):
    """A question. `again` answers the last question of `conversation_id` once more."""

    question: Text
    conversation_id: UUID | None = None
    persona: Name | None = None
    stage: Stage | None = None
    temporary: bool = False
    zone: Annotated[str, StringConstraints(max_length=64)] = ""
    again: bool = False
    stream: bool = False


class ReplayForm(Form):
    """How it would be ranked; only an operator may try another way than that of the settings."""

    fusion: Method | None = None
    fusion_k: int | None = Field(default=None, ge=0, le=10_000)
    dense_weight: float | None = Field(default=None, ge=0, le=1)
    rerank: bool | None = None

    def over(self, ranking: Ranking) -> Ranking | None:
        """Return a ranking with what the form says changed, None where it says nothing."""
        own = ranking.fusion
        fusion = Fusion(
            method=own.method if self.fusion is None else self.fusion,
            k=own.k if self.fusion_k is None else self.fusion_k,
            dense_weight=own.dense_weight if self.dense_weight is None else self.dense_weight,
        )
        rerank = ranking.rerank if self.rerank is None else self.rerank
        wanted = replace(ranking, fusion=fusion, rerank=rerank)
        return None if wanted == ranking else wanted


NO_REPLAY_FORM = ReplayForm()


class RememberForm(Form):
    """One statement of whoever asks; `client` names the program that says it for them, and then it
    waits for their word."""

    text: Text
    persona: Name = DEFAULT_PERSONA
    kind: Kind | None = None
    importance: float | None = Field(default=None, ge=0, le=1)
    pinned: bool = False
    expires_at: AwareDatetime | None = None
    client: Name | None = None


class EditForm(Form):
    """What is to be changed of a memory; at least one of it."""

    text: Text | None = None
    kind: Kind | None = None
    importance: float | None = Field(default=None, ge=0, le=1)
    expires_at: AwareDatetime | None = None
    pinned: bool | None = None


class SwitchForm(Form):
    """Whether anything is to be remembered of whoever sends this."""

    remembers: bool


class RecallForm(Form):
    """The message that memories may matter for."""

    text: Text
    conversation_id: UUID | None = None
    persona: Name = DEFAULT_PERSONA
    stage: Stage | None = None
    as_of: date | None = None


class DocumentForm(Form):
    """A document as text. `version` is the source's own count of it."""

    uri: Short
    text: Annotated[str, StringConstraints(max_length=20_000_000)]
    collection: Name = DEFAULT_COLLECTION
    access: list[Name] | None = Field(default=None, max_length=64)
    metadata: dict[str, Scalar] = Field(default_factory=dict, max_length=100)
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")] | None = None
    title: Short | None = None
    version: int | None = Field(default=None, ge=0, le=2**63 - 1)
    chunker: Name | None = None
    wait: bool = False


class KeyForm(Form):
    """Whom a new key stands for, and what it may."""

    principal: Name
    labels: list[Name] = Field(default_factory=list, max_length=64)
    scopes: list[Permission] = Field(min_length=1)
    expires_at: AwareDatetime | None = None


class PurgeForm(Form):
    """Whom to forget: oneself, or as the operator somebody of the tenant."""

    principal: Name | None = None
    dry_run: bool = False


class FeedbackForm(Form):
    """What somebody thinks of the answer of a trace."""

    trace_id: UUID
    verdict: Verdict
    reason: Reason = ""
    note: Annotated[str, StringConstraints(max_length=2_000), AfterValidator(storable)] = ""
