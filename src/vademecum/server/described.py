"""How is the interface told to programs? As OpenAPI, with every answer that a request may get."""

from functools import lru_cache
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

_SECURITY = {"key": {"type": "http", "scheme": "bearer", "description": "vade_<id>.<secret>"}}
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "message", "hint"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "message": {"type": "string"},
        "hint": {"type": "string"},
    },
}
_OPENAI_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "code": {"type": "string"},
            },
        }
    },
}
NAMED: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "what the caller calls this request; the same one is answered once",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_OF_NAMED = {
    "409": "the same request is being answered; see Retry-After",
    "422": "this Idempotency-Key stands for another request",
}
_REFUSALS = {
    "400": "the request is not valid",
    "401": "who asks is not known",
    "403": "not allowed",
    "404": "not found",
    "405": "not a method of this path",
    "413": "too large",
    "429": "too many requests; see Retry-After",
    "503": "a needed service is away; see Retry-After",
}


@lru_cache(maxsize=8)
def described(api: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application: its pages are for people, and left out."""
    document = get_openapi(
        title="Vademecum",
        version="1",
        description="Answers from private documents with checked citations, and memory.",
        routes=[route for route in api.routes if getattr(route, "include_in_schema", False)],
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SECURITY
    components.setdefault("schemas", {}).update(Problem=_PROBLEM, OpenAIError=_OPENAI_ERROR)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            _complete(path, operation)
    return document


def _complete(path: str, operation: dict[str, Any]) -> None:
    """Add what the framework does not know: refusals in our form, and the key."""
    compatible = path.startswith("/v1/")
    schema = {"$ref": f"#/components/schemas/{'OpenAIError' if compatible else 'Problem'}"}
    kind = "application/json" if compatible else "application/problem+json"
    responses = operation["responses"]
    responses.pop("422", None)  # the framework's own; ours is 400
    refusals = _REFUSALS | (_OF_NAMED if NAMED in operation.get("parameters", ()) else {})
    for status, told in refusals.items():
        responses[status] = {"description": told, "content": {kind: {"schema": schema}}}
    if not path.startswith("/health/"):
        operation["security"] = [{"key": []}]
