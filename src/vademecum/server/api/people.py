"""What a person may ask for: a copy of all that is kept of them, and to be forgotten."""

from starlette.responses import Response

from vademecum import interface
from vademecum.errors import Forbidden
from vademecum.model.principal import Scope
from vademecum.server.forms import PurgeForm
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Serving

routes = Routes()


@routes.add("POST", "/api/v1/purges", permission="memory", spends="work")
async def purge(form: PurgeForm, service: Serving, scope: Seeing) -> Response:
    """Forget a person in every store, with the receipt: oneself, or as the operator another."""
    person = _person(scope, form.principal)
    if form.dry_run:
        held = await service.app.catalogue.would_forget(scope=person)
        return Json({"principal": person.principal, "held": held})
    return Json(interface.receipt_json(await service.app.forget(scope=person)))


def _person(scope: Scope, named: str | None) -> Scope:
    if named is None or named == scope.principal:
        return scope.as_person()
    if not scope.operator:
        raise Forbidden("you can have only yourself forgotten", hint="leave principal out")
    return Scope.for_principal(scope.tenant, named, frozenset())


@routes.add("GET", "/api/v1/export", permission="memory", spends="work")
async def export(service: Serving, scope: Seeing) -> Response:
    """Return all that is kept of whoever asks: memories with their history, conversations."""
    personal = await service.app.catalogue.exports.personal(scope)
    held = await service.app.catalogue.would_forget(scope=scope)
    on = await service.app.remembering(scope=scope)
    document = (
        {"principal": scope.principal, "remembers": on}
        | interface.personal_json(personal)
        | {"held": held}
    )
    headers = {"Content-Disposition": 'attachment; filename="vademecum.json"'}
    return Json(document, headers=headers)
