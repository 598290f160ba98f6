"""Documents from stores of objects: S3 and whatever else fsspec speaks to.

The store's own library is an extra; it takes its credentials where it always does.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import fsspec
from fsspec.core import url_to_fs

from vademecum.errors import SourceAway, SourceNotFound, UsageError
from vademecum.ingest.accept import MOST_BYTES

# These are read by other means, or name files of this machine in another spelling.
_OTHER = {"file", "local", "http", "https", "data", "filecache", "blockcache", "simplecache"}
Read = Callable[[], bytes]


def find(url: str) -> Iterator[tuple[str, Read]]:
    """Yield (uri, reader) of the objects that a URL names: one, a pattern, or all below it.

    Raises: UsageError for a store that cannot be spoken to, SourceNotFound, SourceAway.
    """
    protocol = url.partition("://")[0]
    if protocol in _OTHER or protocol not in fsspec.available_protocols() or "::" in url:
        raise UsageError(f"there is no store {protocol}://", hint="give a path, a URL, or s3://")
    try:
        store, path = url_to_fs(url)
        names = _names(store, path)
    except ImportError as error:
        raise UsageError(
            f"the library for {protocol}:// is not installed",
            hint=f"pip install fsspec[{protocol}]",
        ) from error
    except FileNotFoundError as error:
        raise SourceNotFound(f"there is nothing at {url}", hint="check the URL") from error
    except OSError as error:
        raise SourceAway(
            f"{protocol}:// does not answer ({type(error).__name__})", hint="check its credentials"
        ) from error
    for name in names:
        yield str(store.unstrip_protocol(name)), partial(_read, store, name)


def _names(store: Any, path: str) -> list[str]:
    if any(sign in path for sign in "*?["):
        found = [name for name in store.glob(path) if store.isfile(name)]
    elif store.isfile(path):
        found = [path]
    else:
        found = store.find(path)
    if not found:
        raise FileNotFoundError(path)
    return sorted(found)


def _read(store: Any, name: str) -> bytes:
    with store.open(name, "rb") as file:
        content: bytes = file.read(MOST_BYTES + 1)  # more is refused, whatever its size
    return content
