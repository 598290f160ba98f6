"""How does a person come in and go out, and choose language and colours?"""

import asyncio
from collections import OrderedDict
from datetime import timedelta
from math import ceil

from fastapi import Request
from starlette.responses import Response

from vademecum.errors import TooMany, Unauthenticated
from vademecum.model.key import Rate
from vademecum.server.gate import COOKIE, SECURE_COOKIE, read_cookies
from vademecum.server.routes import KILOBYTE, Routes
from vademecum.server.service import Serving
from vademecum.server.web import languages
from vademecum.server.web.site import THEMES, check_own, local, page, see

routes = Routes()
# Each session has limits of its own, so a key must not open one after the other.
_OPENING = Rate(kind="sign-in", per_minute=6, burst=12)
_YEAR = 365 * 24 * 3600
_MOST_ADDRESSES = 10_000


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
async def door(request: Request) -> Response:
    """Show where to put a key."""
    return page(request, "sign_in.html", error=None)


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
        return page(request, "sign_in.html", status=429, error=error)
    keyring = service.app.catalogue.keyring
    caller = await keyring.enter(text, _OPENING)
    if caller is not None and caller.wait > 0:
        early = TooMany("this key was used to sign in too often", hint="come again a little later")
        return page(request, "sign_in.html", status=429, error=early)
    if caller is None or caller.kind != "key":
        await asyncio.sleep(attempts.fail(address, now))
        wrong = Unauthenticated("this key opens nothing", hint="it may be revoked or over")
        return page(request, "sign_in.html", status=401, error=wrong)
    attempts.clear(address)
    issued = await keyring.open_session(caller, service.session)
    answer = see("/")
    _remember(request, answer, issued.text, service.session)
    return answer


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
