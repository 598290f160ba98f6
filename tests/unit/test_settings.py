"""Does each setting come from where it should, and is a wrong one named without its value?"""

import os
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from settings_page import page

from vademecum.errors import InvalidSetting, UnknownSetting
from vademecum.settings import USUAL, Loaded, home_folder, keys, load, shown

SECRET = "sk-canary-1f9a"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def loaded(
    environment: Mapping[str, str] | None = None,
    *,
    file: str = "",
    flags: Mapping[str, Any] | None = None,
) -> Loaded:
    """Load with a settings file of this text in the working folder, or none."""
    if file:
        Path("vademecum.toml").write_text(file, encoding="utf-8")
    # An empty data folder, so that no file of this machine is found.
    environment = {"VADE_HOME": os.path.abspath("home")} | dict(environment or {})
    return load(config=None, flags=flags or {}, environment=environment)


def test_the_file_then_the_environment_then_flags() -> None:
    file = "[chunking]\nsize = 100\n[models]\nthreads = 2\nlanguage = 'openai:a'\n"
    environment = {"VADE_MODELS__THREADS": "3", "VADE_MODELS__LANGUAGE": "openai:b"}
    found = loaded(environment, file=file, flags={"models.language": "openai:c", "log.level": None})
    assert found.settings.chunking.size == 100
    assert found.settings.models.threads == 3
    assert found.settings.models.language == "openai:c"
    assert found.settings.answer.temperature == 0.7
    assert found.origins == {
        "chunking.size": "vademecum.toml",
        "models.threads": "VADE_MODELS__THREADS",
        "models.language": "flag",
    }


def test_one_file_is_read_the_named_before_the_folder_s_before_the_data_folder_s() -> None:
    home = Path("home")
    home.mkdir()
    (home / "vademecum.toml").write_text("[chunking]\nsize = 90\n", encoding="utf-8")
    assert loaded().settings.chunking.size == 90
    assert loaded(file="[models]\nthreads = 1\n").settings.chunking.size is None
    named = Path("named.toml")
    named.write_text("[chunking]\nsize = 70\n", encoding="utf-8")
    found = load(config=named, flags={}, environment={"VADE_HOME": str(home.absolute())})
    assert found.settings.chunking.size == 70
    assert found.settings.models.threads is None
    assert found.origins == {"chunking.size": "named.toml"}


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("DATABASE_URL", "database.url", "postgresql://db.example/x"),
        ("OPENAI_API_KEY", "providers.openai_api_key", "k"),
        ("OPENAI_BASE_URL", "providers.openai_base_url", "http://127.0.0.1:9/v1"),
        ("ANTHROPIC_API_KEY", "providers.anthropic_api_key", "k"),
        ("COHERE_API_KEY", "providers.cohere_api_key", "k"),
        ("JINA_API_KEY", "providers.jina_api_key", "k"),
        ("LOG_LEVEL", "log.level", "DEBUG"),
        ("VADE_MODEL_DIR", "models.folder", "/models/x"),
    ],
)
def test_usual_names_and_our_own_which_wins(name: str, key: str, value: str) -> None:
    assert USUAL[name] == key
    own = f"VADE_{key.upper().replace('.', '__')}"
    assert loaded({name: value}).origins == {key: name}
    assert loaded({own: value}).origins == {key: own}
    for both in ({name: "error", own: value}, {own: value, name: "error"}):
        found = loaded(both)
        assert found.origins == {key: own}
        section, field = key.split(".")
        got = getattr(getattr(found.settings, section), field)
        assert str(got.get_secret_value() if hasattr(got, "get_secret_value") else got) == value


@pytest.mark.parametrize(
    "name",
    ["", "local:maxsim", "cohere:rerank-v3.5", "jina:x", "http://localhost:8000/v1",
     "https://h/v1#m", "http:http://h/v1", "file:/models/cross encoder/model.onnx"],
)  # fmt: skip
def test_a_reranker_is_named(name: str) -> None:
    assert loaded(flags={"models.reranker": name}).settings.models.reranker == name


@pytest.mark.parametrize(
    "name",
    ["maxsim", "local:other", "cohere:", "voyage:x", "cohere:two words", "http:h", "ftp://h/v1",
     f"https://user:{SECRET}@h/v1", f"https://h/v1?key={SECRET}", "file:", "local:maxsim\n"],
)  # fmt: skip
def test_a_reranker_that_is_none_is_refused_without_what_it_holds(name: str) -> None:
    with pytest.raises(InvalidSetting, match=r"models\.reranker") as raised:
        loaded(flags={"models.reranker": name})
    assert SECRET not in "".join(traceback.format_exception(raised.value))


