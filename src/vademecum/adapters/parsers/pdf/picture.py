"""What does a page of a PDF look like, and where on it do these words stand?"""

import ctypes
import struct
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pypdfium2
import pypdfium2.raw as pdfium
import regex

from vademecum.errors import DocumentUnreadable
from vademecum.text.normalise import fold

Box = tuple[float, float, float, float]
# Enough to read on a wide screen; a page as large as a poster gets fewer points an inch.
_SCALE = 1.6
_MOST_PIXELS = 4_000_000
_MARK = np.array([255, 236, 130], dtype=np.float32)
_EDGE = np.array([176, 96, 0], dtype=np.uint8)
_MARGIN = 2
_FEWEST_PIXELS = 2
_WORD = regex.compile(r"[\p{L}\p{N}]")
# A quotation may begin or end on another page: so many of its letters in a row are looked for.
_FEWEST = 12
Pixels = npt.NDArray[np.uint8]


def paint(content: bytes, number: int, words: str) -> bytes:
    """Return page `number`, from 1, as a PNG, with a box on each line of `words`.

    Raises: DocumentUnreadable where there is no such page.
    """
    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        raise DocumentUnreadable("this PDF cannot be drawn", hint="open the original") from error
    try:
        if not 1 <= number <= len(pdf):
            raise DocumentUnreadable(f"there is no page {number}", hint="open the original")
        page = pdf[number - 1]
        width, height = page.get_size()
        scale = min(_SCALE, (_MOST_PIXELS / max(1.0, width * height)) ** 0.5)
        bitmap = page.render(scale=scale, rev_byteorder=True)
        pixels = np.array(bitmap.to_numpy(), dtype=np.uint8)[:, :, :3].copy()
        for box in _boxes(page, words):
            _draw(pixels, *_on_picture(page, box, pixels))
    finally:
        pdf.close()
    return png(pixels)


def _boxes(page: pypdfium2.PdfPage, words: str) -> list[Box]:
    """Return left, bottom, right, top of each line that the words take, in points."""
    wanted = "".join(_letters(words))
    if not wanted:
        return []
    text = page.get_textpage()
    letters: list[tuple[str, int]] = []
    for index, character in enumerate(_characters(text)):
        letters += [(letter, index) for letter in _letters(character)]
    stream = "".join(letter for letter, _ in letters)
    span = _find(stream, wanted)
    if span is None:
        return []
    indices = sorted({index for _, index in letters[span[0] : span[1]]})
    return _lines([text.get_charbox(index) for index in indices])


def _characters(text: pypdfium2.PdfTextPage) -> Iterator[str]:
    for index in range(text.count_chars()):
        yield text.get_text_range(index, 1)


def _letters(text: str) -> list[str]:
    """Return letters and digits alone: spaces, hyphens and marks differ between page and text."""
    return _WORD.findall(fold(text))


def _find(stream: str, wanted: str) -> tuple[int, int] | None:
    """Return where the letters stand; where not all do, the most of their beginning or end."""
    at = stream.find(wanted)
    if at >= 0:
        return at, at + len(wanted)
    for part in _parts(wanted):
        for cut in (wanted[:part], wanted[-part:]):
            at = stream.find(cut)
            if at >= 0:
                return at, at + len(cut)
    return None


def _parts(wanted: str) -> Iterator[int]:
    """Yield ever smaller lengths, each a tenth shorter."""
    length = len(wanted) * 9 // 10
    while length >= min(_FEWEST, len(wanted)):
        yield length
        length = length * 9 // 10


def _lines(boxes: list[Box]) -> list[Box]:
    """Join the boxes of letters that stand on one line."""
    lines: list[Box] = []
    for left, bottom, right, top in boxes:
        if right <= left or top <= bottom:
            continue
        if lines:
            l0, b0, r0, t0 = lines[-1]
            middle = (bottom + top) / 2
            if b0 <= middle <= t0 and left >= l0 - 1 and left - r0 < 8 * (t0 - b0):
                lines[-1] = (l0, min(b0, bottom), max(r0, right), max(t0, top))
                continue
        lines.append((left, bottom, right, top))
    return lines


def _on_picture(page: pypdfium2.PdfPage, box: Box, pixels: Pixels) -> tuple[int, int, int, int]:
    """Return a box in pixels, whatever part of the page is shown and however it is turned."""
    rows, columns = pixels.shape[:2]
    left, bottom, right, top = box
    corners = []
    for across, up in ((left, bottom), (right, top)):
        x, y = ctypes.c_int(), ctypes.c_int()
        pdfium.FPDF_PageToDevice(page, 0, 0, columns, rows, 0, across, up, x, y)
        corners.append((x.value, y.value))
    (x0, y0), (x1, y1) = corners
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _draw(pixels: Pixels, left: int, top: int, right: int, bottom: int) -> None:
    """Tint a box as a marker pen does, and draw its edge."""
    rows, columns = pixels.shape[:2]
    x0, x1 = max(0, left - _MARGIN), min(columns, right + 1 + _MARGIN)
    y0, y1 = max(0, top - _MARGIN), min(rows, bottom + 1 + _MARGIN)
    if x1 - x0 < _FEWEST_PIXELS or y1 - y0 < _FEWEST_PIXELS:
        return
    inside = pixels[y0:y1, x0:x1].astype(np.float32)
    pixels[y0:y1, x0:x1] = (inside * (_MARK / 255)).astype(np.uint8)
    pixels[[y0, y1 - 1], x0:x1] = _EDGE
    pixels[y0:y1, [x0, x1 - 1]] = _EDGE


def png(pixels: Pixels) -> bytes:
    """Return rows of red, green and blue as a PNG (ISO 15948), each row unfiltered."""
    rows, columns = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    unfiltered = np.zeros((rows, 1 + 3 * columns), dtype=np.uint8)
    unfiltered[:, 1:] = pixels.reshape(rows, 3 * columns)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _part(b"IHDR", header)
        + _part(b"IDAT", zlib.compress(unfiltered.tobytes(), 6))
        + _part(b"IEND", b"")
    )


def _part(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
