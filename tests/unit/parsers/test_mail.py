"""Is mail read as its reader sees it, with what is attached?"""

from email.message import EmailMessage

import pytest
from made_documents import docx, paragraph, read

HEAD = b"From: box office <office@example.org>\nTo: you@example.org\nSubject: Refund\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n"


def message(**attached: bytes) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Box <a@example.org>", "b@example.org", "Prüfung"
    mail.set_content("Plain words.\n\n> quoted\n\nMore.")
    mail.add_alternative("<p>Other words.</p>", subtype="html")
    for name, content in attached.items():
        mail.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return mail


def test_the_plain_form_is_read_once() -> None:
    parsed = read(message().as_bytes(), "a.eml")
    assert parsed.text == (
        "Prüfung\n\nFrom: Box <a@example.org>\nTo: b@example.org\n\nPlain words.\n\n> quoted\n\nMore."
    )
    assert parsed.title == "Prüfung"
    assert [b.kind for b in parsed.blocks] == [
        "heading",
        "paragraph",
        "paragraph",
        "quote",
        "paragraph",
    ]


def test_attachments_go_through_their_readers() -> None:
    mail = message(
        **{
            "rules.docx": docx(paragraph("The rule.")),
            "../../etc/x\u202e.txt": b"A text.",
            "photo.bin": b"\x89PNG\r\n",
            "broken.docx": b"PK\x03\x04",
        }
    )
    parsed = read(mail.as_bytes(), "a.eml")
    assert "Attachment: rules.docx\n\nThe rule." in parsed.text
    assert "A text." in parsed.text
    assert "\u202e" not in parsed.text
    assert any("photo.bin" in warning and "PNG" in warning for warning in parsed.warnings)
    assert any("broken.docx" in unread for unread in parsed.unread)
    rule = next(b for b in parsed.blocks if "rule." in parsed.text[b.start : b.end])
    assert rule.heading_path == ("Prüfung", "Attachment: rules.docx")


def test_messages_in_messages_end_at_the_third() -> None:
    inner = message()
    for number in range(3):
        outer = EmailMessage()
        outer["From"], outer["Subject"] = "a@example.org", f"Level {number}"
        outer.set_content(f"Words {number}")
        outer.add_attachment(inner)
        inner = outer
    parsed = read(inner.as_bytes(), "a.eml")
    assert all(f"Words {number}" in parsed.text for number in range(3))
    assert "Plain words" not in parsed.text
    assert any("deep" in unread for unread in parsed.unread)


def test_only_html_is_read_as_a_page() -> None:
    body = (
        HEAD
        + b"Content-Type: text/html; charset=windows-1251\n\n"
        + "<p>Возврат<p hidden>X".encode("cp1251")
    )
    parsed = read(body, "a.eml")
    assert parsed.text.endswith("\n\nВозврат")
    assert parsed.warnings == ("1 hidden element left out",)


def test_parts_are_bounded() -> None:
    many = (
        HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nhi\n" * 3_000 + b"--b--"
    )
    assert read(many, "a.eml").unread == ("the parts after the first 1000",)


@pytest.mark.parametrize(
    "broken",
    [
        b"Content-Type: multipart/mixed; boundary=\n\nwords",
        b"Content-Type: multipart/mixed\n\nwords",
        b"Content-Type: text/plain; charset=nonsense\n\nwords",
        b"Content-Transfer-Encoding: base64\n\nd29yZHM",
        b"Content-Type: ;;;\n\nwords",
        b"Content-Disposition: attachment; filename*=x''%ff%zz\n\nwords",
        b"Content-Type: message/rfc822\n\nwords",
        b"Content-Type: text/plain; name*0*=utf-8''a; name*2=c\n\nwords",
        b"Subject: =?utf-8?B?!!!?= =?x?q?=zz?=\n\nwords",
        b"Bcc: \xff\xfe\n\nwords",
    ],
)
def test_broken_parts_lose_no_words(broken: bytes) -> None:
    assert "words" in read(HEAD + broken, "a.eml").text


def test_a_box_of_messages() -> None:
    box = b"".join(
        b"From a@b Mon Jan  1 10:00:00 2024\n" + HEAD + b"\nWords %d\n\n" % n for n in range(3)
    )
    parsed = read(box, "inbox.mbox")
    assert parsed.media_type == "application/mbox"
    assert parsed.text.count("Refund") == 3
    assert "Words 2" in parsed.text


def test_a_memo_stays_a_text() -> None:
    assert read(b"Date: today\nSubject: lunch\n\nwords", "a.txt").media_type == "text/plain"
