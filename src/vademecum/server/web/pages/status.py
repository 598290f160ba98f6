"""Is everything well? Parts, work that waits, times and shares of the last day, for operators."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta

from fastapi import Request
from starlette.responses import Response

from vademecum.errors import ServiceAway
from vademecum.interface import generation_text
from vademecum.postgres.generation.store import PostgresGenerations
from vademecum.postgres.health import ping, server_facts
from vademecum.postgres.trace.overview import Overview
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Service, Serving
from vademecum.server.web.chart import pairs
from vademecum.server.web.site import page

routes = Routes()
_SPAN = timedelta(days=1)
_LOW = 0.5


@routes.add("GET", "/status", permission="admin", spends="read", page=True)
async def status(request: Request, service: Serving, scope: Seeing) -> Response:
    """Show how the tenant and this process are doing."""
    overview = Overview(pool=service.app.catalogue.pool)
    since = datetime.now(UTC) - _SPAN
    times = await overview.stage_times(scope, since)
    jobs = await service.app.catalogue.jobs.pending(scope)
    return page(
        request,
        "status.html",
        parts=await _parts(service),
        queue=Counter(job.state for job in jobs),
        oldest=jobs[0].accepted_at if jobs else None,
        failed=[job for job in jobs if job.state == "dead"][:10],
        held=await overview.held(scope),
        size=(await server_facts(service.app.catalogue.pool)).bytes,
        times=times,
        chart=pairs([(time.stage, time.middle, time.slow) for time in times]),
        shares=await overview.shares(scope, since, _LOW),
    )


async def _parts(service: Service) -> list[tuple[str, bool | None, str]]:
    """Return name, health and detail of each part; no health where nothing is asked for it."""
    started = time.monotonic()
    try:
        await ping(service.app.catalogue.pool)
        database = (True, f"{1000 * (time.monotonic() - started):.0f} ms")
    except ServiceAway as error:
        database = (False, error.code)
    answering = service.app.answer_parts
    standing = await PostgresGenerations(service.app.catalogue.pool).standing()
    model = answering.language_model
    return [
        ("database", *database),
        ("embedding", True, answering.retrieve.embedder.space.name),
        *[("generation", None, generation_text(*one)) for one in standing],
        ("language_model", None, model.name if model else ""),
        ("streams", None, str(service.streams.count)),
    ]
