"""HTML, XML, SVG and Markdown: entities, depth, scripts, addresses, unclosed and endless things."""

import base64
from collections.abc import Callable
from random import Random

from malformed.sample import Sample, damaged, paragraph, sentence


def _html(body: str, head: str = "") -> Sample:
    page = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
    return Sample(content=page.encode("utf-8", "surrogatepass"), uri="site/page.html")


def _markdown(text: str) -> Sample:
    return Sample(content=text.encode(), uri="notes/note.md")


def bytes_changed(random: Random) -> Sample:
    page = f"<html><body><h1>Doors</h1><p>{paragraph(random)}</p><table><tr><td>1</table></body></html>"
    return Sample(content=damaged(random, page.encode()), uri="site/page.html")


def billion_laughs(random: Random) -> Sample:
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))
    content = f'<?xml version="1.0"?><!DOCTYPE a [{lol}]><a>&l9; {sentence(random)}</a>'
    return Sample(content=content.encode(), uri=random.choice(["a.xml", "a.html", "a.svg", "a.md"]))


def quadratic_entity(random: Random) -> Sample:
    content = f'<!DOCTYPE a [<!ENTITY x "{"x" * 50_000}">]><a>{"&x;" * 20_000}</a>'
    return Sample(content=content.encode(), uri=random.choice(["a.xml", "a.html"]))


def outside_entity(random: Random) -> Sample:
    where = random.choice(["file:///etc/passwd", "http://192.0.2.1/", "php://filter/x"])
    content = (
        f'<!DOCTYPE a [<!ENTITY % p SYSTEM "{where}">%p;<!ENTITY x SYSTEM "{where}">]><a>&x;</a>'
    )
    return Sample(content=content.encode(), uri=random.choice(["a.xml", "a.xhtml", "a.svg"]))


def deep_elements(random: Random) -> Sample:
    depth, tag = (
        random.choice([500, 20_000, 100_000]),
        random.choice(["div", "ul><li", "table><tr><td", "b", "a"]),
    )
    return _html(f"<{tag}>" * depth + sentence(random))


def unclosed(random: Random) -> Sample:
    opened = random.choice(
        ["<!--", "<script>", "<style>", "<title>", "<textarea>", "<![CDATA[", "<a href='", "<"]
    )
    return _html(f"<p>{sentence(random)}</p>{opened}{paragraph(random)}")


def strange_entities(random: Random) -> Sample:
    marks = (
        "&#0;&#xD800;&#x110000;&#99999999999;&nbsp;&amp;amp;&notit;&#x202e;&#xE0041;&bogus;&#x;&#"
    )
    return _html(f"<p>{marks}{sentence(random)}{marks}</p>")


def scripts(random: Random) -> Sample:
    body = (
        "<script>document.write('x')</script><img src=x onerror=alert(1)>"
        "<a href='javascript:alert(1)'>go</a><iframe srcdoc='<script>1</script>'></iframe>"
        f"<svg onload=alert(1)><text>{sentence(random)}</text></svg><object data=x></object>"
    )
    return _html(body)


def data_addresses(random: Random) -> Sample:
    data = base64.b64encode(random.randbytes(200_000)).decode()
    return _html(
        f"<img alt='{sentence(random)}' src='data:image/png;base64,{data}'>{paragraph(random)}"
    )


def broken_charset(random: Random) -> Sample:
    charset = random.choice(
        ["utf-16", "utf-7", "x-user-defined", "no-such", "iso-2022-jp", "\x00", "utf-32"]
    )
    page = f"<meta charset='{charset}'><p>caf\xe9 {sentence(random)}</p>"
    return Sample(content=page.encode("latin-1", "replace"), uri="site/page.html")


def two_charsets(random: Random) -> Sample:
    content = (
        "\ufeff<meta charset=latin-1>".encode("utf-16")
        + sentence(random).encode()
        + b"\xff\xfe\x80"
    )
    return Sample(content=content, uri="site/page.html")


def endless_line(random: Random) -> Sample:
    words = sentence(random) + " "
    return _html("<p>" + words * (random.choice([1, 4]) * 1_000_000 // len(words.encode())))


def many_attributes(random: Random) -> Sample:
    return _html(
        "<p "
        + " ".join(f"a{n}='{n}'" for n in range(random.choice([100, 50_000])))
        + f">{sentence(random)}"
    )


def bad_tables(random: Random) -> Sample:
    span = random.choice([0, -1, 1_000, 2**31])
    row = f"<tr><td colspan={span} rowspan={span}>{sentence(random)}<td><tr><th>"
    return _html(f"<table>{row * 20}<table><caption>{row}</table>")


def frames_and_links(random: Random) -> Sample:
    return _html(
        "<iframe src='file:///etc/passwd'></iframe><embed src='http://192.0.2.1/'>"
        + paragraph(random),
        "<base href='file:///'><link rel=stylesheet href='//192.0.2.1/x'><meta http-equiv=refresh content='0;url=//192.0.2.1'>",
    )


def markdown_depth(random: Random) -> Sample:
    depth = random.choice([200, 20_000])
    return _markdown(random.choice(["> ", "- ", "* ", "1. ", "#"]) * depth + sentence(random))


def markdown_brackets(random: Random) -> Sample:
    times = random.choice([500, 50_000])
    return _markdown(
        random.choice(["[", "![", "[](", "**", "_", "`", "<", "|", "&", "\\", "~~", "[a]("]) * times
        + sentence(random)
    )


def markdown_references(random: Random) -> Sample:
    count = random.choice([100, 10_000])
    return _markdown("".join(f"[r{n}]: /{n}\n" for n in range(count)) + "\n" + "[r1][r1]" * count)


def markdown_table(random: Random) -> Sample:
    columns = random.choice([1, 30, 2_000])
    lines = [
        "|" + " a |" * columns,
        "|" + "---|" * columns,
        *("|" + sentence(random, 1) + "|" for _ in range(200)),
    ]
    return _markdown("\n".join(lines))


def markdown_fences(random: Random) -> Sample:
    return _markdown(
        "\n".join("`" * random.randrange(3, 9) + sentence(random, 2) for _ in range(2_000))
    )


def markdown_headings(random: Random) -> Sample:
    return _markdown(
        "\n".join("#" * random.randrange(1, 9) + " " + sentence(random, 3) for _ in range(9_000))
    )


def svg_flood(random: Random) -> Sample:
    uses = "<use href='#a'/>" * 500
    svg = f"<svg xmlns='http://www.w3.org/2000/svg'><g id='a'>{uses}</g><text>{sentence(random)}</text></svg>"
    return Sample(content=svg.encode(), uri="site/plan.svg")


def xml_of_any_kind(random: Random) -> Sample:
    tags = [random.choice("abcé:_-1<>&'\"") * random.randrange(1, 9) for _ in range(60)]
    content = "<?xml version='9.9' encoding='no-such'?>" + "".join(
        f"<{tag}>{sentence(random, 2)}" for tag in tags
    )
    return Sample(content=content.encode(), uri="a.xml")


KINDS: tuple[Callable[[Random], Sample], ...] = (
    bytes_changed, billion_laughs, quadratic_entity, outside_entity, deep_elements, unclosed,
    strange_entities, scripts, data_addresses, broken_charset, two_charsets, endless_line,
    many_attributes, bad_tables, frames_and_links, markdown_depth, markdown_brackets,
    markdown_references, markdown_table, markdown_fences, markdown_headings, svg_flood,
    xml_of_any_kind,
)  # fmt: skip
