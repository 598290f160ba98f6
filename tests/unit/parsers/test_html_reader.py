"""Does a page give what a visitor sees, once?"""

import pytest
from made_documents import read

from vademecum.errors import LimitExceeded


def page(body: str, head: str = "") -> str:
    return read(
        f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode(), "p"
    ).text


def test_structure_becomes_blocks() -> None:
    parsed = read(
        b"""<!doctype html><html lang="pt-BR"><head><title>Regras - Site</title></head><body>
        <h1>Regras</h1><p>Um <b>texto</b>,<br>duas  linhas.</p>
        <ol start=3><li>tres<ul><li>dentro</li></ul></li><li><p>quatro</p><p>mais</p></li></ol>
        <dl><dt>Termo</dt><dd>Sentido</dd></dl>
        <pre>a  b
  c</pre><blockquote><p>Dito.</p></blockquote><h2>Fim</h2></body></html>""",
        "x",
    )
    assert [(b.kind, parsed.text[b.start : b.end]) for b in parsed.blocks] == [
        ("heading", "Regras"),
        ("paragraph", "Um texto,\nduas linhas."),
        ("list", "3. tres"),
        ("list", "  - dentro"),
        ("list", "4. quatro"),
        ("list", "  mais"),
        ("list", "- Termo: Sentido"),
        ("code", "a  b\n  c"),
        ("quote", "Dito."),
        ("heading", "Fim"),
    ]
    assert (parsed.title, parsed.language) == ("Regras", "pt")
    assert parsed.blocks[-1].heading_path == ("Regras", "Fim")


def test_cells_keep_row_and_column() -> None:
    table = """<table><caption>Prices</caption><tr><th>Seat</th><th colspan=2>Price</th></tr>
    <tr><td rowspan=2>Front</td><td>10</td><td>12<ul><li>net</li><li>gross</li></ul></td></tr>
    <tr><td>20</td><td><table><tr><td>a</td><td>b</td></tr></table></td></tr></table>"""
    assert page(table) == (
        "Prices\n\n| Seat | Price | Price |\n| --- | --- | --- |\n"
        "| Front | 10 | 12; net; gross |\n| Front | 20 | a, b |"
    )


def test_a_dark_cell_hides_nothing_beside_it() -> None:
    table = """<table><tr><td style="background:#000">a</td><td style="color:#000">b<sup>2</sup></td></tr>
    <tr><td bgcolor="#ffffff"><sup style="background:#000">x</sup><font color="black">c</font></td><td>d</td></tr></table>
    <p style="color:black">e</p>"""
    assert page(table) == "| a | b² |\n| xc | d |\n\ne"


def test_a_table_that_only_places_things_is_none() -> None:
    text = page("<table><tr><td><h2>Left</h2><p>One</p></td><td><p>Two</p></td></tr></table>")
    assert text == "Left\n\nOne\n\nTwo"


@pytest.mark.parametrize(
    "hidden",
    [
        '<p style="display:none">X</p>',
        '<p style="DISPLAY : None !important">X</p>',
        '<p style="visibility:hidden">X</p>',
        '<p style="opacity:0">X</p>',
        '<p style="opacity:0.0">X</p>',
        '<p style="font-size:0px">X</p>',
        '<p style="position:absolute;left:-9999px">X</p>',
        '<p style="text-indent:-9999px">X</p>',
        '<p style="overflow:hidden;height:0">X</p>',
        '<p style="clip:rect(0,0,0,0)">X</p>',
        '<p style="color:#FFF;background:#ffffff">X</p>',
        '<div style="background-color:white"><p style="color:rgb(255, 255, 255)">X</p></div>',
        '<p style="color:white">X</p>',
        '<font color="#ffffff">X</font>',
        '<p style="color:transparent">X</p>',
        "<p hidden>X</p>",
        '<p aria-hidden="true">X</p>',
        '<p class="a d-none b">X</p>',
        '<p class="sr-only">X</p>',
        "<template>X</template><noscript>X</noscript><script>X</script>",
        "<!-- X --><style>.X{}</style>",
        "<dialog>X</dialog>",
        '<p title="X"><img alt="X">seen too</p>',
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td hidden>X</td></tr></table>",
        '<div style="display:none"><div style="display:block">X</div></div>',
    ],
)
def test_what_nobody_sees_is_left_out(hidden: str) -> None:
    text = page(f"<p>seen</p>{hidden}<p>also</p>")
    assert "X" not in text
    assert text.startswith("seen")
    assert text.endswith("also")


