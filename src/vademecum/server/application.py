"""How do the routes become one application? Every one declared, behind the one gate."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from vademecum.adapters.tracing import Tracing
from vademecum.app import App
from vademecum.errors import NotFound, UsageError, VademecumError
from vademecum.model.serving.key import Rate
from vademecum.server import mcp
from vademecum.server.allowance import Allowance, allowed_by, price_of
from vademecum.server.api import (
    conversations,
    documents,
    evaluations,
    feedback,
    health,
    keys,
    memories,
    operations,
    people,
    search,
    traces,
)
from vademecum.server.compatible import openai, retrieval
from vademecum.server.described import NAMED
from vademecum.server.gate import Gate, Rules
from vademecum.server.leaving import Gone
from vademecum.server.metrics import Metrics
from vademecum.server.problems import INTERNAL, problem
from vademecum.server.repeats import Repeats
from vademecum.server.routes import Route
from vademecum.server.service import Service
from vademecum.server.streams import Limits, Streams
from vademecum.server.web import assets
from vademecum.server.web.pages import ask, evaluate, inspect, memory, sign_in, sources, status
from vademecum.server.web.site import error_page
from vademecum.settings import LimitsSettings, Loaded, ServerSettings

_API = (
    health, search, documents, conversations, memories, people, keys, traces, feedback, evaluations,
    operations,
)  # fmt: skip
_COMPATIBLE = (openai, retrieval, mcp)
_PAGES = (assets, sign_in, ask, sources, memory, inspect, evaluate, status)
_PARTS = (*_API, *_COMPATIBLE, *_PAGES)
ROUTES: tuple[Route, ...] = tuple(route for part in _PARTS for route in part.routes.all)
_SEE = "see /api/openapi.json"
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def application(service: Service) -> ASGIApp:
    """Return the whole server over an opened App."""
    api = FastAPI(title="Vademecum", openapi_url=None, docs_url=None, redoc_url=None)
    api.state.service = service
    for route in ROUTES:
        api.add_api_route(
            route.path,
            route.endpoint,
            methods=[route.method],
            response_class=Response,
            include_in_schema=not route.page,
            **_described(route),
        )
    api.add_exception_handler(VademecumError, _told)
    api.add_exception_handler(RequestValidationError, _not_valid)
    api.add_exception_handler(HTTPException, _framework)
    api.add_exception_handler(Gone, _nobody)
    api.add_exception_handler(Exception, _broken)
    settings = service.loaded.settings
    rules = rules_of(settings.server, settings.limits)
    keyring = service.app.catalogue.keyring
    once = Repeats(api, service.app.catalogue.repeats)
    return Gate(once, ROUTES, keyring, rules, service.metrics, error_page, service.app.tracing)


def _described(route: Route) -> dict[str, Any]:
    """Return a route's options; what may be named by its caller says so."""
    if not route.repeatable:
        return route.options
    extra = route.options.get("openapi_extra", {})
    return route.options | {"openapi_extra": {"parameters": [NAMED], **extra}}


def service_over(app: App, loaded: Loaded) -> Service:
    """Return what every request has at hand, of an opened App and its settings."""
    metrics = Metrics()
    limits = loaded.settings.limits
    allowance = Allowance(
        store=app.catalogue.spending,
        allowed=allowed_by(limits),
        price=price_of(limits),
        metrics=metrics,
    )
    streams = streams_of(loaded.settings.server, limits, allowance, metrics, app.tracing)
    return Service(app=app, streams=streams, metrics=metrics, loaded=loaded)


def rules_of(server: ServerSettings, limits: LimitsSettings) -> Rules:
    """Return what the settings say of every request."""
    named = frozenset(name.strip().lower() for name in server.hosts.split(",") if name.strip())
    return Rules(
        hosts=named | _THIS_MACHINE | {server.host.lower()},
        rates={
            "read": _a_minute("read", limits.reads_per_minute),
            "work": _a_minute("work", limits.requests_per_minute),
            "upload": Rate(
                kind="upload",
                per_minute=limits.uploads_per_hour / 60,
                burst=limits.uploads_per_hour,
            ),
        },
    )


def _a_minute(kind: str, count: int) -> Rate:
    return Rate(kind=kind, per_minute=count, burst=count)


def streams_of(
    server: ServerSettings,
    limits: LimitsSettings,
    allowance: Allowance,
    metrics: Metrics,
    tracing: Tracing,
) -> Streams:
    return Streams(
        Limits(
            total=limits.answer_seconds,
            idle=limits.idle_seconds,
            grace=server.grace_seconds,
        ),
        allowance,
        metrics,
        tracing,
    )


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, VademecumError)  # registered for nothing else
    return _answer(request, error)


def _answer(request: Request, error: VademecumError) -> Response:
    """Return an error in the form of what was asked for: a page's, or a program's."""
    if request.state.route.page:
        return error_page(request, error)
    return problem(error, request.url.path)


async def _not_valid(request: Request, error: Exception) -> Response:
    """Name the first place that is not valid; never what stood there, which may be private."""
    assert isinstance(error, RequestValidationError)
    first: Sequence[dict[str, object]] = error.errors()[:1]
    place = ".".join(str(part) for part in _sequence(first[0]["loc"])[1:]) if first else ""
    reason = str(first[0]["msg"]).lower() if first else "not valid"
    what = f"{place} is not valid" if place else "the body is not valid"
    return _answer(request, UsageError(f"{what}: {reason}", hint=_SEE))


def _sequence(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


async def _framework(request: Request, error: Exception) -> Response:
    """Say in our form what the framework refuses; what we raised while it read the body is ours."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, VademecumError):
        return _answer(request, error.__cause__)
    if error.status_code == 404:
        return _answer(request, NotFound("there is nothing here", hint=_SEE))
    return _answer(request, UsageError("the request cannot be read", hint=_SEE))


async def _nobody(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)


async def _broken(request: Request, _error: Exception) -> Response:
    """A fault of ours: the gate writes its kind to the log."""
    return _answer(request, INTERNAL)