def test_the_owner_s_address_needs_the_server_s() -> None:
    urls = {"DATABASE_URL": "postgresql://a/x", "DATABASE_OWNER_URL": "postgresql://b/x"}
    found = loaded(urls).settings.database
    assert found.owner_url is not None
    assert found.owner_url.get_secret_value() == "postgresql://b/x"
    with pytest.raises(InvalidSetting, match=r"DATABASE_OWNER_URL\) needs database.url"):
        loaded({"DATABASE_OWNER_URL": "postgresql://b/x"})


def test_an_empty_variable_sets_nothing() -> None:
    assert loaded({"OPENAI_API_KEY": "", "VADE_LOG__LEVEL": ""}).origins == {}


def test_a_secret_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(f"{SECRET}\n", encoding="utf-8")
    for name in ("OPENAI_API_KEY", "VADE_PROVIDERS__OPENAI_API_KEY"):
        found = loaded({f"{name}_FILE": str(path)})
        key = found.settings.providers.openai_api_key
        assert key is not None
        assert key.get_secret_value() == SECRET
        assert found.origins == {"providers.openai_api_key": f"{name}_FILE"}
        both = loaded({f"{name}_FILE": str(path), name: "the value itself"})
        assert both.origins == {"providers.openai_api_key": name}
    with pytest.raises(InvalidSetting, match="OPENAI_API_KEY_FILE cannot be read"):
        loaded({"OPENAI_API_KEY_FILE": str(tmp_path / "none")})
    with pytest.raises(UnknownSetting, match=r"providers\.opnai"):
        loaded({"VADE_PROVIDERS__OPNAI_FILE": str(tmp_path / "none")})


@pytest.mark.parametrize(
    ("file", "key", "near"),
    [
        ("langage = 1", "langage", ""),
        ("[models]\nlangage = 1", "models.langage", "models.language"),
        ("[answer.deep]\ntemperature = 1", "answer.deep.temperature", "answer.temperature"),
        ("[models.language]\nx = 1", "models.language.x", "models.language"),
        ("database = 5", "database", ""),
        ("[nothing]", "nothing", ""),
        ("[models.nothing]", "models.nothing", ""),
        ("[chunking.size]", "", ""),
    ],
)
def test_an_unknown_key_of_the_file_at_any_depth(file: str, key: str, near: str) -> None:
    with pytest.raises((UnknownSetting, InvalidSetting)) as caught:
        loaded(file=file)
    if key:
        assert caught.type is UnknownSetting
        assert caught.value.message == f"unknown setting {key!r} (from vademecum.toml)"
        assert (f"did you mean {near}?" if near else "") in caught.value.hint


def test_a_section_with_nothing_in_it_is_no_fault() -> None:
    assert loaded(file="[models]\n[chunking]\n# size = 9\n").origins == {}


@pytest.mark.parametrize(
    ("name", "key", "near"),
    [
        ("VADE_MODELS__LANGAGE", "models.langage", "models.language"),
        ("VADE_MODELS_LANGUAGE", "models_language", "models.language"),
        ("VADE_ANSWER__DEEP__ER", "answer.deep.er", ""),
        ("VADE_DATABASE", "database", ""),
    ],
)
def test_an_unknown_key_of_the_environment(name: str, key: str, near: str) -> None:
    with pytest.raises(UnknownSetting) as caught:
        loaded({name: "1"})
    assert caught.value.message == f"unknown setting {key!r} (from {name})"
    assert (f"did you mean {near}?" if near else "") in caught.value.hint


def test_an_unknown_flag() -> None:
    with pytest.raises(UnknownSetting, match=r"models.x' \(from flag\)"):
        loaded(flags={"models.x": 1})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("database.pool_size", 1),
        ("database.pool_size", 101),
        ("chunking.size", 7),
        ("chunking.size", 4001),
        ("chunking.size", "many"),
        ("chunking.strategy", "round"),
        ("models.threads", 0),
        ("answer.temperature", 2.1),
        ("answer.show_unsupported", "perhaps"),
        ("log.level", "loud"),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_origin(key: str, value: object) -> None:
    with pytest.raises(InvalidSetting) as caught:
        loaded(flags={key: value})
    assert f"{key} (from flag) is not valid" in caught.value.message
    assert caught.value.hint == dict(keys())[key]


