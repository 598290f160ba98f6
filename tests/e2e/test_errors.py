"""Is everything that goes wrong for a first user one clear line with the right exit status?"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest


def test_wrong_words(vade: Any) -> None:
    """The others are in tests/unit/test_wrong_words.py, each without a process."""
    vade.fails("frobnicate", status=2, code="usage")
    assert "--frob" in vade.fails("ask", "--frob", "x", status=2, code="usage")


def test_a_missing_source(vade: Any) -> None:
    line = vade.fails("ingest", "/no/such/file.pdf", status=3, code="source-not-found")
    assert "/no/such/file.pdf" in line
    vade.fails("ingest", "/no/such/*.pdf", status=3, code="source-not-found")


@pytest.mark.parametrize(
    ("text", "named", "code"),
    [
        ('[models]\nlangage = "x"\n', "did you mean models.language?", "setting-unknown"),
        ("[answer]\n[answer.deep]\ner = 1\n", "answer.deep.er", "setting-unknown"),
        ("[chunking]\nsize = -5\n", "chunking.size", "setting-invalid"),
        ('[chunking]\nsize = "many"\n', "chunking.size", "setting-invalid"),
        ("this is not toml", "not valid TOML", "setting-invalid"),
    ],
)
def test_a_wrong_setting(vade: Any, tmp_path: Path, text: str, named: str, code: str) -> None:
    file = tmp_path / "vademecum.toml"
    file.write_text(text, encoding="utf-8")
    assert named in vade.fails("config", "show", "--config", str(file), status=2, code=code)


def test_a_missing_settings_file(vade: Any) -> None:
    vade.fails("status", "--config", "/no/such.toml", status=2, code="setting-invalid")


def test_an_unknown_variable(vade: Any) -> None:
    line = vade.fails("status", status=2, code="setting-unknown", VADE_MODELS__LANGAGE="x")
    assert "VADE_MODELS__LANGAGE" in line


def test_secrets_are_masked(vade: Any, tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("sk-canary\n", encoding="utf-8")
    result = vade("config", "show", OPENAI_API_KEY_FILE=str(secret))
    assert "OPENAI_API_KEY_FILE" in result.stdout
    assert "sk-canary" not in result.stdout + result.stderr


def test_the_server_is_away(vade: Any) -> None:
    line = vade.fails(
        "status",
        status=5,
        code="database-away",
        DATABASE_URL="postgresql://someone:hunter2@127.0.0.1:9/none",
    )
    assert "hunter2" not in line


def test_an_error_is_json_where_json_was_asked(vade: Any) -> None:
    import json

    result = vade("ingest", "/no/such", "--json")
    assert result.returncode == 3
    assert json.loads(result.stdout)["error"]["code"] == "source-not-found"


def test_locked_and_broken_documents_cost_themselves_only(vade: Any, tmp_path: Path) -> None:
    from pypdf import PdfReader, PdfWriter
    from reportlab.pdfgen.canvas import Canvas

    open_path = tmp_path / "open.pdf"
    page = Canvas(str(open_path))
    page.drawString(72, 720, "The gate opens at nine.")
    page.save()
    writer = PdfWriter(clone_from=PdfReader(str(open_path)))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(str(tmp_path / "locked.pdf"))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing more")
    (tmp_path / "picture.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    result = vade("ingest", str(tmp_path), "--json")
    import json

    found = {Path(d["uri"]).name: d for d in json.loads(result.stdout)["documents"]}
    assert {name: d["status"] for name, d in found.items()} == {
        "open.pdf": "ready",
        "locked.pdf": "password_required",
        "broken.pdf": "failed",
        "picture.md": "rejected",
    }
    assert result.returncode == 1
    assert "remove its password" in found["locked.pdf"]["reason"]
    assert all(d["reason"] for name, d in found.items() if name != "open.pdf")


def test_an_unreadable_file_costs_itself_only(vade: Any, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("The lift is out of order.", encoding="utf-8")
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "gone.txt")
    documents = vade.json("ingest", str(tmp_path))["documents"]
    assert [d["status"] for d in documents] == ["ready"]


def test_a_damaged_model_is_made_again(vade: Any) -> None:
    graph = vade.home / "models" / "multilingual-e5-small" / "model.onnx"
    content = graph.read_bytes()
    graph.write_bytes(content[:-100] + bytes(100))
    result = vade("search", "anything")
    assert result.returncode == 0, result.stderr
    assert graph.read_bytes() == content


def test_a_damaged_model_of_the_users_is_said(vade: Any, tmp_path: Path) -> None:
    vade.fails("search", "x", status=1, code="model-file-missing", VADE_MODEL_DIR=str(tmp_path))
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"not a model")
    vade.fails("search", "x", status=1, code="model-file-damaged", VADE_MODEL_DIR=str(tmp_path))


def test_a_folder_that_cannot_be_used(empty_vade: Any) -> None:
    blocked = empty_vade.home / "file"
    blocked.write_text("in the way", encoding="utf-8")
    empty_vade.fails(
        "status", status=1, code="data-folder-unusable", VADE_HOME=str(blocked / "home")
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system needs root to be mounted")
def test_no_space_then_space(empty_vade: Any) -> None:
    small = empty_vade.home / "small"
    small.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=70m,mode=755", "tmpfs", str(small)], check=True
    )
    note = empty_vade.home / "note.txt"
    note.write_text("Space is short.", encoding="utf-8")
    try:
        result = empty_vade("ingest", str(note), VADE_HOME=str(small))
        assert result.returncode == 1
        lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, result.stderr
        assert "pace" in lines[0]
        assert "Traceback" not in result.stderr
        subprocess.run(["mount", "-o", "remount,size=1g", str(small)], check=True)
        found = empty_vade.json("ingest", str(note), VADE_HOME=str(small))
        assert [d["status"] for d in found["documents"]] == ["ready"]
    finally:
        empty_vade("stop", VADE_HOME=str(small))
        subprocess.run(["umount", "-l", str(small)], check=True)
