"""How is a model provider named and reached, and what is said where it fails?"""

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, urlsplit

from vademecum.errors import InvalidSetting, PromptTooLong, ProviderAway

if TYPE_CHECKING:
    from openai import AsyncOpenAI

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 60.0
# A provider that asks for a longer wait is not waited for.
LONGEST_WAIT_SECONDS = 5.0
_FIRST_WAIT_SECONDS = 0.5

_DEFAULT_ADDRESS = {
    "openai": "https://api.openai.com/v1",
    "ollama": "http://localhost:11434/v1",
    "anthropic": "https://api.anthropic.com",
}
KEY_SETTING = {
    "openai": "OPENAI_API_KEY (providers.openai_api_key)",
    "anthropic": "ANTHROPIC_API_KEY (providers.anthropic_api_key)",
    "ollama": "the key",
    "cohere": "COHERE_API_KEY (providers.cohere_api_key)",
    "jina": "JINA_API_KEY (providers.jina_api_key)",
    "http": "providers.reranker_api_key",
}
# The clients refuse to start without a key; a local server does not look at it.
_NO_KEY = "no-key"
# These write addresses, and with them what stands in their query, at level INFO and prompts at
# DEBUG: neither belongs into a log.
_TALKATIVE = ("openai", "anthropic", "httpx", "httpx2", "httpcore", "httpcore2")

Kind = Literal[
    "away", "timeout", "cut", "unreadable", "empty",
    "key", "credit", "model", "busy", "failing", "long", "refused",
]  # fmt: skip
_BY_STATUS: dict[int, Kind] = {401: "key", 403: "key", 402: "credit", 404: "model", 429: "busy"}
_PASSING: frozenset[Kind] = frozenset({"away", "busy", "failing"})
# What is said, and what to do about it.
_WORDS: dict[Kind, tuple[str, str]] = {
    "away": ("cannot be reached", "Check its address and that the server runs"),
    "timeout": ("was silent for {idle:g} s", "Try again, or choose a faster model"),
    "cut": ("broke off its reply", "Try again"),
    "unreadable": ("sent a reply that cannot be read", "Check that the address is right"),
    "empty": ("sent an empty reply", "Try again, or choose another model"),
    "key": ("refused the key (status {status})", "Check {key}"),
    "credit": ("says that the account has no credit left", "Check the account"),
    "model": ("does not know the model {model}", "Check its name and the address"),
    "busy": ("has too many requests (status {status})", "Wait {wait} and try again"),
    "failing": ("is failing (status {status})", "Wait a while and try again"),
    "long": ("finds the text too long", "Choose a model with a larger window"),
    "refused": ("refused the request (status {status})", "Check the model's name"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One model at one provider. `address` may hold a secret and is never shown; `place` may."""

    kind: str
    model: str
    address: str = field(repr=False)
    key: str = field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.model}"

    @property
    def place(self) -> str:
        """The provider with its host and port, for messages."""
        parts = urlsplit(self.address)
        port = f":{parts.port}" if parts.port else ""
        return f"{self.kind} at {parts.hostname}{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a request failed, in words of ours: the library's own hold addresses and bodies.

    `wait` is the number of seconds that the provider asked to wait, None where it did not.
    """

    kind: Kind
    status: int | None = None
    wait: float | None = None

    @classmethod
    def of_status(
        cls, status: int, *, wait: float | None, out_of_credit: bool, too_long: bool
    ) -> "Trouble":
        """Return the trouble that an HTTP status stands for."""
        kind: Kind = _BY_STATUS.get(status, "failing" if status >= 500 else "refused")
        if out_of_credit or too_long:
            kind = "credit" if out_of_credit else "long"
        return cls(kind=kind, status=status, wait=wait)

    @property
    def retry_after(self) -> float | None:
        """Return how many seconds to wait before a second try, None where there is none."""
        if self.kind not in _PASSING or (self.wait or 0.0) > LONGEST_WAIT_SECONDS:
            return None
        return _FIRST_WAIT_SECONDS if self.wait is None else self.wait

    def error(self, provider: Provider, idle_seconds: float) -> ProviderAway:
        """Return the one line that a person reads."""
        facts = {
            "idle": idle_seconds,
            "status": self.status,
            "model": provider.model,
            "key": KEY_SETTING[provider.kind],
            "wait": "a while" if self.wait is None else f"{self.wait:g} s",
        }
        said, hint = _WORDS[self.kind]
        kind = PromptTooLong if self.kind == "long" else ProviderAway
        return kind(f"{provider.place} {said.format_map(facts)}", hint=hint.format_map(facts))


def split_name(name: str) -> tuple[str, str]:
    """Return (provider, model) of `provider:model`. Raises: InvalidSetting."""
    kind, _, model = name.partition(":")
    if kind not in _DEFAULT_ADDRESS or not model.strip():
        known = ", ".join(f"{kind}:NAME" for kind in sorted(_DEFAULT_ADDRESS))
        raise InvalidSetting(f"{name!r} names no model of a known provider", hint=f"Use {known}")
    return kind, model.strip()


def find_provider(name: str, *, api_key: str | None, base_url: str | None) -> Provider:
    """Return where `provider:model` is, at `base_url` or at its usual address.

    Raises: InvalidSetting where the name or the address is not valid, or a needed key is missing.
    """
    kind, model = split_name(name)
    if not api_key and kind != "ollama" and not base_url:
        raise InvalidSetting(f"{kind} needs a key", hint=f"Set {KEY_SETTING[kind]}")
    address = base_url or _DEFAULT_ADDRESS[kind]
    split_address(address, kind)
    return Provider(kind=kind, model=model, address=address, key=api_key or _NO_KEY)


def split_address(address: str, whose: str) -> SplitResult:
    """Return the parts of an address, http or https. Raises: InvalidSetting, which names `whose` it
    is and not the address: that may hold a key."""
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InvalidSetting(
            f"the address of {whose} is not an http or https address",
            hint="Give one like http://localhost:8000/v1",
        )
    return parts


def open_client(
    provider: Provider, *, connect_seconds: float, idle_seconds: float
) -> "AsyncOpenAI":
    """Return a client that tries once and whose library writes no logs."""
    # A second of import that a process which never asks a provider must not pay.
    from openai import AsyncOpenAI, Timeout

    quieten()
    return AsyncOpenAI(
        api_key=provider.key,
        base_url=provider.address,
        timeout=Timeout(idle_seconds, connect=connect_seconds),
        max_retries=0,
    )


def retry_seconds(header: str | None) -> float | None:
    """Return the wait that a `Retry-After` in seconds tells of, None where there is none."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None


def sendable(text: str) -> str:
    """Return the text with `?` for each lone surrogate, which no request can carry."""
    return text.encode("utf-8", "replace").decode()


def quieten() -> None:
    """Keep the client libraries from logging what they send and where."""
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
