"""Who is let in, before a byte of the body is read?

The order: is there such a route, is the host ours, who asks, may they, not too often, not too much.
Whatever fails beyond is turned into one clear answer here: the server's edge.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Protocol
from urllib.parse import urlsplit

import regex
import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vademecum.adapters.tracing import Noted, Tracing
from vademecum.errors import (
    Forbidden,
    LimitExceeded,
    NotFound,
    TooMany,
    Unauthenticated,
    UsageError,
    VademecumError,
)
from vademecum.keyring import Keyring
from vademecum.model.ids import new_uuid
from vademecum.model.serving.key import Caller, Rate
from vademecum.server.logs import REQUEST_ID
from vademecum.server.metrics import Metrics
from vademecum.server.problems import INTERNAL, problem
from vademecum.server.routes import Found, Route, Spending, find

COOKIE = "vade"
# A browser takes this name only over https, for this host alone.
SECURE_COOKIE = "__Host-vade"
_REQUEST_ID = regex.compile(r"[A-Za-z0-9._-]{1,64}")
_LOOKING = ("GET", "HEAD", "OPTIONS")
_log = logging.getLogger(__name__)
_access = structlog.stdlib.get_logger("vademecum.access")

# Nothing is loaded from elsewhere, nothing runs that did not come as a file of ours.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'; object-src 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds for every request. `hosts` are the names by which it may be called, lower case,
    without ports."""

    hosts: frozenset[str]
    rates: Mapping[Spending, Rate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What a request shows of itself; `cookie` where a browser sent it unasked."""

    text: str
    cookie: bool


class ErrorPage(Protocol):
    """Shows a person what went wrong."""

    def __call__(self, request: Request, error: VademecumError) -> Response: ...


class Gate:
    """The first to see a request, and the last to see its answer."""

    def __init__(
        self,
        app: ASGIApp,
        routes: Sequence[Route],
        keyring: Keyring,
        rules: Rules,
        metrics: Metrics,
        error_page: ErrorPage,
        tracing: Tracing,
    ) -> None:
        self._app = app
        self._routes = routes
        self._keyring = keyring
        self._rules = rules
        self._metrics = metrics
        self._error_page = error_page
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answering = _Answering(send, _request_id(scope), secure=scope["scheme"] == "https")
        scope.setdefault("state", {})["request_id"] = answering.request_id
        identity = REQUEST_ID.set(answering.request_id)
        began = time.monotonic()
        about = {"http.request.method": scope["method"], "url.scheme": scope["scheme"]}
        sent = Headers(scope=scope)
        with self._tracing.during(scope["method"], about, "server", sent) as noted:
            try:
                await self._answer(scope, receive, answering)
            finally:
                self._note(scope, answering, time.monotonic() - began)
                _trace(noted, scope, answering.status)
                REQUEST_ID.reset(identity)

    async def _answer(self, scope: Scope, receive: Receive, answering: "_Answering") -> None:
        try:
            refusal = await self._enter(scope)
            if refusal is None:
                most = scope["state"]["route"].most_bytes
                # The framework knows no HEAD; whoever serves us sends no body to one.
                asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
                await self._app(asked, _bounded(receive, most), answering.send)
                return
        except VademecumError as error:
            refusal = self._refusal(scope, error)
        except Exception as error:  # noqa: BLE001
            # The edge: nobody but the log learns what broke, and it only the kind.
            _log.error("%s broke inside: %s", answering.request_id, type(error).__name__)
            refusal = self._refusal(scope, INTERNAL)
        if not answering.begun:
            await refusal(scope, receive, answering.send)

    def _note(self, scope: Scope, answering: "_Answering", seconds: float) -> None:
        """Count a request, and write its line: its route, not its path, which may name things."""
        state = scope["state"]
        route: Route | None = state.get("route")
        caller: Caller | None = state.get("caller")
        path = route.path if route else ""
        self._metrics.request(path, answering.status, seconds)
        _access.info(
            "request",
            method=scope["method"],
            route=path,
            status=answering.status,
            ms=round(1000 * seconds),
            key_id=str(caller.key_id) if caller else "",
        )

    async def _enter(self, scope: Scope) -> Response | None:
        """Put caller and route into the request's state; return the answer of whoever stays out."""
        headers = Headers(scope=scope)
        if (_host(headers.get("host", ""))) not in self._rules.hosts:
            raise UsageError(
                "this server is not called by that name", hint="add it to the setting server.hosts"
            )
        if b"%00" in scope.get("query_string", b"") or "\0" in scope["path"]:
            raise UsageError("a NUL stands in the address", hint="leave it out")
        route = _only(find(self._routes, scope["method"], scope["path"]))
        scope["state"]["route"] = route
        credential = _credential(headers)
        if route.permission is None or (route.loopback and _from_here(scope, headers)):
            scope["state"]["caller"] = None
            _check_length(headers, route)
            return None
        if credential is None:
            return _sign_in(scope, route, "a key is needed", "send it as Authorization: Bearer …")
        if credential.cookie and scope["method"] not in _LOOKING:
            check_origin(scope, headers)
        rate = self._rules.rates[route.spends] if route.spends else None
        caller = await self._keyring.enter(credential.text, rate)
        if caller is None:
            return _sign_in(scope, route, "this key opens nothing", "it may be revoked or over")
        if caller.wait > 0:
            self._metrics.refused("rate")
            raise TooMany(
                "too many requests with this key",
                hint="come again a little later",
                wait=caller.wait,
            )
        _check_permission(caller, route)
        scope["state"]["caller"] = caller
        scope["state"]["credential"] = credential.text
        _check_length(headers, route)
        return None

    def _refusal(self, scope: Scope, error: VademecumError) -> Response:
        """Return an error as a page to whoever looks at pages, else as a problem."""
        route: Route | None = scope["state"].get("route")
        looking = "text/html" in Headers(scope=scope).get("accept", "")
        if route.page if route is not None else looking:
            return self._error_page(Request(scope), error)
        return problem(error, scope["path"])


class _Answering:
    """Sends an answer with the headers that every one has, and knows whether it has begun."""

    def __init__(self, send: Send, request_id: str, *, secure: bool) -> None:
        self._send = send
        self.request_id = request_id
        self.begun = False
        self.status = 0
        self._secure = secure

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "private, no-store")
            if self._secure:
                headers["Strict-Transport-Security"] = "max-age=31536000"
        await self._send(message)


