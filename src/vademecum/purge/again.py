"""How does what was deleted since a backup go again, after the backup was restored?"""

from collections.abc import Sequence
from dataclasses import dataclass

from vademecum.model.ids import ConversationId, DocumentId, Tenant
from vademecum.model.principal import Scope
from vademecum.model.purge import Deleted
from vademecum.ports.conversations import ConversationStore
from vademecum.ports.people import PersonStore
from vademecum.purge.pipeline import PurgeParts, purge_document


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainParts:
    """Every store that something may have come back into."""

    people: PersonStore
    documents: PurgeParts
    conversations: ConversationStore


async def delete_again(parts: AgainParts, tenant: Tenant, ledger: Sequence[Deleted]) -> int:
    """Delete what the ledger names and a backup brought back, with all that was made from it;
    nobody else may use the database. Return how many documents, conversations and memories it were.
    """
    own = [entry for entry in ledger if entry.tenant == tenant]
    memories = await parts.people.delete_again(tenant, own)
    back = await parts.people.come_back(tenant, own)
    for document in back.documents:
        await purge_document(parts.documents, Scope.for_operator(tenant), DocumentId(document))
    for conversation, person in back.conversations.items():
        scope = Scope.for_principal(tenant, person, frozenset())
        await parts.conversations.delete(scope, ConversationId(conversation))
    return memories + len(back.documents) + len(back.conversations)
