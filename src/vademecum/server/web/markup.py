"""How is what a model wrote shown, so that nothing in it acts? Markdown in, inert HTML out.

Two walls: the Markdown reader makes no tag that stands in the text, and what it makes goes through
a sanitiser that knows a few tags and two attributes. Nothing that is shown loads anything.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import nh3
import regex
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

_SCHEMES: Final = frozenset({"http", "https", "mailto"})
_TAGS: Final = {
    "a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol",
    "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
# Marks that turn the reading direction, by which a link could show another address than it has.
_TURNING = regex.compile(r"[\u202a-\u202e\u2066-\u2069\u200e\u200f]")
_ONE_PARAGRAPH = regex.compile(r"<p>((?:(?!</?p>).)*)</p>\s*", regex.DOTALL)
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
    ["table", "strikethrough"]
)


def marked_up(text: str) -> Markup:
    """Return one sentence of an answer as HTML.

    A link shows its host and opens nothing of this page, a picture becomes a link to where it is,
    and a link of any scheme but http, https and mailto becomes its text. Headings count as bold
    text, so that a page keeps its own outline.
    """
    tokens = _MARKDOWN.parse(_TURNING.sub("", text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
        if token.children:
            token.children = list(_tame(token.children))
    made = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    clean = nh3.clean(
        made,
        tags=_TAGS,
        attributes={"a": {"href"}},
        allowed_classes={"span": {"host"}},
        url_schemes=set(_SCHEMES),
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
    ).strip()
    alone = _ONE_PARAGRAPH.fullmatch(clean)
    return Markup(alone[1] if alone else clean)  # noqa: S704 - sanitised on the line above


def is_block(made: Markup) -> bool:
    """Tell whether what `marked_up` made is more than a line of text."""
    return made.startswith(("<p>", "<ul>", "<ol>", "<pre>", "<blockquote>", "<table>", "<hr"))


def _tame(tokens: list[Token]) -> Iterator[Token]:
    """Yield the pieces of a line with pictures as links, and links that name their host."""
    hosts: list[str] = []
    for token in tokens:
        match token.type:
            case "image":
                yield from _linked(str(token.attrGet("src") or ""), token.content)
            case "link_open":
                host = _host(str(token.attrGet("href") or ""))
                hosts.append(host)
                if host:
                    yield token
            case "link_close":
                if host := hosts.pop():
                    yield token
                    yield from _told(host)
            case _:
                yield token


def _linked(address: str, words: str) -> Iterator[Token]:
    text = Token("text", "", 0, content=words or address)
    host = _host(address)
    if not host:
        yield text
        return
    yield Token("link_open", "a", 1, attrs={"href": address})
    yield text
    yield Token("link_close", "a", -1)
    yield from _told(host)


def _told(host: str) -> Iterator[Token]:
    yield Token("span_open", "span", 1, attrs={"class": "host"})
    yield Token("text", "", 0, content=f" ({host})")
    yield Token("span_close", "span", -1)


def _host(address: str) -> str:
    """Return whom a link leads to, "" where it must lead nowhere."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if parts.scheme.lower() not in _SCHEMES:
        return ""
    return parts.path if parts.scheme.lower() == "mailto" else host
