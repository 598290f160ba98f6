"""How is a person forgotten? Documents of theirs, then every row, then the proof."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vademecum.errors import DocumentNotFound
from vademecum.model.ids import Principal, Tenant
from vademecum.model.principal import Scope
from vademecum.model.purge import Erasure, Receipt, StoreReceipt, added_up, subject_of
from vademecum.ports.people import PersonStore
from vademecum.purge.pipeline import PurgeParts, purge_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonParts:
    """Every store that may hold something of a person."""

    people: PersonStore
    documents: PurgeParts


async def purge_person(parts: PersonParts, scope: Scope) -> Receipt:
    """Forget the principal of `scope` in every store. The ledger says so first: what a failure or
    a crash leaves is deleted by `resume`, and the receipt does not say complete until then."""
    return await _purge(parts, scope, await parts.people.begin(scope), until=None)


async def would_purge(parts: PersonParts, scope: Scope) -> dict[str, int]:
    """Return what `purge_person` would find in each store, and change nothing."""
    documents = await parts.people.private_documents(scope, None)
    held = await parts.people.held(scope, None)
    return {"documents": len(documents)} | {f"postgres.{name}": n for name, n in held.items()}


async def resume(parts: PersonParts, tenant: Tenant) -> int:
    """Go on with erasures of a tenant that left something; return how many are complete now."""
    opened = await parts.people.erasures(tenant, open_only=True)
    names = await _by_subject(parts, tenant) if opened else {}
    done = 0
    for erasure in opened:
        person = names.get(erasure.subject)
        if person is None:
            left = await purge_bytes(
                parts.documents, Scope.for_operator(tenant), erasure.blobs_left
            )
            await parts.people.settle(erasure, left.left)
            done += not left.left
            continue
        scope = Scope.for_principal(tenant, person, frozenset())
        # What was made after the erasure is of somebody who came back.
        receipt = await _purge(parts, scope, erasure, until=erasure.requested_at)
        done += receipt.complete
    return done


async def replay(parts: PersonParts, tenant: Tenant, ledger: Sequence[Erasure]) -> int:
    """Forget again those of a ledger, after a backup from before was restored; return how many
    erasures are complete now."""
    await parts.people.restore([entry for entry in ledger if entry.tenant == tenant])
    return await resume(parts, tenant)


async def _purge(
    parts: PersonParts, scope: Scope, erasure: Erasure, *, until: datetime | None
) -> Receipt:
    receipts: list[StoreReceipt] = []
    blobs = list(erasure.blobs_left)
    for document_id in await parts.people.private_documents(scope, until):
        try:
            rows = await parts.documents.store.delete(scope, document_id)
        except DocumentNotFound:  # somebody deleted it meanwhile
            continue
        receipts += [
            StoreReceipt(store="documents", found=1, deleted=1, left=0, why=""),
            *rows.receipts,
        ]
        blobs += rows.blobs
    gone = await purge_bytes(parts.documents, Scope.for_operator(scope.tenant), blobs)
    receipts += await parts.people.erase(scope, until)
    await parts.people.settle(erasure, gone.left)
    return Receipt(purge_id=str(erasure.id), stores=added_up([*receipts, gone.receipt]))


async def _by_subject(parts: PersonParts, tenant: Tenant) -> dict[bytes, Principal]:
    names = await parts.people.names(tenant)
    return {subject_of(tenant, name): name for name in names}