def test_secrets_are_shown_nowhere() -> None:
    url = f"postgresql://someone:{SECRET}@db.example/x"
    found = loaded({"OPENAI_API_KEY": SECRET, "DATABASE_URL": url, "DATABASE_OWNER_URL": url})
    rows = {key: (value, origin) for key, value, origin in shown(found)}
    assert list(rows) == [key for key, _ in keys() if "*" not in key]
    assert rows["providers.openai_api_key"] == ("********", "OPENAI_API_KEY")
    assert rows["database.url"] == ("********", "DATABASE_URL")
    assert rows["providers.anthropic_api_key"] == ("", "default")
    assert SECRET not in repr(rows) + repr(found) + str(found) + found.model_dump_json()


@pytest.mark.parametrize(
    "file",
    [
        f"[providers]\nopenai_api_key = ['{SECRET}']",
        f"[models]\nthreads = '{SECRET}'",
        f"[providers]\nopenai_apikey = '{SECRET}'",
        f"[providers]\nopenai_api_key = '{SECRET}",
    ],
)
def test_a_secret_in_the_wrong_place_is_in_no_error(file: str) -> None:
    with pytest.raises((InvalidSetting, UnknownSetting)) as caught:
        loaded(file=file)
    # What --debug prints, too.
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_every_setting_says_what_it_is() -> None:
    assert [key for key, about in keys() if not about.strip()] == []
    assert set(USUAL.values()) <= {key for key, _ in keys()}


def test_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert home_folder({"VADE_HOME": "/data/vade"}) == Path("/data/vade")
    assert home_folder({"VADE_HOME": "here"}) == tmp_path / "here"
    assert home_folder({"VADE_HOME": "~/vade"}) == Path.home() / "vade"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert home_folder({}) == home_folder({"VADE_HOME": ""}) == Path("/var/lib/vademecum")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert home_folder({}) == Path(platformdirs.user_data_dir("vademecum"))


def test_the_model_s_folder_may_be_below_the_home_folder() -> None:
    assert loaded({"VADE_MODEL_DIR": "~/e5"}).settings.models.folder == Path.home() / "e5"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"not toml"])
def test_a_file_that_cannot_be_read(content: bytes) -> None:
    Path("vademecum.toml").write_bytes(content)
    with pytest.raises(InvalidSetting, match=r"vademecum\.toml"):
        loaded()


def test_a_named_file_must_be_there() -> None:
    with pytest.raises(InvalidSetting, match="there is no settings file"):
        load(config=Path("none.toml"), flags={}, environment={})
    with pytest.raises(InvalidSetting, match="cannot be read as a settings file"):
        load(config=Path("."), flags={}, environment={})


def test_the_reference_page_is_that_of_the_tree() -> None:
    written = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
    assert written.read_text(encoding="utf-8") == page()


def test_rules_have_names_of_their_own() -> None:
    found = loaded(
        file="[chunking.collections.boxoffice]\nsize = 99\n[chunking.types.pdf]\nstrategy = 'fixed'\n"
    )
    chunking = found.settings.chunking
    assert chunking.collections["boxoffice"].size == 99
    assert chunking.types["pdf"].strategy == "fixed"
    rows = {key: (value, origin) for key, value, origin in shown(found)}
    assert rows["chunking.collections.boxoffice.size"] == ("99", "vademecum.toml")
    with pytest.raises(UnknownSetting, match=r"chunking\.types\.pdf\.colour"):
        loaded(file="[chunking.types.pdf]\ncolour = 1\n")
    with pytest.raises(UnknownSetting):
        loaded(file="[chunking.types]\npdf = 1\n")
    Path("vademecum.toml").unlink()
    by_variable = loaded(environment={"VADE_CHUNKING__TYPES__PDF__SIZE": "300"})
    assert by_variable.settings.chunking.types["pdf"].size == 300


def test_a_pattern_is_told_as_it_is() -> None:
    with pytest.raises(InvalidSetting) as caught:
        load(config=None, flags={"models.reranker": "nobody:x"}, environment={})
    assert "cohere|jina):\\S+" in str(caught.value)
    assert "is not valid: string should" in str(caught.value)
