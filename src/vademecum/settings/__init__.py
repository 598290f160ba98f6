"""What can be set, and where does each value come from?"""

from vademecum.settings.read import (
    FILE_NAME,
    ROOT_HOME,
    USUAL,
    Loaded,
    home_folder,
    keys,
    load,
    shown,
)
from vademecum.settings.tree import (
    LOCAL_E5,
    ChunkingRuleSettings,
    LimitsSettings,
    OidcSettings,
    SearchSettings,
    ServerSettings,
    Settings,
)

__all__ = [
    "FILE_NAME",
    "LOCAL_E5",
    "ROOT_HOME",
    "USUAL",
    "ChunkingRuleSettings",
    "LimitsSettings",
    "Loaded",
    "OidcSettings",
    "SearchSettings",
    "ServerSettings",
    "Settings",
    "home_folder",
    "keys",
    "load",
    "shown",
]
