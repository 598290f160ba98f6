"""What was fitted to the collection that is searched?"""

from typing import Protocol

from vademecum.model.calibration import Calibration
from vademecum.model.principal import Scope


class Calibrations(Protocol):
    """Calibrations of a tenant, as searches ask for them."""

    async def of(self, scope: Scope, collection: str) -> Calibration | None:
        """Return that of a collection, None where there is none for the build of the index that
        is read."""
        ...
