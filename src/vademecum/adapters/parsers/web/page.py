"""How do bytes become the tree of a page, and what does the page call itself?"""

import regex
from selectolax.lexbor import LexborHTMLParser

from vademecum.adapters.parsers.compose import one_line
from vademecum.adapters.parsers.decode import decode
from vademecum.errors import LimitExceeded

MOST_DEPTH = 5_000  # the parser's time grows with the square of it
_CHARSET = regex.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]+)",
    regex.I,
)
_HEAD_BYTES = 4_096
_DOCTYPE = regex.compile(r"<!DOCTYPE[^<>\[]*(?:\[.*?\]\s*)?>", regex.I | regex.S)
_SELF_CLOSED = regex.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)"
    r"([a-zA-Z][\w:-]*+)((?:\s[^<>]*)?)/>"
)
# Tags that stand in each other as often as somebody writes them.
_NESTING = regex.compile(
    r"<(/?)(?:div|span|b|i|u|em|strong|font|a|table|ul|ol|dl|blockquote|section|article|main|"
    r"center|small|big|code|q|sup|sub|details|fieldset|form|aside|nav|header|footer)\b",
    regex.I,
)
_LANGUAGE = regex.compile(r"([A-Za-z]{2,3})(?:[-_].*)?")


def open_page(content: bytes, uri: str) -> LexborHTMLParser:
    """Return the tree of a page as a browser would build it."""
    declared = _CHARSET.search(content[:_HEAD_BYTES])
    name = (declared[1] or declared[2]).decode("ascii", "ignore") if declared else ""
    text = decode(content, name).replace("\x00", "")
    deep = 0
    for tag in _NESTING.finditer(text):
        deep = max(0, deep - 1) if tag[1] else deep + 1
        if deep > MOST_DEPTH:
            raise LimitExceeded(
                f"{uri} nests its parts over {MOST_DEPTH} deep", hint="save it as plain text"
            )
    return LexborHTMLParser(_as_html(text))


def _as_html(text: str) -> str:
    """Return a page of XML as one of HTML, where a tag that ends in itself would stay open."""
    head = text[:_HEAD_BYTES]
    if not head.lstrip("\ufeff \r\n\t").startswith("<?xml") and "/xhtml" not in head.lower():
        return text
    return _SELF_CLOSED.sub(r"<\1\2></\1>", _DOCTYPE.sub("<!DOCTYPE html>", text, count=1))


def page_language(page: LexborHTMLParser) -> str:
    root = page.css_first("html")
    attributes = root.attributes if root is not None else {}
    named = attributes.get("lang") or attributes.get("xml:lang") or ""
    match = _LANGUAGE.fullmatch(named.strip())
    return match[1].lower() if match else ""


def page_title(page: LexborHTMLParser) -> str:
    """Return the page's only first heading where its title holds it beside the site's name."""
    node = page.css_first("head > title") or page.css_first("title")
    title = one_line(node.text() if node is not None else "")
    heads = [one_line(head.text()) for head in page.css("h1")]
    if len(heads) == 1 and heads[0] and (heads[0].lower() in title.lower() or not title):
        return heads[0]
    return title
