"""Is the filter of a query applied by the index yet? With the wiring this file and its mark go."""

from pathlib import Path

import pytest

import vademecum.postgres

_FOLDER = Path(vademecum.postgres.__file__).parent
FILTERS_APPLY = any(
    "compiled(" in path.read_text(encoding="utf-8")
    for path in _FOLDER.glob("*.py")
    if path.name != "filter.py"
)
needs_filters = pytest.mark.skipif(not FILTERS_APPLY, reason="the index takes no filter yet")
