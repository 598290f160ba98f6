"""How does a spreadsheet show a number?"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import regex

# The formats that programs know by number only.
_BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    **dict.fromkeys((14, 15, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58), "yyyy-mm-dd"),
    **dict.fromkeys((16, 17), "yyyy-mm-dd"),
    **dict.fromkeys((18, 20, 32, 34), "h:mm"),
    **dict.fromkeys((19, 21, 33, 35), "h:mm:ss"),
    22: "yyyy-mm-dd h:mm",
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
}
_QUOTED = regex.compile(r'"[^"]*"|\\.|_.|\*.')
_ELAPSED = regex.compile(r"\[(h+|m+|s+)\]", regex.I)
_BRACKETS = regex.compile(r"\[[^\]]*\]")
_CURRENCY = regex.compile(r"\[\$([^\]-]+)(?:-[^\]]*)?\]")
_SIGN = regex.compile(r"\p{Sc}|R\$|US\$|(?:EUR|USD|BRL|GBP|CHF|JPY)", regex.I)
_DECIMALS = regex.compile(r"[0#?]\.([0?#]+)")
_ZEROS = regex.compile(r"0{2,}")
_LAST_DAY = 2_958_465  # 31 December 9999


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """What a format makes of a number: `kind` is general, date, time, elapsed, percent or fixed.

    `decimals` is -1 where as many are shown as there are; `zeros` fills up codes such as 00420.
    """

    kind: str = "general"
    dated: bool = False
    timed: bool = False
    decimals: int = -1
    zeros: int = 0
    sign: str = ""
    sign_first: bool = True


GENERAL = Format()


def read_format(number: int, code: str | None) -> Format:
    """Return what a format says, by its code or, for the ones every program knows, its number."""
    code = code or _BUILT_IN.get(number, "")
    first = code.split(";")[0]
    currency = _CURRENCY.search(first)
    bare = _BRACKETS.sub("", _QUOTED.sub("", first)).lower()
    if _ELAPSED.search(first):
        return Format(kind="elapsed")
    parts = bare.replace("am/pm", "h").replace("a/p", "h")
    dated = "y" in parts or "d" in parts or ("m" in parts and "h" not in parts and "s" not in parts)
    timed = "h" in parts or "s" in parts
    if (dated or timed) and not regex.search(r"[0#?](?!.*s)", parts) and "e+" not in parts:
        return Format(kind="date", dated=dated, timed=timed)
    shown = _DECIMALS.search(bare)
    decimals = len(shown[1]) if shown else 0 if regex.search(r"[0#]", bare) else -1
    if shown and "#" in shown[1]:
        decimals = -1
    if "%" in bare:
        return Format(kind="percent", decimals=decimals)
    if "e+" in bare or "e-" in bare or "/" in bare or decimals < 0:
        return GENERAL
    zeros = len(bare) if _ZEROS.fullmatch(bare) else 0
    sign = currency[1] if currency else ""
    if not sign and (literal := _SIGN.search(first)):
        sign = literal.group()
    place = first.find(sign) if sign else 0
    digits = min((first.find(digit) for digit in "0#" if digit in first), default=0)
    return Format(
        kind="fixed", decimals=decimals, zeros=zeros, sign=sign, sign_first=place < digits
    )


def shown(value: float, how: Format, *, from_1904: bool = False) -> str:
    """Return a number as its format shows it, dates as ISO, without signs between thousands."""
    if how.kind == "date" and 0 <= value <= _LAST_DAY:
        return _moment(value, how, from_1904=from_1904)
    if how.kind == "elapsed":
        seconds = round(value * 86_400)
        return f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
    if how.kind == "percent":
        return f"{general(round(value * 100, max(how.decimals, 0) if how.decimals >= 0 else 10))}%"
    if how.kind == "fixed":
        text = f"{value:.{min(how.decimals, 15)}f}" if abs(value) < 1e15 else general(value)
        if how.zeros:
            text = text.zfill(how.zeros)
        if how.sign:
            text = f"{how.sign}{text}" if how.sign_first else f"{text} {how.sign}"
        return text.strip()
    return general(value)


def general(value: float) -> str:
    """Return a number with the digits that a spreadsheet keeps, which are fifteen."""
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    text = f"{value:.15g}"
    return f"{value:.20f}".rstrip("0") if "e-0" in text and abs(value) > 1e-9 else text


def _moment(value: float, how: Format, *, from_1904: bool) -> str:
    """Return a count of days as a date, with the time where the format shows one."""
    # The first spreadsheet took 1900 for a leap year, and all others still do.
    first = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30)  # noqa: DTZ001
    if not from_1904 and 0 < value < 60:
        first = datetime(1899, 12, 31)  # noqa: DTZ001
    try:
        moment = first + timedelta(seconds=round(value * 86_400))
    except OverflowError:
        return general(value)
    time = moment.strftime("%H:%M:%S" if moment.second else "%H:%M")
    if not how.dated:
        return time
    date = moment.date().isoformat()
    return f"{date} {time}" if how.timed else date
