"""How is a page of the web read? What a visitor sees, every word once, without the page's frame."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from selectolax.lexbor import LexborHTMLParser, LexborNode

from vademecum.adapters.parsers.compose import Composer, one_line, superscript
from vademecum.adapters.parsers.integers import integer
from vademecum.adapters.parsers.web.hidden import (
    colour,
    declarations,
    hidden_by_rules,
    is_hidden,
)
from vademecum.adapters.parsers.web.html_table import is_layout, table
from vademecum.adapters.parsers.web.page import open_page, page_language, page_title
from vademecum.model.document import ParsedDocument

# What is no text of the page, or only controls of it.
_NO_TEXT = frozenset(
    (
        *("script", "style", "template", "noscript", "head", "iframe", "object", "embed", "canvas"),
        *(
            "audio",
            "video",
            "svg",
            "map",
            "select",
            "input",
            "textarea",
            "button",
            "datalist",
            "rp",
        ),
        *("annotation", "annotation-xml", "-comment", "img", "picture", "source", "frameset"),
    )
)
_BLOCKS = frozenset(
    (
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "body",
            "caption",
            "center",
            "dd",
            "details",
        ),
        *("dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "legend", "li", "main"),
        *("menu", "nav", "ol", "p", "pre", "search", "section", "summary", "table", "tbody", "td"),
        *("tfoot", "th", "thead", "tr", "ul", "xmp", "listing", "optgroup", "marquee"),
    )
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_FRAME_TAGS = frozenset(("nav", "header", "footer", "aside"))
_SKIPPED_BARE = _FRAME_TAGS | {"dialog"}  # what may be left out though it has no attribute
_FRAME_ROLES = frozenset(("navigation", "banner", "contentinfo", "complementary", "search"))
_FRAME_NAMES = frozenset(
    (
        *(
            "breadcrumb",
            "breadcrumbs",
            "navbar",
            "navbox",
            "mw-jump-link",
            "mw-editsection",
            "noprint",
        ),
        *(
            "headerlink",
            "hash-link",
            "cookie-banner",
            "cookie-notice",
            "skip-link",
            "site-header",
            "site-footer",
        ),
        *("sidebar", "catlinks", "toc-sidebar", "share-buttons", "social-share"),
    )
)
_MANY_LINKS = 5
_LINK_SHARE = 0.7
_MAIN_SHARE = 0.5  # of the page's letters: less is only a part of what it says


def parse_html(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read HTML: headings, paragraphs, lists, tables and code of the main part."""
    page = open_page(content, uri)
    composer = Composer()
    left_out = read_page(page, composer)
    return composer.document(
        title=page_title(page) or PurePosixPath(uri).stem,
        media_type=media_type,
        language=page_language(page),
        warnings=left_out,
    )


def read_page(page: LexborHTMLParser, composer: Composer) -> tuple[str, ...]:
    """Put the page's text into the composer; return what was left out on purpose."""
    walk = _Walk(
        composer=composer, rules=hidden_by_rules(page), lone_heading=len(page.css("h1")) == 1
    )
    if page.css_first("style, link[rel~=stylesheet]") is None:
        walk.backgrounds.append((0, "#ffffff"))
    root = _main(page)
    if root is None:
        return ()
    _lone_heading(page, root, walk)
    walk.run(root)
    if not walk.found and walk.left_out["frame"]:
        walk.lone_heading = False
        walk.frames = False  # the frame is all that there is
        walk.left_out.clear()
        walk.run(root)
    told = (
        ("hidden", "hidden element left out", "hidden elements left out"),
        ("frame", "navigation part left out", "navigation parts left out"),
    )
    return tuple(
        f"{count} {one if count == 1 else many}"
        for name, one, many in told
        if (count := walk.left_out[name])
    )


def _main(page: LexborHTMLParser) -> LexborNode | None:
    """Return the part that the page itself calls its main one where most of the text is."""
    body = page.body
    if body is None:
        return page.root
    for selector in ("main, [role=main]", "article"):
        found = page.css(selector)
        if len(found) == 1 and _letters(found[0]) >= _MAIN_SHARE * _letters(body):
            return found[0]
    return body


