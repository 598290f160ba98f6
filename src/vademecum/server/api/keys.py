"""Keys: the operator makes them, sees them without their secrets, and ends them."""

from uuid import UUID

from starlette.responses import Response

from vademecum import interface
from vademecum.model.ids import KeyId
from vademecum.server.forms import KeyForm
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Calling, Seeing, Serving

routes = Routes()


@routes.add("GET", "/api/v1/me", permission="read", spends="read")
async def me(caller: Calling) -> Response:
    """Say whom this key stands for, and what it may."""
    return Json(
        {"scope": interface.scope_json(caller.scope), "scopes": sorted(caller.permissions)}
        | {"key_id": caller.key_id, "expires_at": caller.expires_at}
    )


@routes.add("GET", "/api/v1/keys", permission="admin", spends="read")
async def list_keys(service: Serving, scope: Seeing) -> Response:
    """List the tenant's keys, oldest first."""
    found = await service.app.catalogue.keyring.all(scope=scope)
    return Json({"keys": [interface.key_json(key) for key in found]})


@routes.add("POST", "/api/v1/keys", permission="admin", spends="work", status_code=201)
async def create(form: KeyForm, service: Serving, scope: Seeing) -> Response:
    """Make a key; its text is shown this once."""
    issued = await service.app.catalogue.keyring.issue(
        scope=scope,
        principal=form.principal,
        labels=frozenset(form.labels),
        permissions=frozenset(form.scopes),
        expires_at=form.expires_at,
    )
    return Json({"id": issued.key.id, "key": issued.text}, 201)


@routes.add("DELETE", "/api/v1/keys/{key_id}", permission="admin", spends="work")
async def revoke(key_id: UUID, service: Serving, scope: Seeing) -> Response:
    """End a key at once, with every browser session made from it."""
    key = await service.app.catalogue.keyring.revoke(KeyId(key_id), scope=scope)
    return Json(interface.key_json(key))
