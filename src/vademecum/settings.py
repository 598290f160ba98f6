"""What can be set, where does each value come from, and which keys do not exist?"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import platformdirs
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from vademecum import failpoint
from vademecum.errors import InvalidSetting, UnknownSetting
from vademecum.model.index import EXACT_BELOW
from vademecum.rank.fuse import DENSE_WEIGHT, Method
from vademecum.rank.memory import FLOOR

LOCAL_E5 = "local:multilingual-e5-small"
FILE_NAME = "vademecum.toml"
ROOT_HOME = Path("/var/lib/vademecum")
_PREFIX = "VADE_"
# Read by other means: no setting of the tree, since it says where the settings file may lie.
_NOT_SETTINGS = {"VADE_HOME", failpoint.VARIABLE}
# Usual names of other programs, and where their value belongs in our tree.
USUAL = {
    "DATABASE_URL": "database.url",
    "DATABASE_OWNER_URL": "database.owner_url",
    "VADE_MODEL_DIR": "models.folder",
    "OPENAI_API_KEY": "providers.openai_api_key",
    "OPENAI_BASE_URL": "providers.openai_base_url",
    "ANTHROPIC_API_KEY": "providers.anthropic_api_key",
    "LOG_LEVEL": "log.level",
}


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
    reranker: Literal["", "local:maxsim"] = Field(
        default="local:maxsim", description="what orders the best candidates; empty = nothing"
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


class ChunkingRuleSettings(_Section):
    strategy: str | None = Field(
        default=None,
        pattern="^(structure|fixed|recursive)$",
        description="how text is divided: structure (default), fixed or recursive",
    )
    size: int | None = Field(
        default=None,
        ge=8,
        le=4000,
        description="most tokens of a chunk; empty: 200, 800 for fixed",
    )
    overlap: int | None = Field(
        default=None, ge=0, le=4000, description="tokens that two fixed chunks share"
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
    exact_below: int = Field(
        default=EXACT_BELOW, ge=0, description="up to so many chunks are compared one by one"
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
    memories_days: MemoryDays = MemoryDays()


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
    memory: MemorySettings = MemorySettings()
    conversation: ConversationSettings = ConversationSettings()
    retention: RetentionSettings = RetentionSettings()
    log: LogSettings = LogSettings()


class Loaded(BaseModel):
    """Settings, the data folder, and the origin of each key that is not a default."""

    model_config = ConfigDict(frozen=True)
    settings: Settings
    home: Path
    origins: dict[str, str]


def home_folder(environment: Mapping[str, str]) -> Path:
    """Return the data folder: VADE_HOME, or this platform's place for it."""
    if named := environment.get("VADE_HOME"):
        return Path(named).expanduser().absolute()
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return ROOT_HOME
    return Path(platformdirs.user_data_dir("vademecum"))


def load(
    *, config: Path | None, flags: Mapping[str, Any], environment: Mapping[str, str]
) -> Loaded:
    """Read the file, then the environment, then the flags; the later wins.

    `flags` maps dotted keys to values. Raises: UnknownSetting, InvalidSetting.
    """
    home = home_folder(environment)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, found in (
        *_from_file(config, home),
        ("environment", _from_environment(environment)),
        ("flag", {key: value for key, value in flags.items() if value is not None}),
    ):
        for key, value in found.items():
            # A value of the environment comes with the name of its variable.
            name, plain = value if origin == "environment" else (origin, value)
            if plain == {} and f"{key}." in _sections():
                continue  # a heading of the file with nothing under it
            _check_known(key, name)
            values[key] = plain
            origins[key] = name
    try:
        settings = Settings.model_validate(_nested(values))
    except ValidationError as error:
        raise _invalid(error, origins) from error
    if settings.database.owner_url and not settings.database.url:
        raise InvalidSetting(
            f"database.owner_url (from {origins['database.owner_url']}) needs database.url",
            hint="set DATABASE_URL too, or neither for the embedded server",
        )
    return Loaded(settings=settings, home=home, origins=origins)


