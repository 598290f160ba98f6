"""How does a person come in and go out, and choose language and colours?"""

import asyncio
from collections import OrderedDict
from datetime import timedelta
from hmac import compare_digest
from math import ceil

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from vademecum.errors import NotFound, TooMany, Unauthenticated, VademecumError
from vademecum.model.serving.key import Rate
from vademecum.server import oidc
from vademecum.server.gate import COOKIE, SECURE_COOKIE, read_cookies
from vademecum.server.routes import KILOBYTE, Routes
from vademecum.server.service import Service, Serving
from vademecum.server.web import languages
from vademecum.server.web.site import THEMES, check_own, local, page, see
from vademecum.settings import OidcSettings

routes = Routes()
# Each session has limits of its own, so a key must not open one after the other.
_OPENING = Rate(kind="sign-in", per_minute=6, burst=12)
_YEAR = 365 * 24 * 3600
_MOST_ADDRESSES = 10_000
# What a browser keeps while it is at the issuer's.
_BEGUN = "vade-sign-in"


class Attempts:
    """Failed sign-ins by address, in this process: each makes the next one wait longer.

    A key has 256 random bits, so nobody guesses one; this keeps those who try from costing much.
    """

    def __init__(self, *, first_seconds: float = 0.25, most: int = 10, forget: float = 900) -> None:
        self._first = first_seconds
        self._most = most
        self._forget = forget
        self._failed: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def count(self, address: str, now: float) -> int:
        """Return how often an address failed of late."""
        failed, last = self._failed.get(address, (0, now))
        return failed if now - last < self._forget else 0

    def check(self, address: str, now: float) -> None:
        """Raise TooMany for an address that has failed too often."""
        if self.count(address, now) >= self._most:
            raise TooMany("too many keys that open nothing", hint="come again in 15 minutes")

    def fail(self, address: str, now: float) -> float:
        """Note a failure; return how many seconds its answer waits."""
        failed = self.count(address, now) + 1
        self._failed[address] = (failed, now)
        self._failed.move_to_end(address)
        if len(self._failed) > _MOST_ADDRESSES:
            self._failed.popitem(last=False)
        return min(4.0, self._first * 2.0 ** (failed - 1))

    def clear(self, address: str) -> None:
        self._failed.pop(address, None)


def _attempts(request: Request) -> Attempts:
    """Return the ones of this server, made with the first that fails."""
    state = request.app.state
    if not hasattr(state, "attempts"):
        state.attempts = Attempts()
    found: Attempts = state.attempts
    return found


@routes.add("GET", "/sign-in", permission=None, spends=None, page=True)
async def door(request: Request, service: Serving) -> Response:
    """Show where to put a key, and the way to an issuer where there is one."""
    return _door(request, service)


def _door(
    request: Request, service: Service, error: VademecumError | None = None, status: int = 200
) -> Response:
    issuer = bool(service.loaded.settings.auth.oidc.issuer)
    return page(request, "sign_in.html", status=status, error=error, issuer=issuer)


@routes.add("POST", "/sign-in", permission=None, spends=None, page=True, most_bytes=4 * KILOBYTE)
async def sign_in(request: Request, service: Serving) -> Response:
    """Take a key and give the browser a session of its own, which ends with the key."""
    check_own(request)
    attempts, now = _attempts(request), asyncio.get_running_loop().time()
    address = request.client.host if request.client else ""
    async with request.form() as form:
        text = str(form.get("key") or "")
    try:
        attempts.check(address, now)
    except TooMany as error:
        return _door(request, service, error, 429)
    keyring = service.app.catalogue.keyring
    caller = await keyring.enter(text, _OPENING)
    if caller is not None and caller.wait > 0:
        early = TooMany("this key was used to sign in too often", hint="come again a little later")
        return _door(request, service, early, 429)
    if caller is None or caller.kind != "key":
        await asyncio.sleep(attempts.fail(address, now))
        wrong = Unauthenticated("this key opens nothing", hint="it may be revoked or over")
        return _door(request, service, wrong, 401)
    attempts.clear(address)
    issued = await keyring.open_session(caller, service.session)
    answer = see("/")
    _remember(request, answer, issued.text, service.session)
    return answer


