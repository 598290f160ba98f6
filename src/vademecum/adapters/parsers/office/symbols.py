"""Which letters do the signs of symbol fonts stand for?"""

_GREEK = dict(zip("abgdezhqiklmnxoprstufcyw", "αβγδεζηθικλμνξοπρστυφχψω", strict=True))
_SYMBOL = (
    {ord(sign): letter for sign, letter in _GREEK.items()}
    | {ord(sign.upper()): letter.upper() for sign, letter in _GREEK.items()}
    | {0xA3: "≤", 0xA5: "∞", 0xB0: "°", 0xB1: "±", 0xB3: "≥", 0xB4: "×", 0xB7: "•", 0xB8: "÷"}
    | {0xB9: "≠", 0xBB: "≈", 0xAE: "→", 0xAC: "←", 0xD6: "√", 0xE5: "∑", 0xF2: "∫"}
)
_WINGDINGS = {
    0x6C: "•",
    0x6E: "■",
    0x71: "□",
    0x76: "◆",
    0xA7: "▪",
    0xA8: "☐",
    0xB7: "•",
    0xD8: "➢",
    0xE0: "→",
    0xE8: "➔",
    0xFB: "✗",
    0xFC: "✓",
    0xFD: "☒",
    0xFE: "☑",
    0x4A: "☺",
    0x21: "✏",
}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}
_PRIVATE = 0xF000  # where programs put the signs of such fonts


def symbol(font: str, code: str) -> str:
    """Return the letter of a sign, given by its font and its code in hexadecimal digits."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    known = _FONTS.get(font.strip().lower())
    low = number - _PRIVATE if number >= _PRIVATE else number
    if known is not None and low in known:
        return known[low]
    private = 0xE000 <= number <= 0xF8FF
    return chr(number) if 32 <= number <= 0x10FFFF and not private else ""