def _trace(noted: Noted, scope: Scope, status: int) -> None:
    """Note a request by its route and its status, never by its path."""
    if (route := scope["state"].get("route")) is not None:
        noted.call(f"{scope['method']} {route.path}")
        noted.note(http__route=route.path)
    noted.note(http__response__status_code=status)
    if status >= 500:
        noted.failed(str(status))


def _from_here(scope: Scope, headers: Headers) -> bool:
    """Tell whether this machine itself asks, and no proxy on it for another."""
    client = scope.get("client")
    forwarded = any(name in headers for name in ("forwarded", "x-forwarded-for", "x-real-ip"))
    return client is not None and client[0] in ("127.0.0.1", "::1") and not forwarded


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else new_uuid().hex


def _host(header: str) -> str:
    """Return the name of a Host header without its port, lower case."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _only(found: Found) -> Route:
    if found.route is not None:
        return found.route
    if found.methods:
        raise NotFound("this path has no such method", hint=f"it has {', '.join(found.methods)}")
    raise NotFound("there is nothing here", hint="/api/openapi.json lists what there is")


def _credential(headers: Headers) -> Credential | None:
    """Return what a request shows: its own word before what its browser adds."""
    if (header := headers.get("authorization")) is not None:
        kind, _, text = header.partition(" ")
        return Credential(text=text.strip() if kind.lower() == "bearer" else "", cookie=False)
    cookies = read_cookies(headers)
    session = cookies.get(SECURE_COOKIE) or cookies.get(COOKIE)
    return Credential(text=session, cookie=True) if session else None


def read_cookies(headers: Headers) -> dict[str, str]:
    """Return the cookies of a request by name; none where they cannot be read."""
    try:
        parsed: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return {}
    return {name: morsel.value for name, morsel in parsed.items()}


def check_origin(scope: Scope, headers: Headers) -> None:
    """Refuse a change that another site makes a browser send: its cookie comes unasked."""
    site = headers.get("sec-fetch-site")
    origin = headers.get("origin")
    if site not in (None, "same-origin", "none"):
        raise Forbidden("another site sent this", hint="use the page of this server")
    own = f"{scope['scheme']}://{headers.get('host', '')}"
    # Under our Referrer-Policy a browser tells of a form only that its origin is "null"; where it
    # comes from then stands in the other header, which no script can write.
    if origin is not None and origin != own and (origin, site) != ("null", "same-origin"):
        raise Forbidden("another site sent this", hint="use the page of this server")
    if site is None and origin is None:
        raise Forbidden("this does not say where it comes from", hint="use a key, not a cookie")


def _check_permission(caller: Caller, route: Route) -> None:
    if route.permission not in caller.permissions and "admin" not in caller.permissions:
        raise Forbidden(
            f"this key may not {route.permission}", hint="ask the operator for one that may"
        )


def _sign_in(scope: Scope, route: Route, message: str, hint: str) -> Response:
    """Lead somebody without a good credential who looks at a page to the door. Raises:
    Unauthenticated, for whatever else they want."""
    if route.page and scope["method"] == "GET":
        return RedirectResponse("/sign-in", 303)
    raise Unauthenticated(message, hint=hint)


def _check_length(headers: Headers, route: Route) -> None:
    """Refuse what says itself that it is too large. Raises: LimitExceeded."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > route.most_bytes:
        raise _limit(route.most_bytes)


def _limit(most: int) -> LimitExceeded:
    return LimitExceeded(f"a request here has at most {most // 1024} KB", hint="send less at once")


def _bounded(receive: Receive, most: int) -> Receive:
    """Count a body while it comes, for what says nothing of its length, or not the truth."""
    taken = 0

    async def take() -> Message:
        nonlocal taken
        message = await receive()
        if message["type"] == "http.request":
            taken += len(message.get("body", b""))
            if taken > most:
                raise _limit(most)
        return message

    return take
