"""Where does each value come from, and which keys do not exist?"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import platformdirs
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from vademecum import failpoint
from vademecum.errors import InvalidSetting, UnknownSetting
from vademecum.settings.tree import Settings

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
    "COHERE_API_KEY": "providers.cohere_api_key",
    "JINA_API_KEY": "providers.jina_api_key",
    "LOG_LEVEL": "log.level",
}


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
        if get_origin(inner) is dict and get_args(inner)[1] is float:
            yield f"{prefix}{name}.*", info.description or ""
        elif get_origin(inner) is dict:
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
    said = str(first["msg"])
    return InvalidSetting(
        # Only its first letter: a pattern in it means something else in small letters.
        f"the setting {key} (from {origin}) is not valid: {said[:1].lower()}{said[1:]}",
        hint=dict(keys()).get(key, ""),
    )
