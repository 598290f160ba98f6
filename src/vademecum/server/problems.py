"""What does an error look like over HTTP? Problem details (RFC 9457) with the stable code."""

from typing import Any

from starlette.responses import Response

from vademecum import interface, jsontext
from vademecum.errors import (
    DiskFull,
    Forbidden,
    LimitExceeded,
    MemoryOff,
    NotFound,
    RepeatDiffers,
    RepeatRunning,
    ServiceAway,
    TooMany,
    Unauthenticated,
    UsageError,
    VademecumError,
)

MEDIA_TYPE = "application/problem+json"
_AGAIN_SECONDS = 5
# The first class that an error belongs to says its status.
_STATUSES: tuple[tuple[type[VademecumError], int], ...] = (
    (Unauthenticated, 401),
    (TooMany, 429),
    (RepeatRunning, 409),
    (MemoryOff, 409),
    (LimitExceeded, 413),
    (DiskFull, 507),
    (RepeatDiffers, 422),
    (UsageError, 400),
    (Forbidden, 403),
    (NotFound, 404),
    (ServiceAway, 503),
)
_TITLES = {
    400: "The request is not valid",
    401: "Who asks is not known",
    403: "Not allowed",
    404: "Not found",
    405: "Not a method of this path",
    409: "Not possible now",
    413: "Too large",
    422: "Another request had this Idempotency-Key",
    429: "Too many requests",
    500: "Something broke inside",
    503: "A needed service is away",
    507: "No space left",
}
INTERNAL = VademecumError(
    "something broke inside", hint="the server's log names this request's X-Request-Id"
)


class Json(Response):
    """A JSON document in the form of the interface."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return jsontext.written(content).encode("utf-8", "backslashreplace")


def status_of(error: VademecumError) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def problem_json(error: VademecumError) -> dict[str, Any]:
    """Return what is said of an error: nothing that differs between two who get the same one."""
    status = status_of(error)
    return {
        "type": f"urn:vademecum:{error.code}",
        "title": _TITLES.get(status, _TITLES[500]),
        "status": status,
        "detail": str(error),
        **interface.error_json(error),
    }


def openai_error(error: VademecumError) -> dict[str, Any]:
    """Return an error as the OpenAI API says one."""
    kind = "invalid_request_error" if status_of(error) < 500 else "server_error"
    return {"error": {"message": str(error), "type": kind, "code": error.code, "param": None}}


def headers_of(error: VademecumError) -> dict[str, str]:
    """Return the headers that go with an error: how to show a key, when to come again."""
    status = status_of(error)
    if status == 401:
        return {"WWW-Authenticate": "Bearer"}
    if status in (409, 429, 503):
        wait = error.wait if isinstance(error, TooMany) else None
        return {"Retry-After": str(max(1, round(wait or _AGAIN_SECONDS)))}
    return {}


def problem(error: VademecumError, path: str) -> Response:
    """Return an error as a response to a request of a path."""
    status, headers = status_of(error), headers_of(error)
    if path.startswith("/v1/"):
        return Json(openai_error(error), status, headers)
    return Json(problem_json(error), status, headers, MEDIA_TYPE)
