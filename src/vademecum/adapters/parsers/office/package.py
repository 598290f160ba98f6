"""Which parts has a package of Office Open XML, and how do they refer to each other?"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree

from vademecum.adapters.parsers.archive import Archive, damaged

_TYPES = "http://schemas.openxmlformats.org/package/2006/relationships"
_RELATION = f"{{{_TYPES}}}Relationship"
# Programs write one of two families of names for the same elements; only their last part counts.
_CORE_TITLE = "{http://purl.org/dc/elements/1.1/}title"
# What programs write where nobody gave a title.
_NO_TITLES = frozenset(
    (
        *(
            "word document",
            "powerpoint presentation",
            "presentation",
            "untitled",
            "document",
            "workbook",
        ),
        *("pptx", "docx", "xlsx", "slide 1", "title", "office theme", "powerpoint-präsentation"),
        *("apresentação do powerpoint", "presentación de powerpoint", "présentation powerpoint"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What a part refers to: the last word of its kind, and the target's name in the package,
    empty where the target is outside, since nothing outside is ever opened."""

    kind: str
    target: str


class Package:
    """An Office Open XML package: its main part, its relations, its title."""

    def __init__(self, content: bytes, uri: str) -> None:
        self.uri = uri
        self.archive = Archive(content, uri)
        self._names = {name.lower(): name for name in self.archive.names}
        main = [
            relation.target
            for relation in self.relations("").values()
            if relation.kind == "officeDocument"
        ]
        if not main or self.xml(main[0]) is None:
            raise damaged(uri)
        self.main = main[0]

    def xml(self, name: str) -> Any | None:
        """Return the root of a part whose names have lost their namespaces, or None."""
        known = self._names.get(name.lower())
        root = self.archive.xml(known) if known is not None else None
        if root is not None:
            shorten(root)
        return root

    def relations(self, name: str) -> dict[str, Relation]:
        """Return the relations of a part (of the package itself for an empty name) by their id."""
        folder, _, last = name.rpartition("/")
        path = posixpath.join(folder, "_rels", f"{last}.rels")
        known = self._names.get(path.lower())
        root = self.archive.xml(known) if known is not None else None
        return dict(_relations(root, folder)) if root is not None else {}

    def related(self, name: str, kind: str) -> Iterator[str]:
        """Yield the names of the parts of one kind to which a part refers."""
        for relation in self.relations(name).values():
            if relation.kind == kind and relation.target:
                yield relation.target

    def title(self) -> str:
        """Return the title that somebody gave the document, or an empty string."""
        for name in self.related("", "core-properties"):
            known = self._names.get(name.lower())
            root = self.archive.xml(known) if known is not None else None
            node = root.find(_CORE_TITLE) if root is not None else None
            title = (node.text or "").strip() if node is not None else ""
            if title.lower() not in _NO_TITLES:
                return title
        return ""


def _relations(root: Any, folder: str) -> Iterator[tuple[str, Relation]]:
    for node in root.iter(_RELATION):
        kind = node.get("Type", "").rstrip("/").rpartition("/")[2]
        target = node.get("Target", "")
        if node.get("TargetMode") == "External":
            target = ""
        elif target:
            path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
            target = posixpath.normpath(path)
        yield node.get("Id", ""), Relation(kind=kind, target=target)


def shorten(root: Any) -> None:
    """Leave the last part of every name only: `w:p` becomes `p`, `r:id` becomes `id`.

    The two families of namespaces (transitional, strict) then look the same. Where an element has
    an attribute both with and without a namespace, the plain one stays and the other one is
    called `r-` and its name.
    """
    for node in root.iter(etree.Element):
        node.tag = node.tag.rpartition("}")[2]
        for name in [name for name in node.attrib if name.startswith("{")]:
            value = node.attrib.pop(name)
            short = name.rpartition("}")[2]
            node.set(short if short not in node.attrib else f"r-{short}", value)
