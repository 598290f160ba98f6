"""Which bodies do programs send that were made for other servers?

What we do not use is left, as their own servers leave it; what we use is checked. A name of a user
in a body never says who asks: the key does.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from vademecum.errors import UsageError
from vademecum.server.forms import Name, Text

_MOST_MESSAGES = 2_000
_LONG = StringConstraints(max_length=200_000)


class Lenient(BaseModel):
    """A body that may hold more than we read."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class Part(Lenient):
    """A piece of a message; only text is read."""

    type: str
    text: Annotated[str, _LONG] = ""


class Message(Lenient):
    """One message, of whoever. Those of the system are left: our own rules stand there."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[str, _LONG] | list[Part] | None = None

    @property
    def said(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class StreamOptions(Lenient):
    """What a stream brings beside the answer."""

    include_usage: bool = False


class Extra(Lenient):
    """What programs that know us may add: a stored conversation instead of the sent messages."""

    conversation_id: UUID | None = None
    persona: Name | None = None


class ChatForm(Lenient):
    """A chat, as the OpenAI API takes it. `model` names a collection, or all of them."""

    model: Name
    messages: list[Message] = Field(min_length=1, max_length=_MOST_MESSAGES)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    vademecum: Extra = Extra()

    def question(self) -> str:
        """Return the last message, which must be the user's. Raises: UsageError."""
        last = self.messages[-1]
        if last.role != "user" or not last.said.strip():
            raise UsageError("the last message is no question", hint="end with role `user`")
        if self.n not in (None, 1):
            raise UsageError("n is more than 1", hint="ask once more instead")
        return last.said


class EmbeddingForm(Lenient):
    """Texts to embed; `input_type` says what for: other than passages, questions get their own
    prefix."""

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=256)]
    model: str = ""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    input_type: str = "passage"

    @property
    def texts(self) -> list[str]:
        return [self.input] if isinstance(self.input, str) else self.input


class RerankForm(Lenient):
    """Texts to order by a query, as Cohere and Jina take it. Without a word on `return_documents`
    each has its own default, which the route knows."""

    query: Text
    documents: list[Annotated[str, _LONG] | dict[str, Any]] = Field(max_length=256)
    model: str = ""
    top_n: int | None = Field(default=None, ge=0)
    return_documents: bool | None = None

    def texts(self) -> list[str]:
        return [d if isinstance(d, str) else str(d.get("text", "")) for d in self.documents]


class RetrievalSetting(Lenient):
    """How many records, of which score at least."""

    top_k: int = Field(default=5, ge=1, le=100)
    score_threshold: float = 0.0


class Condition(Lenient):
    """One condition on metadata, of Dify's words."""

    name: str | list[str]
    comparison_operator: str
    value: str | int | float | bool | list[str] | None = None


class MetadataCondition(Lenient):
    """Conditions that hold all, or one of them."""

    logical_operator: Literal["and", "or"] = "and"
    conditions: list[Condition] = Field(default_factory=list, max_length=50)


class RetrievalForm(Lenient):
    """A search, as Dify asks external knowledge. `knowledge_id` names a collection, or all."""

    knowledge_id: Name
    query: Text
    retrieval_setting: RetrievalSetting = RetrievalSetting()
    metadata_condition: MetadataCondition | None = None
