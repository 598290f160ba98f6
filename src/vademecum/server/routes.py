"""Which requests are there, and what must each one's caller be allowed? The registry.

Every route declares who may call it, what that costs, how large its body may be and whether it is
written down. What is not declared here does not exist.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import regex
from starlette.routing import compile_path

from vademecum.model.serving.key import Permission

Spending = Literal["read", "work", "upload"]
"""What a request costs its caller: a look, some work, an upload."""
Audit = Literal["retrieval", "none"]
"""`retrieval`: whoever gets passages by it is written down, with their ids."""
Endpoint = Callable[..., Awaitable[Any]]
KILOBYTE = 1024
MEGABYTE = 1024 * KILOBYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path. `permission` None = anybody may call it, without a credential;
    `most_bytes` bounds its body."""

    method: str
    path: str
    permission: Permission | None
    spends: Spending | None
    audit: Audit
    most_bytes: int
    endpoint: Endpoint
    page: bool
    loopback: bool
    repeatable: bool
    options: dict[str, Any]
    pattern: regex.Pattern[str] = field(repr=False)


class Routes:
    """The routes of one part of the interface."""

    def __init__(self) -> None:
        self.all: list[Route] = []

    def add(
        self,
        method: str,
        path: str,
        *,
        permission: Permission | None,
        spends: Spending | None,
        audit: Audit = "none",
        most_bytes: int = 64 * KILOBYTE,
        page: bool = False,
        loopback: bool = False,
        repeatable: bool = False,
        **options: Any,
    ) -> Callable[[Endpoint], Endpoint]:
        """Declare what the decorated function answers. A `page` is for people: who has no
        credential is sent to sign in. With `loopback` this machine itself needs none. What is
        `repeatable` may be named by its caller, and is done once then. `options` go to the
        framework."""

        def declare(endpoint: Endpoint) -> Endpoint:
            pattern, _, _ = compile_path(path)
            self.all.append(
                Route(
                    method=method,
                    path=path,
                    permission=permission,
                    spends=spends,
                    audit=audit,
                    most_bytes=most_bytes,
                    endpoint=endpoint,
                    page=page,
                    loopback=loopback,
                    repeatable=repeatable,
                    options=options,
                    pattern=regex.compile(pattern.pattern),
                )
            )
            return endpoint

        return declare


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a request's path leads to; without a route, the methods that it has."""

    route: Route | None
    methods: tuple[str, ...]


def find(routes: Iterable[Route], method: str, path: str) -> Found:
    """Return the first route of a path whose method it is. HEAD asks as GET does."""
    asked = "GET" if method == "HEAD" else method
    methods: list[str] = []
    for route in routes:
        if route.pattern.match(path):
            if route.method == asked:
                return Found(route=route, methods=())
            methods.append(route.method)
    return Found(route=None, methods=tuple(sorted(set(methods))))