@routes.add("GET", "/sign-in/issuer", permission=None, spends=None, page=True)
async def to_issuer(request: Request, service: Serving) -> Response:
    """Send the browser to the issuer, with what it must bring back."""
    settings = _issuer(service)
    begun = await oidc.begin(settings, _back(request))
    answer = RedirectResponse(begun.url, 303)
    secure = request.url.scheme == "https"
    kept = f"{begun.state}.{begun.nonce}.{begun.verifier}"
    answer.set_cookie(
        _BEGUN, kept, max_age=600, path="/sign-in", secure=secure, httponly=True, samesite="lax"
    )
    return answer


@routes.add("GET", "/sign-in/back", permission=None, spends=None, page=True)
async def from_issuer(
    request: Request, service: Serving, code: str = "", state: str = ""
) -> Response:
    """Take whoever the issuer sends back, if this browser went there, and begin a session."""
    settings = _issuer(service)
    kept = read_cookies(request.headers).get(_BEGUN, "").split(".")
    if len(kept) != 3 or not compare_digest(kept[0].encode(), state.encode()):
        strange = Unauthenticated("this sign-in did not begin here", hint="begin it once more")
        return _door(request, service, strange, 401)
    begun = oidc.Begun(url="", state=kept[0], nonce=kept[1], verifier=kept[2])
    try:
        known = await oidc.finish(settings, _back(request), code, begun)
    except Unauthenticated as error:
        return _door(request, service, error, 401)
    keyring = service.app.catalogue.keyring
    issued = await keyring.begin_session(known.scope, known.permissions, service.session)
    answer = see("/")
    answer.delete_cookie(_BEGUN, path="/sign-in")
    _remember(request, answer, issued.text, service.session)
    return answer


def _issuer(service: Service) -> OidcSettings:
    settings = service.loaded.settings.auth.oidc
    if not settings.issuer:
        raise NotFound("there is no issuer to sign in with", hint="sign in with a key")
    return settings


def _back(request: Request) -> str:
    """Return where the issuer sends a browser back to: the name by which we were called."""
    return f"{request.url.scheme}://{request.url.netloc}/sign-in/back"


def _remember(request: Request, answer: Response, session: str, lasts: timedelta) -> None:
    secure = request.url.scheme == "https"
    answer.set_cookie(
        SECURE_COOKIE if secure else COOKIE,
        session,
        max_age=ceil(lasts.total_seconds()),
        path="/",
        secure=secure,
        httponly=True,
        samesite="lax",
    )


@routes.add("POST", "/sign-out", permission=None, spends=None, page=True, most_bytes=4 * KILOBYTE)
async def sign_out(request: Request, service: Serving) -> Response:
    """End the browser's session, here and in the database."""
    check_own(request)
    cookies = read_cookies(request.headers)
    keyring = service.app.catalogue.keyring
    for name in (SECURE_COOKIE, COOKIE):
        if (text := cookies.get(name)) and (caller := await keyring.enter(text)):
            await keyring.close_session(caller)
    answer = see("/sign-in")
    forget_session(request, answer)
    return answer


def forget_session(request: Request, answer: Response) -> None:
    """Take the session out of the browser."""
    secure = request.url.scheme == "https"
    answer.delete_cookie(
        SECURE_COOKIE if secure else COOKIE, path="/", secure=secure, httponly=True, samesite="lax"
    )


@routes.add(
    "POST", "/preferences", permission=None, spends=None, page=True, most_bytes=4 * KILOBYTE
)
async def prefer(request: Request) -> Response:
    """Keep a language or a theme in the browser, and go back to where it was chosen."""
    check_own(request)
    async with request.form() as form:
        spoken, theme = str(form.get("language") or ""), str(form.get("theme") or "")
        answer = see(local(str(form.get("next") or "/")))
    secure = request.url.scheme == "https"
    for name, value, allowed in (
        (languages.COOKIE, spoken, tuple(languages.NAMES)),
        ("theme", theme, THEMES),
    ):
        if value in allowed:
            answer.set_cookie(
                name, value, max_age=_YEAR, path="/", secure=secure, httponly=True, samesite="lax"
            )
    return answer
