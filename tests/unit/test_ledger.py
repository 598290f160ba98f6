"""Is a ledger read as it was written, and one of an earlier release too?"""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from vademecum.errors import UsageError
from vademecum.ledger import Ledger, ledger_json, read_ledger
from vademecum.model.ids import KeyId, Tenant
from vademecum.model.purge import Deleted, Erasure
from vademecum.model.serving.key import Revoked

ONE, ID, FILE = Tenant("one"), UUID(int=7), Path("ledger.json")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEDGER = Ledger(
    erasures=(
        Erasure(
            tenant=ONE, id=ID, subject=b"\0" * 32, requested_at=NOON, completed_at=None,
            blobs_left=(),
        ),
    ),
    deletions=(Deleted(tenant=ONE, kind="memory", id=ID, deleted_at=NOON),),
    revoked=(Revoked(tenant=ONE, id=KeyId(ID)),),
)  # fmt: skip


def test_it_comes_back_as_it_was_written() -> None:
    assert read_ledger(ledger_json(LEDGER), FILE) == LEDGER


def test_one_of_an_earlier_release_names_no_deletions() -> None:
    written = json.loads(ledger_json(LEDGER))
    del written["deletions"]
    assert read_ledger(json.dumps(written).encode(), FILE).deletions == ()


@pytest.mark.parametrize("kind", ["trace", 7, None])
def test_a_kind_that_nobody_knows_is_no_ledger(kind: object) -> None:
    written = json.loads(ledger_json(LEDGER))
    written["deletions"][0]["kind"] = kind
    with pytest.raises(UsageError, match="holds no ledger"):
        read_ledger(json.dumps(written).encode(), FILE)


def test_two_hold_each_entry_once() -> None:
    assert LEDGER + LEDGER == LEDGER
