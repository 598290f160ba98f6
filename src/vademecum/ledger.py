"""What must not come back, whatever backup is restored, and how is it written down?"""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from vademecum.errors import UsageError
from vademecum.model.ids import KeyId, Tenant
from vademecum.model.purge import Deleted, DeletedKind, Erasure
from vademecum.model.serving.key import Revoked

_KIND: TypeAdapter[DeletedKind] = TypeAdapter(DeletedKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What must not come back: people who were forgotten, documents, conversations and memories
    that were deleted, keys that were ended."""

    erasures: tuple[Erasure, ...]
    deletions: tuple[Deleted, ...]
    revoked: tuple[Revoked, ...]

    def __add__(self, other: "Ledger") -> "Ledger":
        erasures = {entry.id: entry for entry in (*self.erasures, *other.erasures)}
        deletions = {(e.kind, e.id): e for e in (*self.deletions, *other.deletions)}
        revoked = {key.id: key for key in (*self.revoked, *other.revoked)}
        return Ledger(
            erasures=tuple(erasures.values()),
            deletions=tuple(deletions.values()),
            revoked=tuple(revoked.values()),
        )


NOTHING = Ledger(erasures=(), deletions=(), revoked=())


def ledger_json(ledger: Ledger) -> bytes:
    """Return a ledger as it is kept: hashes, ids and moments."""
    erasures = [
        {
            "tenant": entry.tenant,
            "id": str(entry.id),
            "subject": entry.subject.hex(),
            "requested_at": entry.requested_at.isoformat(),
        }
        for entry in ledger.erasures
    ]
    deletions = [
        {
            "tenant": entry.tenant,
            "kind": entry.kind,
            "id": str(entry.id),
            "deleted_at": entry.deleted_at.isoformat(),
        }
        for entry in ledger.deletions
    ]
    revoked = [{"tenant": key.tenant, "id": str(key.id)} for key in ledger.revoked]
    written = {"erasures": erasures, "deletions": deletions, "revoked": revoked}
    return json.dumps(written, indent=2).encode() + b"\n"


def read_ledger(content: bytes, path: Path) -> Ledger:
    """Return the ledger that a file holds. Raises: UsageError."""
    try:
        values = json.loads(content)
        return Ledger(
            erasures=tuple(_erasure(entry) for entry in values["erasures"]),
            # An earlier release wrote none.
            deletions=tuple(_deleted(entry) for entry in values.get("deletions", [])),
            revoked=tuple(
                Revoked(tenant=Tenant(key["tenant"]), id=KeyId(UUID(key["id"])))
                for key in values["revoked"]
            ),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} holds no ledger", hint="give one of `vade backup --ledger`"
        ) from error


def _erasure(entry: dict[str, Any]) -> Erasure:
    return Erasure(
        tenant=Tenant(entry["tenant"]),
        id=UUID(entry["id"]),
        subject=bytes.fromhex(entry["subject"]),
        requested_at=datetime.fromisoformat(entry["requested_at"]),
        completed_at=None,
        blobs_left=(),
    )


def _deleted(entry: dict[str, Any]) -> Deleted:
    return Deleted(
        tenant=Tenant(entry["tenant"]),
        kind=_KIND.validate_python(entry["kind"]),
        id=UUID(entry["id"]),
        deleted_at=datetime.fromisoformat(entry["deleted_at"]),
    )
