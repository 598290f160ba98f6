"""What does every request have at hand? The opened App, the limits, and the answers under way."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Request

from vademecum.app import App
from vademecum.model.principal import Scope
from vademecum.model.serving.key import Caller
from vademecum.server.metrics import Metrics
from vademecum.server.streams import Streams
from vademecum.settings import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The one of a process; `loaded` are its settings."""

    app: App
    streams: Streams
    metrics: Metrics
    loaded: Loaded

    @property
    def session(self) -> timedelta:
        """How long a browser stays signed in."""
        return timedelta(hours=self.loaded.settings.server.session_hours)


def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def _caller(request: Request) -> Caller:
    """Return whoever the gate let in; a route without one never asks."""
    caller: Caller = request.state.caller
    return caller


def _scope(request: Request) -> Scope:
    return _caller(request).scope


Serving = Annotated[Service, Depends(_service)]
Calling = Annotated[Caller, Depends(_caller)]
Seeing = Annotated[Scope, Depends(_scope)]
"""The Scope of the caller's key: the only one that an endpoint ever has."""
