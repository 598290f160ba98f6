"""How does a page come about? One shell, one set of templates in which every value is text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from vademecum.errors import Forbidden, VademecumError
from vademecum.model.serving.key import Caller
from vademecum.server.gate import check_origin, read_cookies
from vademecum.server.problems import headers_of, status_of
from vademecum.server.web import assets
from vademecum.server.web.languages import NAMES, Language, chosen

THEMES = ("auto", "light", "dark")
_FOLDER = Path(__file__).parent / "templates"
_ENVIRONMENT = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def _moment(value: datetime | None) -> str:
    return value.strftime("%Y-%m-%d %H:%M") if value else ""


_ENVIRONMENT.filters["moment"] = _moment
_ENVIRONMENT.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False, default=str)
_ENVIRONMENT.filters["query"] = lambda pairs: urlencode(
    [(name, value) for name, value in pairs.items() if value not in (None, "")]
)


def language_of(request: Request) -> Language:
    """Return the language that whoever asks reads."""
    return chosen(read_cookies(request.headers), request.headers.get("accept-language", ""))


def wants_part(request: Request) -> bool:
    """Tell whether a script asks, for a part of the page that it has already."""
    return request.headers.get("hx-request") == "true"


def wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def fragment(request: Request, name: str, **values: Any) -> str:
    """Return a template as text, with what every template has at hand."""
    return _ENVIRONMENT.get_template(name).render(**_shell(request), **values)


def page(
    request: Request,
    name: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> HTMLResponse:
    """Return a template as a page, or as the part of one."""
    return HTMLResponse(fragment(request, name, **values), status, headers)


def see(place: str) -> RedirectResponse:
    """Send a browser on to a page of ours after a change, so that loading again repeats nothing."""
    return RedirectResponse(place, 303)


def local(place: str) -> str:
    """Return a path of this server, or the first page where it could lead elsewhere."""
    safe = place.startswith("/") and not place.startswith("//") and "\\" not in place
    return place if safe and place.isprintable() else "/"


def _shell(request: Request) -> dict[str, Any]:
    cookies = read_cookies(request.headers)
    theme = cookies.get("theme", "auto")
    caller: Caller | None = getattr(request.state, "caller", None)
    spoken = language_of(request)
    return {
        "caller": caller,
        "operator": caller is not None and "admin" in caller.permissions,
        "may": caller.permissions if caller else frozenset(),
        "lang": spoken,
        "languages": NAMES,
        "t": spoken.say,
        "n": spoken.count,
        "known": spoken.known,
        "told_of": partial(told_of, spoken),
        "theme": theme if theme in THEMES else "auto",
        "themes": THEMES,
        "static": assets.url,
        "path": request.url.path,
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is said to a person of an error."""

    message: str
    hint: str


def told_of(spoken: Language, error: VademecumError) -> Told:
    """Return what an error says: in English exactly, in other languages what its kind means; what
    has no words there is said in English."""
    general = spoken.texts.get(f"problem.{error.code}")
    if spoken.code == "en" or general is None:
        return Told(message=error.message, hint=error.hint)
    return Told(message=general, hint="")


def error_page(request: Request, error: VademecumError) -> Response:
    """Say to a person what happened, its code, and the next step."""
    alone = wants_part(request) or wants_events(request)
    name = "parts/error.html" if alone else "error.html"
    return page(request, name, status=status_of(error), headers=headers_of(error), error=error)


def check_own(request: Request) -> None:
    """Refuse what another site makes a browser send to a page that nobody needs a key for.

    Raises: Forbidden.
    """
    check_origin(request.scope, request.headers)


def must(request: Request, permission: str) -> None:
    """Refuse a caller without a permission that only a part of a page needs. Raises: Forbidden."""
    caller: Caller = request.state.caller
    if not {permission, "admin"} & caller.permissions:
        raise Forbidden(f"this key may not {permission}", hint="ask the operator for one that may")