@pytest.mark.parametrize(
    "seen",
    [
        '<p style="opacity:0.5">X</p>',
        '<p style="font-size:0.8em">X</p>',
        '<p class="d-none d-md-block">X</p>',
        '<p class="hidden md:flex">X</p>',
        '<div style="background:#000"><p style="color:white">X</p></div>',
        '<p style="position:absolute;left:-5px">X</p>',
        "<details><summary>more</summary>X</details>",
        "<article><aside>X</aside></article>",
        '<form><label>X</label><input value="v"></form>',
    ],
)
def test_what_somebody_sees_stays(seen: str) -> None:
    assert "X" in page(f"<p>one</p>{seen}")


def test_rules_of_the_page_hide_too() -> None:
    style = """<style>/* .seen{display:none} */ .gone, #away { display: none }
    @media print { .seen { display:none } } .seen:hover{display:none} body{opacity:0}
    .menu > .deep {font-size:0}</style>"""
    text = page('<p class=gone>X</p><p id=away>Y</p><p class="seen">Z</p>', style)
    assert text == "Z"


def test_hidden_parts_are_told() -> None:
    parsed = read(
        b"<html><body><p>a</p><p hidden>b</p><p hidden></p><p hidden>c</p></body></html>", "x"
    )
    assert parsed.warnings == ("2 hidden elements left out",)


def test_the_frame_of_a_page_is_left_out_but_not_its_heading() -> None:
    parsed = read(
        b"""<html><body><header><a href=/>Home</a><h1>The rules</h1></header><nav>Menu</nav>
        <p>Text.</p><aside>Ads</aside><footer>Imprint</footer></body></html>""",
        "x",
    )
    assert parsed.text == "The rules\n\nText."
    assert parsed.warnings == ("4 navigation parts left out",)


def test_a_page_of_nothing_but_its_frame_is_read() -> None:
    assert page("<header><p>All there is</p></header>") == "All there is"


def test_the_main_part_counts_where_it_holds_the_text() -> None:
    assert page("<div>Login</div><main><p>A long enough text of the page.</p></main>") == (
        "A long enough text of the page."
    )
    assert "Login" in page("<div>Login and much more of the text</div><main><p>Short</p></main>")


def test_powers_are_no_digits() -> None:
    assert page("<p>10<sup>6</sup> m<sup>2</sup> and CO<sub>2</sub>, note<sup>[1]</sup></p>") == (
        "10⁶ m² and CO2, note[1]"
    )


def test_depth_ends_in_a_text_or_a_refusal() -> None:
    assert page("<div>" * 3_000 + "x") == "x"
    with pytest.raises(LimitExceeded, match="deep"):
        page("<div>" * 100_000 + "x")


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="windows-1251">',
        '<meta http-equiv=X content="text/html; charset=windows-1251">',
    ],
)
def test_a_page_names_its_encoding(head: str) -> None:
    content = f"<html><head>{head}</head><body>Возврат</body></html>".encode("cp1251")
    assert read(content, "x").text == "Возврат"


def test_a_page_of_xml_ends_its_tags_in_themselves() -> None:
    content = """<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>
    <script src="x"/></head><body><a id="n"/><p>one<br/>two</p></body></html>"""
    assert read(content.encode(), "x").text == "one\ntwo"