def _letters(node: LexborNode) -> int:
    return sum(
        len(part.text_content or "")
        for part in node.traverse(include_text=True)
        if part.is_text_node and (part.parent is None or part.parent.tag not in _NO_TEXT)
    )


def _lone_heading(page: LexborHTMLParser, root: LexborNode, walk: "_Walk") -> None:
    """Read the page's only first heading where it stands outside of its main part."""
    heading = page.css_first("h1")
    if heading is not None and walk.lone_heading and root.css_first("h1") is None:
        walk.run(heading)


def _is_links(node: LexborNode) -> bool:
    """Tell whether a part is little else than many links."""
    links = node.css("a")
    return len(links) >= _MANY_LINKS and sum(map(_letters, links)) >= _LINK_SHARE * _letters(node)


def _narrowed(text: str) -> str:
    """Return a text with one blank for each stretch of blanks, also at its ends."""
    words = " ".join(text.split())
    if not words:
        return " " if text else ""
    return f"{' ' * text[0].isspace()}{words}{' ' * text[-1].isspace()}"


@dataclass(slots=True, kw_only=True)
class _List:
    ordered: bool
    number: int


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Go through a tree and hand its pieces to the composer."""

    composer: Composer
    rules: frozenset[int]
    lone_heading: bool = False  # the page has one first heading, so it is not the site's name
    frames: bool = True
    found: bool = False
    left_out: Counter[str] = field(default_factory=Counter)
    backgrounds: list[tuple[int, str]] = field(default_factory=list)
    inside: int = 0  # open articles and main parts
    level: int = 0
    quotes: int = 0
    pre: int = 0
    lists: list[_List] = field(default_factory=list)
    marker: str = ""
    term: str = ""
    inline: list[str] = field(default_factory=list)

    def run(self, root: LexborNode) -> None:
        """Visit each node once, however deep they stand."""
        node: LexborNode | None = root
        while node is not None:
            if node.is_text_node:
                self._text(node.text_content or "")
            elif node.is_element_node and self._enter(node):
                if node.child is not None:
                    node = node.child
                    continue
                self._leave(node)
            while node is not None and node.mem_id != root.mem_id and node.next is None:
                node = node.parent
                if node is not None:
                    self._leave(node)
            node = None if node is None or node.mem_id == root.mem_id else node.next
        self._flush()

    def skips(self, node: LexborNode) -> bool:
        """Tell whether a node is left out with all that is in it, and count it."""
        if node.tag in _NO_TEXT:
            return True
        attributes = node.attributes
        if not attributes and node.tag not in _SKIPPED_BARE and not self.rules:
            return False
        style = declarations(attributes.get("style") or "")
        background = colour(
            style.get("background-color") or style.get("background") or attributes.get("bgcolor")
        )
        ink = colour(style.get("color") or attributes.get("color"))
        behind = background or (self.backgrounds[-1][1] if self.backgrounds else None)
        if is_hidden(node, style, self.rules) or (ink is not None and ink == behind):
            self.left_out["hidden"] += bool(node.text(deep=True).strip())
            return True
        if self.frames and self._is_frame(node):
            self.left_out["frame"] += bool(node.text(deep=True).strip())
            if self.lone_heading and (heading := node.css_first("h1")) is not None:
                self.run(heading)
            return True
        if background:
            self.backgrounds.append((node.mem_id, background))
        return False

    def leaves(self, node: LexborNode) -> None:
        """Forget what lies behind the text of a node that was not skipped."""
        if self.backgrounds and self.backgrounds[-1][0] == node.mem_id:
            self.backgrounds.pop()

    def _is_frame(self, node: LexborNode) -> bool:
        attributes = node.attributes
        if node.tag == "nav":
            return True
        if node.tag in _FRAME_TAGS and (not self.inside or _is_links(node)):
            return True
        role = (attributes.get("role") or "").lower()
        names = {*(attributes.get("class") or "").lower().split(), attributes.get("id") or ""}
        return role in _FRAME_ROLES or not names.isdisjoint(_FRAME_NAMES)

    def _enter(self, node: LexborNode) -> bool:
        """Begin an element; return whether to look into it."""
        if self.skips(node):
            return False
        tag = node.tag or ""
        if tag == "br":
            self.inline.append("\n")
        elif tag == "sup":
            self.inline.append(superscript(node.text(deep=True)))
            self.leaves(node)
            return False
        elif tag in _BLOCKS:
            return self._enter_block(node, tag)
        return True

    def _enter_block(self, node: LexborNode, tag: str) -> bool:
        if self.pre:
            self.inline.append("\n" if self.inline and tag != "pre" else "")
            self.pre += tag == "pre"
            return True
        if tag != "dd" or not self.term or "".join(self.inline).strip():
            self._flush()
        if tag == "table" and not is_layout(node):
            caption, rows, header_rows = table(node, self.skips, self.leaves)
            self.leaves(node)
            self._paragraph(caption)
            self.composer.table(rows, header_rows=header_rows)
            self.found = self.found or bool(rows)
            return False
        self.level = _HEADINGS.get(tag, self.level)
        self.inside += tag in ("article", "main")
        self.quotes += tag == "blockquote"
        self.pre += tag in ("pre", "xmp", "listing")
        if tag in ("ul", "ol", "menu", "dir"):
            number = integer(node.attributes.get("start"), 1)
            self.lists.append(_List(ordered=tag == "ol", number=number))
        elif tag == "li":
            self._begin_item(node)
        elif tag == "dd" and not self.term:
            self.marker = "-"
        return True

    def _begin_item(self, node: LexborNode) -> None:
        self.marker = "-"
        if self.lists and self.lists[-1].ordered:
            self.lists[-1].number = integer(node.attributes.get("value"), self.lists[-1].number)
            self.marker = f"{self.lists[-1].number}."
            self.lists[-1].number += 1

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        self.leaves(node)
        if tag not in _BLOCKS:
            return
        if self.pre and tag not in ("pre", "xmp", "listing"):
            self.inline.append("\n")
            return
        if tag == "dt":
            self.term = self._taken()
            return
        self._flush()
        if tag in _HEADINGS:
            self.level = 0
        self.inside -= tag in ("article", "main")
        self.quotes -= tag == "blockquote"
        self.pre -= tag in ("pre", "xmp", "listing")
        if tag in ("ul", "ol", "menu", "dir"):
            self.lists.pop()
        elif tag in ("li", "dd"):
            self.marker = ""

    def _text(self, text: str) -> None:
        self.inline.append(text if self.pre else _narrowed(text))

    def _taken(self) -> str:
        """Return what stands in the line so far, and begin another one."""
        text = "".join(self.inline)
        self.inline.clear()
        if self.pre:
            return text.strip("\n")
        lines = map(one_line, text.split("\n"))
        return "\n".join(line for line in lines if line)

    def _flush(self) -> None:
        term, self.term = self.term, ""
        text = self._taken()
        if term:
            self._item(f"{term}: {text}" if text else term, marker="-")
        elif text.strip():
            self._place(text)

    def _place(self, text: str) -> None:
        self.found = True
        if self.pre:
            self.composer.code(text)
        elif self.level:
            self.composer.heading(text, self.level)
        elif self.lists or self.marker:
            self._item(text, marker=self.marker)
            self.marker = ""
        elif self.quotes:
            self.composer.quote(text)
        else:
            self._paragraph(text)

    def _item(self, text: str, *, marker: str) -> None:
        self.found = True
        depth = max(0, len(self.lists) - 1)
        self.composer.item(text, marker=marker, depth=depth if marker else depth + 1)

    def _paragraph(self, text: str) -> None:
        self.composer.paragraph(text)
