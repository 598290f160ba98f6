"""What does a page say that is only a picture? The machine's `tesseract` reads it, if wanted.

No file is written: the picture goes in by a pipe and the text comes out by another.
"""

import subprocess

import pypdfium2
import regex

_DPI = 300
_MOST_PIXELS = 40_000_000
_SECONDS = 40.0  # for one page
_LANGUAGES = regex.compile(r"[A-Za-z_]{2,20}(?:\+[A-Za-z_]{2,20})*")
_HYPHENS = regex.compile(r"(?<=\p{Ll})-\n(?=\p{Ll})")
_PROGRAM = "tesseract"
_FOLDERS = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"


class NotRecognised(Exception):  # said as it is
    """The program is not there, does not know a language, or took too long."""


def paragraphs_on(page: pypdfium2.PdfPage, languages: str) -> list[str]:
    """Return the paragraphs that are recognised on a page.

    `languages` is the program's own argument, such as `por+eng`. Raises NotRecognised.
    """
    if not _LANGUAGES.fullmatch(languages):
        raise NotRecognised(f"{languages!r} names no languages")
    points = max(1.0, page.get_width() * page.get_height())
    scale = min(_DPI / 72, (_MOST_PIXELS / points) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True)
    stride, width, height = bitmap.stride, bitmap.width, bitmap.height
    rows = memoryview(bitmap.buffer)
    picture = bytearray(b"P5 %d %d 255\n" % (width, height))
    for row in range(height):
        picture += rows[row * stride : row * stride + width]
    bitmap.close()
    return _paragraphs(_recognised(bytes(picture), languages, round(scale * 72)))


def _recognised(picture: bytes, languages: str, dpi: int) -> str:
    command = [_PROGRAM, "stdin", "stdout", "-l", languages, "--psm", "1", "--dpi", str(dpi)]
    try:
        done = subprocess.run(  # a fixed program, checked arguments
            command,
            input=picture,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={"PATH": _FOLDERS, "OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8"},
        )
    except FileNotFoundError as error:
        raise NotRecognised("tesseract is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise NotRecognised(f"a page took over {_SECONDS:.0f} s") from error
    if done.returncode:
        raise NotRecognised(f"tesseract ended with status {done.returncode}")
    return done.stdout.decode("utf-8", errors="replace")


def _paragraphs(text: str) -> list[str]:
    parts = _HYPHENS.sub("", text.replace("\f", "\n\n")).split("\n\n")
    return [part.strip() for part in parts if part.strip()]
