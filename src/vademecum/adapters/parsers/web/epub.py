"""How is an EPUB book read? Its chapters in their order, each as a page."""

import posixpath
from typing import Any
from urllib.parse import unquote

import regex

from vademecum.adapters.parsers.archive import Archive, damaged
from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.uris import name_of
from vademecum.adapters.parsers.web.html_reader import read_page
from vademecum.adapters.parsers.web.page import open_page
from vademecum.errors import LimitExceeded, PasswordRequired
from vademecum.model.document import ParsedDocument

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset(
    (*("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document"),)
)
_LANGUAGE = regex.compile(r"([A-Za-z]{2,3})(?:[-_].*)?")
# Fonts are often made unreadable for other programs; that hides no text.
_FONT = regex.compile(r"\.(?:otf|ttf|woff2?)$", regex.I)


def parse_epub(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read a book: title and language from its package file, chapters in reading order."""
    archive = Archive(content, uri)
    container = archive.xml(_CONTAINER)
    roots = _all(container, "rootfile") if container is not None else []
    path = roots[0].get("full-path", "") if roots else ""
    package = archive.xml(path)
    if package is None:
        raise damaged(uri)
    _refuse_locked(archive, uri)
    composer = Composer()
    warnings: dict[str, int] = {}
    unread: list[str] = []
    for name in _chapters(package, posixpath.dirname(path)):
        page = archive.read(name)
        if page is None:
            unread.append(f"chapter {name} is not in the book")
            continue
        try:
            for warning in read_page(open_page(page, name), composer):
                count, _, told = warning.partition(" ")
                told = told.replace("element ", "elements ").replace("part ", "parts ")
                warnings[told] = warnings.get(told, 0) + int(count)
        except LimitExceeded as error:
            unread.append(error.message)
    language = _LANGUAGE.fullmatch(_said(package, "language"))
    return composer.document(
        title=_said(package, "title"),
        name=name_of(uri),
        media_type=media_type,
        language=language[1].lower() if language else "",
        warnings=[f"{count} {told}" for told, count in warnings.items()],
        unread=unread,
    )


def _all(root: Any, name: str) -> list[Any]:
    return list(root.iter(f"{{*}}{name}"))


def _said(package: Any, name: str) -> str:
    return next(
        (node.text.strip() for node in _all(package, name) if (node.text or "").strip()), ""
    )


def _chapters(package: Any, folder: str) -> list[str]:
    """Return the names of the pages in reading order, without the page that only lists them."""
    items = {node.get("id"): node for node in _all(package, "item")}
    names = []
    for reference in _all(package, "itemref"):
        item = items.get(reference.get("idref"))
        if item is None or "nav" in (item.get("properties") or "").split():
            continue
        if item.get("media-type", "application/xhtml+xml") in _PAGES:
            path = unquote(item.get("href", "").partition("#")[0])
            names.append(posixpath.normpath(posixpath.join(folder, path)))
    return list(dict.fromkeys(names))


def _refuse_locked(archive: Archive, uri: str) -> None:
    root = archive.xml(_ENCRYPTION)
    locked = [] if root is None else [node.get("URI", "") for node in _all(root, "CipherReference")]
    if any(not _FONT.search(name) for name in locked):
        raise PasswordRequired(
            f"{uri} is locked by its seller", hint="ingest a copy without copy protection"
        )