def keys(section: type[BaseModel] = Settings, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted key, description) of every setting; `*` stands for any name."""
    for name, info in section.model_fields.items():
        inner = info.annotation
        if get_origin(inner) is dict:
            yield from keys(get_args(inner)[1], f"{prefix}{name}.*.")
        elif isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from keys(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", info.description or ""


def _fits(key: str, known: str) -> bool:
    parts, pattern = key.split("."), known.split(".")
    return len(parts) == len(pattern) and all(
        wanted in ("*", part) for part, wanted in zip(parts, pattern, strict=True)
    )


def _sections() -> set[str]:
    """Return the prefixes of all keys, each with its dot."""
    return {key[: at + 1] for key, _ in keys() for at, mark in enumerate(key) if mark == "."}


def shown(loaded: Loaded) -> Iterator[tuple[str, str, str]]:
    """Yield (key, value with secrets masked, origin) of every setting."""
    named = [key for known, _ in keys() for key in _present(known, loaded.origins)]
    for key in named:
        value: Any = loaded.settings
        for part in key.split("."):
            value = value[part] if isinstance(value, dict) else getattr(value, part)
        if isinstance(value, SecretStr):
            text = "********"
        else:
            text = "" if value is None else str(value)
        yield key, text, loaded.origins.get(key, "default")


def _present(known: str, origins: Mapping[str, str]) -> list[str]:
    """Return the key itself, or those with a name in the place of `*` that were set."""
    return [key for key in origins if _fits(key, known)] if "*" in known else [known]


def _from_file(config: Path | None, home: Path) -> list[tuple[str, dict[str, Any]]]:
    candidates = [config] if config else [Path(FILE_NAME), home / FILE_NAME]
    for path in candidates:
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            if config:
                raise InvalidSetting(
                    f"there is no settings file {path}", hint="check the path given to --config"
                ) from None
            continue
        except (
            PermissionError,
            NotADirectoryError,
            IsADirectoryError,
            UnicodeDecodeError,
        ) as error:
            if config is None and isinstance(error, PermissionError | NotADirectoryError):
                continue
            raise InvalidSetting(
                f"{path} cannot be read as a settings file", hint="give a readable TOML file"
            ) from error
        try:
            return [(str(path), dict(_flat(tomllib.loads(text), "")))]
        except tomllib.TOMLDecodeError as error:
            raise InvalidSetting(f"{path} is not valid TOML ({error})", hint="mend it") from error
    return []


def _flat(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _from_environment(environment: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return key -> (name of the variable, value). `NAME_FILE` names a file with the value.

    Our own name wins over the usual one, and of one name the value over the file.
    """
    found: dict[str, tuple[str, str]] = {}
    for name in sorted(environment, key=_weight):
        plain = name.removesuffix("_FILE")
        key, value = _key(plain), environment[name]
        if key is None or not value:
            continue
        if plain != name:
            _check_known(key, name)
            value = _secret(name, value)
        found[key] = (name, value)
    return found


def _weight(variable: str) -> tuple[bool, bool, str]:
    """Sort a variable that wins over another of the same key behind it."""
    plain = variable.removesuffix("_FILE")
    return plain not in USUAL, plain == variable, variable


def _key(variable: str) -> str | None:
    """Return the key that a variable sets, or None where it is none of ours."""
    if variable in USUAL:
        return USUAL[variable]
    if variable.startswith(_PREFIX) and variable not in _NOT_SETTINGS:
        return variable.removeprefix(_PREFIX).lower().replace("__", ".")
    return None


def _secret(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(
            f"the file named by {name} cannot be read", hint="check the path"
        ) from error


def _check_known(key: str, origin: str) -> None:
    known = [name for name, _ in keys()]
    if any(_fits(key, name) for name in known):
        return
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "`vade config show` lists every setting"
    raise UnknownSetting(f"unknown setting {key!r} (from {origin})", hint=hint)


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        place = tree
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    return tree


def _invalid(error: ValidationError, origins: Mapping[str, str]) -> InvalidSetting:
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(map(str, first["loc"]))
    origin = origins.get(key, "default")
    return InvalidSetting(
        f"the setting {key} (from {origin}) is not valid: {first['msg'].lower()}",
        hint=dict(keys()).get(key, ""),
    )
