"""Is it there, and can it work?"""

import time

from starlette.responses import Response

from vademecum.errors import ServiceAway
from vademecum.postgres.health import ping
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Serving

routes = Routes()


@routes.add("GET", "/health/live", permission=None, spends=None)
async def live() -> Response:
    """Say that the process answers; it says nothing of the database."""
    return Json({"live": True})


@routes.add("GET", "/health/ready", permission=None, spends=None)
async def ready(service: Serving) -> Response:
    """Say whether each part that an answer needs is there: 503 where one is not."""
    started = time.monotonic()
    try:
        await ping(service.app.catalogue.pool)
        database = "ok"
    except ServiceAway as error:
        database = error.code
    milliseconds = 1000 * (time.monotonic() - started)
    told = {"ready": database == "ok", "parts": {"database": database}, "ms": round(milliseconds)}
    return Json(told, 200 if database == "ok" else 503)
