"""How is a zip container opened without being flooded or led elsewhere?"""

import io
import zipfile
import zlib
from typing import Any

from lxml import etree

from vademecum.adapters.parsers.limits import MOST_ENTRIES, MOST_INFLATED_BYTES, MOST_RATIO
from vademecum.errors import DocumentUnreadable, LimitExceeded, PasswordRequired

# What is this small does no harm however well it was packed, and blank sheets pack very well.
_SMALL_BYTES = 5_000_000
_LOCKED = 0x1
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a compression method that nobody uses in documents
    OSError,
    ValueError,
)


class Archive:
    """The entries of a zip container, read in memory; names are keys and never become paths.

    What the directory promises is checked when it is opened, what really comes out while it is
    read. Raises DocumentUnreadable, PasswordRequired and LimitExceeded.
    """

    def __init__(self, content: bytes, uri: str) -> None:
        self.uri = uri
        self._left = MOST_INFLATED_BYTES
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
            infos = self._zip.infolist()
        except _DAMAGED as error:
            raise damaged(uri) from error
        if len(infos) > MOST_ENTRIES:
            raise LimitExceeded(
                f"{uri} holds {len(infos)} parts, over {MOST_ENTRIES}", hint="split the document"
            )
        if sum(info.file_size for info in infos) > MOST_INFLATED_BYTES or any(
            info.file_size > max(_SMALL_BYTES, MOST_RATIO * info.compress_size) for info in infos
        ):
            raise self._flood()
        # The last entry of a name is the one that counts, as for every program that writes them.
        self._infos = {info.filename: info for info in infos}

    @property
    def names(self) -> list[str]:
        return list(self._infos)

    def read(self, name: str) -> bytes | None:
        """Return an entry's bytes, or None where there is none of this name."""
        info = self._infos.get(name)
        if info is None:
            return None
        if info.flag_bits & _LOCKED:
            raise locked(self.uri)
        try:
            with self._zip.open(info) as stream:
                content = stream.read(self._left + 1)
        except _DAMAGED as error:
            raise damaged(self.uri) from error
        self._left -= len(content)
        if self._left < 0:
            raise self._flood()
        return content

    def xml(self, name: str) -> Any | None:
        """Return the root element of an XML entry, or None where there is none of this name."""
        content = self.read(name)
        return None if content is None else parse_xml(content, self.uri)

    def _flood(self) -> LimitExceeded:
        megabytes = MOST_INFLATED_BYTES // 1_000_000
        return LimitExceeded(
            f"{self.uri} unpacks to over {megabytes} MB or {MOST_RATIO} times its size",
            hint="it looks like an archive bomb; if it is none, save it without its pictures",
        )


def parse_xml(content: bytes, uri: str) -> Any:
    """Return the root element. No entity is resolved, nothing is fetched, and a document that
    declares entities is refused."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise damaged(uri) from error
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.iterentities()):
        raise DocumentUnreadable(
            f"{uri} declares XML entities, which documents do not need",
            hint="open it in its program and save it again",
        )
    return root


def damaged(uri: str) -> DocumentUnreadable:
    return DocumentUnreadable(
        f"{uri} is damaged", hint="open it in its program and save it again, or export it as PDF"
    )


def locked(uri: str) -> PasswordRequired:
    return PasswordRequired(f"{uri} is locked", hint="remove its password and ingest it again")
