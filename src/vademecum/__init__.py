"""The public API of Vademecum, and nothing else.

Names are loaded on first use, so that a child process which parses one document does not pay
for the database driver and the settings.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vademecum.app import App
    from vademecum.composing import open
    from vademecum.errors import VademecumError
    from vademecum.model.principal import Scope

__all__ = ["App", "Scope", "VademecumError", "open"]

_HOME = {
    "App": "vademecum.app",
    "Scope": "vademecum.model.principal",
    "VademecumError": "vademecum.errors",
    "open": "vademecum.composing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vademecum' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
