"""Who draws a page of a document, without danger for whoever asks?"""

from typing import Protocol, runtime_checkable


@runtime_checkable
class PagePainter(Protocol):
    """Draws pages of originals, which are as foreign as when they were read."""

    async def paint(self, content: bytes, number: int, words: str) -> bytes:
        """Return page `number`, from 1, of a PDF as a PNG, with `words` marked where they stand.

        Raises: DocumentUnreadable, LimitExceeded.
        """
        ...
