"""Which files does a page load? Only ours, each set under the hash of what it holds."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.responses import Response

from vademecum.errors import NotFound
from vademecum.server.routes import Routes

routes = Routes()
_FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# A set never changes under its hash, so a browser asks for it once.
_FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assets:
    digest: str
    files: dict[str, bytes]


@cache
def _assets() -> _Assets:
    files = {
        path.name: path.read_bytes() for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES
    }
    hashed = hashlib.sha256()
    for name, content in files.items():
        hashed.update(name.encode() + b"\0" + content)
    return _Assets(digest=hashed.hexdigest()[:16], files=files)


def url(name: str) -> str:
    """Return where a file is. Modules name each other relatively, so they share the hash."""
    return f"/static/{_assets().digest}/{name}"


@routes.add("GET", "/static/{digest}/{name}", permission=None, spends=None)
async def static(digest: str, name: str) -> Response:
    """Return a style sheet, a script or a picture of the pages."""
    found = _assets()
    if digest != found.digest or name not in found.files:
        raise NotFound("there is no such file", hint="load the page again")
    kind = _TYPES[Path(name).suffix]
    return Response(found.files[name], media_type=kind, headers={"Cache-Control": _FOR_EVER})
