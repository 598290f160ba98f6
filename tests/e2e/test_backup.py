"""P4: does a backup come back whole, and without whom was forgotten and what was ended since?"""

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def kept(vade: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A data folder with things of two people and a key each, and a backup of it; then one is
    forgotten, a key ended, and something new is brought."""
    folder = tmp_path_factory.mktemp("backup")
    rules = folder / "rules.txt"
    rules.write_text("Cameras with a lens of at most 200 mm are allowed in Hall Norte.\n")
    own = folder / "own.txt"
    own.write_text("The zqgone locker is number 717.\n")
    vade.json("ingest", str(rules))
    vade.json("ingest", str(own), "--access", "user:gone")
    vade.json("remember", "I like zqgone jazz.", "--as", "user:gone")
    vade.json("remember", "I use a wheelchair.", "--as", "user:stays")
    taken_back = vade.json("remember", "I collect zqback stamps.", "--as", "user:stays")
    old = folder / "old.txt"
    old.write_text("The zqback gate closes at 22.\n")
    vade.json("ingest", str(old))
    asked = vade.json("ask", "Where is the zqback gate?", "--as", "user:stays")
    ended = vade.json("keys", "create", "--principal", "stays")
    lasting = vade.json("keys", "create", "--principal", "stays")
    backup = folder / "first.tar"
    told = vade.json("backup", str(backup))
    vade.json("forget", "--as", "user:gone")
    vade.json("keys", "revoke", ended["id"])
    vade.json("memories", "forget", taken_back["memory"]["id"], "--as", "user:stays")
    listed = vade.json("documents", "list")["documents"]
    (gate,) = (d["id"] for d in listed if d["uri"].endswith("old.txt"))
    vade.json("documents", "delete", gate)
    vade.json("conversations", "delete", asked["conversation_id"], "--as", "user:stays")
    ledger = folder / "ledger.json"
    vade.json("backup", str(ledger), "--ledger")
    later = folder / "later.txt"
    later.write_text("Hall Sul has 12 lifts.\n")
    vade.json("ingest", str(later))
    return {
        "backup": backup, "ledger": ledger, "told": told, "ended": ended["id"],
        "lasting": lasting["id"], "folder": folder,
    }  # fmt: skip


def test_it_holds_database_originals_and_ledger(kept: dict[str, Any]) -> None:
    with tarfile.open(kept["backup"]) as tar:
        names = tar.getnames()
    assert names[:3] == ["manifest.json", "ledger.json", "database.dump"]
    assert sum(name.startswith("blobs/") for name in names) == 3 == kept["told"]["blobs"]
    assert kept["backup"].stat().st_mode & 0o777 == 0o600
    ledger = json.loads(kept["ledger"].read_text())
    assert len(ledger["erasures"]) == 1
    assert [key["id"] for key in ledger["revoked"]] == [kept["ended"]]
    assert {"document", "conversation", "memory"} <= {d["kind"] for d in ledger["deletions"]}
    assert "gone" not in kept["ledger"].read_text(), "nobody's name"


def test_it_comes_back_in_place_without_whom_was_forgotten(vade: Any, kept: dict[str, Any]) -> None:
    vade.fails("restore", str(kept["backup"]), status=2, code="usage")
    done = vade.json("restore", str(kept["backup"]), "--replace")
    assert (done["forgotten"], done["deleted"], done["keys_ended"]) == (1, 3, 1)
    check(vade, kept)


@pytest.mark.slow
def test_it_comes_back_elsewhere_with_the_ledger(
    empty_vade: Any, prepared: Path, kept: dict[str, Any]
) -> None:
    (empty_vade.home / "models").symlink_to(prepared)
    backup, ledger = str(kept["backup"]), str(kept["ledger"])
    result = empty_vade("restore", backup)
    assert result.returncode == 2
    assert "--ledger" in result.stderr
    done = empty_vade.json("restore", backup, "--ledger", ledger)
    assert (done["forgotten"], done["deleted"], done["keys_ended"]) == (1, 3, 1)
    check(empty_vade, kept)
    empty_vade.fails("restore", backup, "--ledger", ledger, status=2, code="usage")
    again = empty_vade.json("restore", backup, "--replace", "--without-ledger")
    assert again["forgotten"] == 1, "it is known from what was in use"


def check(vade: Any, kept: dict[str, Any]) -> None:
    """What was there is there; who was forgotten, and what was ended, is not."""
    listed = vade.json("documents", "list")["documents"]
    assert [Path(document["uri"]).name for document in listed] == ["rules.txt"]
    found = vade.json("search", "cameras in Hall Norte")
    assert "200 mm" in found["passages"][0]["text"]
    assert vade.json("search", "zqgone locker", "--mode", "keyword")["passages"] == []
    assert vade.json("memories", "list", "--as", "user:gone")["memories"] == []
    stays = vade.json("memories", "list", "--as", "user:stays")["memories"]
    assert [memory["text"] for memory in stays] == ["I use a wheelchair."]
    assert vade.json("conversations", "list", "--as", "user:stays")["conversations"] == []
    dead = {k["id"]: k["revoked_at"] is not None for k in vade.json("keys", "list")["keys"]}
    assert dead == {kept["ended"]: True, kept["lasting"]: False}
    originals = [p for p in (vade.home / "blobs").rglob("*") if p.is_file()]
    assert not any(b"zqgone" in path.read_bytes() for path in originals)


@pytest.mark.slow
def test_without_any_ledger_every_key_ends(
    empty_vade: Any, prepared: Path, kept: dict[str, Any]
) -> None:
    (empty_vade.home / "models").symlink_to(prepared)
    done = empty_vade.json("restore", str(kept["backup"]), "--without-ledger")
    assert done["keys_ended"] == 2
    listed = empty_vade.json("keys", "list")["keys"]
    assert all(key["revoked_at"] for key in listed)


def test_a_damaged_backup_changes_nothing(vade: Any, kept: dict[str, Any]) -> None:
    before = vade.json("documents", "list")
    whole = kept["backup"].read_bytes()
    cut = kept["folder"] / "cut.tar"
    cut.write_bytes(whole[: len(whole) // 3])
    vade.fails("restore", str(cut), "--replace", status=1, code="data-folder-unusable")
    changed = kept["folder"] / "changed.tar"
    with tarfile.open(kept["backup"]) as tar:
        place = tar.getmember("database.dump").offset_data + 5_000
    changed.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    vade.fails("restore", str(changed), "--replace", status=1, code="data-folder-unusable")
    nothing = kept["folder"] / "nothing.tar"
    vade.fails("restore", str(nothing), "--replace", status=2, code="usage")
    shutil.copy(kept["ledger"], nothing)
    vade.fails("restore", str(nothing), "--replace", status=1, code="data-folder-unusable")
    assert vade.json("documents", "list") == before
    vade.fails("backup", str(kept["backup"]), status=2, code="usage")
    vade.fails("backup", str(kept["folder"] / "none" / "b.tar"), status=2, code="usage")
