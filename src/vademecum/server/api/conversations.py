"""What was said: whoever asks reads and deletes their own."""

from dataclasses import asdict
from uuid import UUID

from starlette.responses import Response

from vademecum import interface
from vademecum.model.ids import ConversationId
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Serving

routes = Routes()
_ONE = "/api/v1/conversations/{conversation_id}"


@routes.add("GET", "/api/v1/conversations", permission="read", spends="read")
async def list_conversations(
    service: Serving, scope: Seeing, persona: str | None = None
) -> Response:
    """List the conversations, the last used first."""
    found = await service.app.talking.list(scope=scope, persona=persona)
    return Json({"conversations": [asdict(conversation) for conversation in found]})


@routes.add("GET", _ONE, permission="read", spends="read")
async def show(conversation_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Show a conversation, its summary and every turn."""
    dialogue = await service.app.talking.show(ConversationId(conversation_id), scope=scope)
    return Json(interface.dialogue_json(dialogue))


@routes.add("GET", _ONE + "/turns", permission="read", spends="read")
async def turns(conversation_id: UUID, service: Serving, scope: Seeing) -> Response:
    """List every turn of a conversation in the order of saving."""
    dialogue = await service.app.talking.show(ConversationId(conversation_id), scope=scope)
    return Json({"turns": [asdict(turn) for turn in dialogue.turns]})


@routes.add("DELETE", _ONE, permission="read", spends="work")
async def delete(conversation_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Delete a conversation with its summary and all that was made from it."""
    receipt = await service.app.talking.delete(ConversationId(conversation_id), scope=scope)
    return Json(interface.receipt_json(receipt))
