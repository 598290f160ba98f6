"""How do bytes become text and blocks?"""

from typing import Protocol

from vademecum.model.document import ParsedDocument


class Parser(Protocol):
    """Read one document. Runs in a child process with limits; nothing it does can hurt others."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same bytes may give another text."""
        ...

    async def parse(self, content: bytes, uri: str) -> ParsedDocument:
        """Return the extracted text. The first bytes decide the type, `uri` only breaks ties.

        Raises: PasswordRequired, MediaTypeUnknown, LimitExceeded, DocumentUnreadable.
        """
        ...
