"""Where does a sentence begin and end, in any script?"""

import regex

_END = regex.compile(
    r"""[.!?…]+["'”’»)\]]*(?=\s|$)      # Latin, Cyrillic, Greek: a space must follow
      | [。！？｡]["'”’」』）]*[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*  # CJK: none does
      | [।॥۔؟]["'”’)]*[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*  # danda, Arabic, Urdu
      | \n\s*\n                          # a blank line
      | \n(?=\s*(?:[-*•–·▪]|\d{1,2}[.)]|[a-z][)])\s)  # the next list item
      | \n(?=\s*[#|>])                   # a heading, table row or quotation
    """,
    regex.VERBOSE,
)
_ABBREVIATION = regex.compile(
    r"(?:^|[\s(])(?:art|arts|av|cap|cf|dr|dra|ed|eg|etc|ex|fig|ie|inc|jr|mr|mrs|ms|"
    r"nr|núm|num|obs|pág|pag|par|pp|prof|profa|sec|sr|sra|srta|st|tel|ud|uds|vol|vs)\.$",
    regex.IGNORECASE,
)
_SMALL_NEXT = regex.compile(r"\.\s+\p{Ll}")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence in order, blanks at both ends left out."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if match.group() == "." and _goes_on(text, match.start()):
            continue
        _add(spans, text, start, match.end())
        start = match.end()
    _add(spans, text, start, len(text))
    return spans


def _goes_on(text: str, dot: int) -> bool:
    """Return whether the full stop at `dot` ends a short form and not the sentence."""
    if _SMALL_NEXT.match(text, dot):
        return True
    return _ABBREVIATION.search(text, max(0, dot - 12), dot + 1) is not None


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if stripped := piece.strip():
        begin = start + len(piece) - len(piece.lstrip())
        spans.append((begin, begin + len(stripped)))
