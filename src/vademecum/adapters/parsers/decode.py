"""Which letters do these bytes stand for?"""

import codecs
import unicodedata

import regex

from vademecum.adapters.parsers.letters import likely_encoding

_SAMPLE_BYTES = 1 << 16
# The longer mark of two that begin alike comes first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Ways to write letters with other letters, which no document is encoded in.
_NO_LETTERS = {"unicode-escape", "raw-unicode-escape", "idna", "punycode"}
# What a document calls its encoding, and what programs mean by it.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
}
# How the older mail of East Asia marks what follows, in bytes that are all ASCII.
_ESCAPED = regex.compile(rb"\x1b\$|~\{")
_NOT_ASCII = regex.compile(r"[^\x00-\x7f]")


def decode(content: bytes, declared: str = "") -> str:
    """Return the text of bytes: by their mark, else UTF-8 where it fits, else as the document
    says, else by the letters that come out. Nothing raises: what fits nowhere is replaced."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, errors="replace")
    named = encoding_named(declared)
    if b"\x00" in content[:_SAMPLE_BYTES] and (wide := _wide(content[:_SAMPLE_BYTES])):
        return content.decode(wide, errors="replace")
    if content.isascii():
        escaped = named if named.startswith(("iso2022", "hz")) else "iso2022_jp"
        return content.decode(escaped if _ESCAPED.search(content) else "ascii", errors="replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    sample = content[:_SAMPLE_BYTES]
    if _mostly_utf8(sample):
        return content.decode("utf-8", errors="replace")
    if not named or named.startswith("utf"):
        named = likely_encoding(sample)
    return content.decode(named, errors="replace")


def encoding_named(name: str) -> str:
    """Return Python's name of the encoding that a document means, or an empty string."""
    try:
        found = codecs.lookup(name.strip().strip("'\"").lower() or "-").name
        b"x".decode(found)
    except (LookupError, ValueError):
        return ""
    return "" if found in _NO_LETTERS else _MEANT.get(found, found)


def _wide(sample: bytes) -> str:
    """Return the name of UTF-16 or UTF-32 without a mark, or an empty string.

    There the zeros stand in the same place of each unit, and they are many or the bytes are no
    other text.
    """
    whole = len(sample) - len(sample) % 4
    units = max(1, whole // 4)
    zeros = [sample[place:whole:4].count(0) / units for place in range(4)]
    if min(zeros[2:]) > 0.9 > zeros[0]:
        return "utf-32-le"
    if min(zeros[:2]) > 0.9 > zeros[3]:
        return "utf-32-be"
    big, little = zeros[0] + zeros[2], zeros[1] + zeros[3]
    if min(big, little) > 0.1 * max(big, little):
        return ""
    if max(big, little) < 1.2 and _is_narrow(sample):
        return ""
    encoding = "utf-16-le" if little > big else "utf-16-be"
    text = sample[:whole].decode(encoding, errors="replace")
    strange = sum(unicodedata.category(letter) in ("Cc", "Cn", "Co", "Cs") for letter in text)
    breaks = sum(text.count(blank) for blank in "\t\n\r")
    return encoding if strange - breaks <= len(text) // 50 else ""


def _is_narrow(sample: bytes) -> bool:
    """Tell whether bytes with zeros in them are text of one byte a letter all the same."""
    control = sum(0 < byte < 9 or 13 < byte < 27 for byte in sample)
    if control * 50 > len(sample):
        return False
    return sample.isascii() or _mostly_utf8(sample)


def _mostly_utf8(sample: bytes) -> bool:
    """Tell whether this is UTF-8 with a few damaged letters."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(sample)
    lost = text.count("\ufffd")
    kept = len(_NOT_ASCII.findall(text)) - lost
    return kept > 0 and lost * 10 <= kept
