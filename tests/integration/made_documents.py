"""Documents that tests put together byte by byte, so that nothing about them is left to a library."""

import io
import zipfile
from collections.abc import Mapping

from vademecum.adapters.parsers.child import parse
from vademecum.model.document import ParsedDocument

_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OPEN_DOCUMENT = "urn:oasis:names:tc:opendocument:xmlns:"


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a zip container of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as container:
        for name, content in parts.items():
            container.writestr(name, content)
    return buffer.getvalue()


def relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """Return a part of relations from their ids, kinds and targets."""
    inner = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_RELATIONS}">{inner}</Relationships>'


def docx(body: str, parts: Mapping[str, str] | None = None, *, head: str = "") -> bytes:
    """Return a DOCX document with this body (`w:` names) and these parts beside it, by kind."""
    parts = parts or {}
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations({"r": ("officeDocument", "word/document.xml")}),
            "word/_rels/document.xml.rels": relations(
                {f"r{number}": (kind, f"{kind}.xml") for number, kind in enumerate(parts)}
            ),
            "word/document.xml": f'{head}<w:document xmlns:w="{_WORD}" xmlns:m="m" xmlns:r="{_OFFICE}" '
            f'xmlns:mc="mc" xmlns:v="v"><w:body>{body}</w:body></w:document>',
            **{
                f"word/{kind}.xml": f'<w:{kind} xmlns:w="{_WORD}">{content}</w:{kind}>'
                for kind, content in parts.items()
            },
        }
    )


def paragraph(text: str, properties: str = "", run: str = "") -> str:
    """Return a paragraph of DOCX."""
    return (
        f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr>"
        f'<w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    )


def open_document(
    kind: str, body: str, *, styles: str = "", more: Mapping[str, str] | None = None
) -> bytes:
    """Return an OpenDocument file of a kind (`text`, `spreadsheet`, `presentation`)."""
    names = " ".join(
        f'xmlns:{name}="{_OPEN_DOCUMENT}{name}:1.0"'
        for name in ("office", "text", "table", "style", "draw", "presentation")
    )
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {names}>"
            f"<office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            **(more or {}),
        }
    )


def read(content: bytes, uri: str) -> ParsedDocument:
    """Read a document in this process and check what holds for every document."""
    parsed = parse(content, uri)
    assert "\x00" not in parsed.text
    parsed.text.encode()  # no half of a pair
    end = 0
    for block in parsed.blocks:
        assert end <= block.start < block.end <= len(parsed.text)
        assert block.header_end == 0 or block.start < block.header_end <= block.end
        assert parsed.text[block.start : block.end].strip()
        end = block.end
    covered = "".join(parsed.text[block.start : block.end] for block in parsed.blocks)
    assert "".join(covered.split()) == "".join(parsed.text.split())
    return parsed


def words(content: bytes, uri: str) -> str:
    return read(content, uri).text
