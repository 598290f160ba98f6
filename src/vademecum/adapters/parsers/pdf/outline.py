"""Which lines are headings because the file's own outline names them?"""

from collections.abc import Mapping
from itertools import islice

import pypdfium2
import regex

from vademecum.text.normalise import clean, fold

_MOST_ENTRIES = 5_000
_DEEPEST = 6
_SHORTEST = 2
_NOT_WORDS = regex.compile(r"[^\p{L}\p{N}]+")
# Numbers of chapters stand in the line or the outline only, or in both.
_NUMBERING = regex.compile(
    r"^(?:(?:chapter|cap[ií]tulo|section|sec[cç][aã]o|art)\s+)?[\d.]+\s*", regex.I
)

Outline = Mapping[int, Mapping[str, int]]


def outline_of(pdf: pypdfium2.PdfDocument) -> Outline:
    """Return for each page (from 0) the names that the outline points to there, with levels."""
    named: dict[int, dict[str, int]] = {}
    for bookmark in islice(pdf.get_toc(max_depth=_DEEPEST), _MOST_ENTRIES):
        try:
            target = bookmark.get_dest()
            page = target.get_index() if target else None
            title = clean(bookmark.get_title())
        except (pypdfium2.PdfiumError, UnicodeDecodeError):
            continue
        if page is not None:
            for name in _names(title):
                named.setdefault(page, {}).setdefault(name, bookmark.level + 1)
    return named


def level_of(text: str, names: Mapping[str, int]) -> int:
    """Return the level of a line that the outline names on its page, or 0."""
    if not names:
        return 0
    return next((names[name] for name in _names(text) if name in names), 0)


def _names(title: str) -> list[str]:
    """Return the forms under which two spellings of a heading are equal, the fullest first."""
    full = _NOT_WORDS.sub("", fold(title))
    bare = _NOT_WORDS.sub("", fold(_NUMBERING.sub("", title.strip())))
    return [name for name in dict.fromkeys((full, bare)) if len(name) >= _SHORTEST]
