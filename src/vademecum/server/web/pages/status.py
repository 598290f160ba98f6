"""Is everything well? Parts, work that waits, times and shares of the last day, for operators."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fastapi import Request
from starlette.responses import Response

from vademecum.errors import ServiceAway
from vademecum.interface import generation_text
from vademecum.model.index import BuildProgress, GenerationRecord
from vademecum.model.principal import Scope
from vademecum.postgres.generation.store import PostgresGenerations
from vademecum.postgres.health import ping, server_facts
from vademecum.postgres.trace.overview import Overview
from vademecum.server.allowance import MAY, allowed_by, price_of
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Service, Serving
from vademecum.server.web.chart import pairs
from vademecum.server.web.costs import Costs, costs, since
from vademecum.server.web.site import page

routes = Routes()
Standing = Sequence[tuple[GenerationRecord, BuildProgress | None]]
_SPAN = timedelta(days=1)
_LOW = 0.5


@routes.add("GET", "/status", permission="admin", spends="read", page=True)
async def status(request: Request, service: Serving, scope: Seeing) -> Response:
    """Show how the tenant and this process are doing."""
    overview = Overview(pool=service.app.catalogue.pool)
    begun = datetime.now(UTC) - _SPAN
    times = await overview.stage_times(scope, begun)
    standing = await PostgresGenerations(service.app.catalogue.pool).standing()
    jobs = await service.app.catalogue.jobs.pending(scope)
    return page(
        request,
        "status.html",
        parts=await _parts(service, standing),
        builds=_builds(standing),
        costs=await _costs(service, scope),
        priced=price_of(service.loaded.settings.limits).of(MAY) > 0,
        queue=Counter(job.state for job in jobs),
        oldest=jobs[0].accepted_at if jobs else None,
        failed=[job for job in jobs if job.state == "dead"][:10],
        held=await overview.held(scope),
        size=(await server_facts(service.app.catalogue.pool)).bytes,
        times=times,
        chart=pairs([(time.stage, time.middle, time.slow) for time in times]),
        shares=await overview.shares(scope, begun, _LOW),
    )


@routes.add("GET", "/status/builds", permission="admin", spends="read", page=True)
async def builds(request: Request, service: Serving) -> Response:
    """Show how far another build of the index is, for a page that waits for it."""
    standing = await PostgresGenerations(service.app.catalogue.pool).standing()
    return page(request, "parts/builds.html", builds=_builds(standing))


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """Another build of the index: the share (0..1) of each kind that it holds."""

    number: int
    state: str
    model: str
    kinds: tuple[tuple[str, float], ...]


def _builds(standing: Standing) -> list[Build]:
    """Return the builds that are not read yet. The counts are of all tenants, so only shares are
    told."""
    return [
        Build(
            number=one.generation.id,
            state=one.state,
            model=one.generation.space.name,
            kinds=tuple(
                # Rounded down: what lacks anything is not whole.
                (
                    kind,
                    (100 * (held - progress.lacking.get(kind, 0)) // held) / 100 if held else 1.0,
                )
                for kind, held in progress.held.items()
            ),
        )
        for one, progress in standing
        if progress is not None
    ]


async def _costs(service: Service, scope: Scope) -> Costs:
    today = datetime.now(UTC).date()
    spent = await service.app.catalogue.spending.by_day(scope, since(today))
    return costs(spent, allowed_by(service.loaded.settings.limits).tenant, today)


async def _parts(service: Service, standing: Standing) -> list[tuple[str, bool | None, str]]:
    """Return name, health and detail of each part; no health where nothing is asked for it."""
    started = time.monotonic()
    try:
        await ping(service.app.catalogue.pool)
        database = (True, f"{1000 * (time.monotonic() - started):.0f} ms")
    except ServiceAway as error:
        database = (False, error.code)
    answering = service.app.answer_parts
    model = answering.language_model
    return [
        ("database", *database),
        ("embedding", True, answering.retrieve.embedder.space.name),
        *[("generation", None, generation_text(*one)) for one in standing],
        ("language_model", None, model.name if model else ""),
        ("streams", None, str(service.streams.count)),
    ]
