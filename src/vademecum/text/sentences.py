"""Where does a sentence begin and end, in any script?"""

import regex

from vademecum.text.late import late

# Runs are taken whole (`++`), so that a line of a million dots takes no longer than one of words.
_END = late(
    r"""(?<![.!?…])[.!?…]++["'”’»)\]*_]*+(?:[ ]?\[\d[\d,–\- ]*\])*+(?=\s|$)  # a space must follow
      | [。！？｡‼⁇⁈⁉]+["'”’」』）]*[\p{M}\u200d]*+  # CJK: none; its marks stay with it
      | ．(?!\d)["'”’」』）]*[\p{M}\u200d]*+
      | [।॥۔؟]+["'”’)]*[\p{M}\u200d]*+  # danda, Arabic and Urdu marks
      | \n\s*\n                          # a blank line
      | \n(?=\s*(?:[-*•–·▪]|\d{1,2}[.)]|[a-z][)])\s)  # the next list item
      | \n(?=\s*[#|>])                   # a heading, table row or quotation
    """,
    regex.VERBOSE,
)
# Short forms after which the sentence goes on, whatever follows.
_BEFORE_A_NAME = late(
    r"(?:^|[\s(])(?:av|cf|dr|dra|dres|e\.g|eg|i\.e|ie|ex|mr|mrs|ms|obs|prof|profa|sr|sra|srta|st|"
    r"sta|sto|tel|vs)\.$",
    regex.IGNORECASE,
)
# Short forms of which many are also words, such as "art" and "par": a number must follow.
_BEFORE_A_NUMBER = late(
    r"(?:^|[\s(])(?:art|arts|cap|ed|fig|inc|n|no|nos|nr|nrs|nro|num|núm|p|pág|págs|pag|pags|par|"
    r"pp|sec|vol)\.$",
    regex.IGNORECASE,
)
_NUMBER_NEXT = late(r"\.\s+[\d§]")
_INITIAL = late(r"(?:^|[\s.(])\p{Lu}\.$")
_INITIAL_BEFORE = late(
    r"(?:\b\p{Lu}\.|\b(?:dr|dra|mr|mrs|ms|prof|profa|sr|sra|srta)\.)\s*\p{Lu}\.$", regex.IGNORECASE
)
_INITIAL_NEXT = late(r"\.\s+\p{Lu}\.\s")
_SMALL_NEXT = late(r"\s+\p{Ll}")
# A dot after this little marks a list item or heading: "1. Bring a document", "## 2. Arrival".
_MARKER = late(r"[\s#>*\-]*(?:\d{1,2}(?:\.\d{1,2})*|\p{L})")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence in order, blanks at both ends left out."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if _goes_on(text, start, match.start(), match.end()):
            continue
        _add(spans, text, start, match.end())
        start = match.end()
    _add(spans, text, start, len(text))
    return spans


def _goes_on(text: str, start: int, mark: int, end: int) -> bool:
    """Return whether the mark at `mark:end` stands inside the sentence that began at `start`."""
    shown = text[mark:end]
    if shown == ".":
        return _is_short_form(text, start, mark)
    # He asked "why?" and left. Wait... what?
    return shown[0] in ".!?…" and shown not in "!?" and bool(_SMALL_NEXT.match(text, end))


def _is_short_form(text: str, start: int, dot: int) -> bool:
    if _SMALL_NEXT.match(text, dot + 1) or _MARKER.fullmatch(text, start, dot):
        return True
    begin, end = max(start, dot - 12), dot + 1
    if _BEFORE_A_NAME.search(text, begin, end):
        return True
    if _BEFORE_A_NUMBER.search(text, begin, end) and _NUMBER_NEXT.match(text, dot):
        return True
    # "J. P. Silva" goes on, "sector C. There" does not: an initial needs a title or another one.
    return bool(
        _INITIAL.search(text, begin, end)
        and (_INITIAL_BEFORE.search(text, begin, end) or _INITIAL_NEXT.match(text, dot))
    )


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if stripped := piece.strip():
        begin = start + len(piece) - len(piece.lstrip())
        spans.append((begin, begin + len(stripped)))
