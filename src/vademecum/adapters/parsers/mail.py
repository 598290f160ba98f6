"""How is e-mail read? What its reader sees, then what is attached, each by its kind."""

import email.errors
import email.header
import email.policy
import email.utils
from dataclasses import dataclass, field
from email.message import Message

import regex

from vademecum.adapters.parsers.compose import Composer, one_line
from vademecum.adapters.parsers.decode import decode
from vademecum.adapters.parsers.dispatch import parse_part
from vademecum.adapters.parsers.uris import name_of
from vademecum.adapters.parsers.web.html_reader import read_page
from vademecum.adapters.parsers.web.page import open_page
from vademecum.errors import DocumentUnreadable, MediaTypeUnknown
from vademecum.model.document import ParsedDocument
from vademecum.text.normalise import clean

MOST_PARTS = 1_000
MOST_MESSAGES = 10_000
_HEADERS = ("From", "To", "Cc", "Date")
_PARAGRAPHS = regex.compile(r"\n[^\S\n]*\n\s*")
_QUOTED = regex.compile(r"(?:^>[^\n]*(?:\n|\Z))+", regex.M)
_SEPARATOR = regex.compile(rb"^From [^\n]*\r?\n(?=[A-Za-z-]+:)", regex.M)
_ENCODED = regex.compile(r"=\?[^?\s]+\?[bqBQ]\?[^?]*\?=")
_SHOWN_NAME = 200
_UNSEEN_IN_NAMES = regex.compile(r"[\p{Cc}\p{Cf}]+")


@dataclass(slots=True, kw_only=True)
class _Mail:
    """A message while it is taken apart: what it says, what is attached to it."""

    attached: list[Message] = field(default_factory=list)
    parts: int = 0
    warnings: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def parse_mail(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read a message: subject, people and date, its text, then each attachment under its name."""
    composer = Composer()
    mail = _Mail()
    subject = _read_message(content, composer, mail, 1)
    return composer.document(
        title=subject or name_of(uri),
        media_type=media_type,
        warnings=mail.warnings,
        unread=mail.unread,
    )


def parse_mbox(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read a mailbox: its messages one after the other."""
    composer = Composer()
    mail = _Mail()
    starts = [match.span() for match in _SEPARATOR.finditer(content)]
    ends = [start for start, _ in starts[1:]] + [len(content)]
    if len(starts) > MOST_MESSAGES:
        mail.unread.append(f"the messages after the first {MOST_MESSAGES}")
    for (_, start), end in list(zip(starts, ends, strict=True))[:MOST_MESSAGES]:
        mail.parts = 0
        _read_message(content[start:end], composer, mail, 1)
    return composer.document(
        title=name_of(uri), media_type=media_type, warnings=mail.warnings, unread=mail.unread
    )


def _opened(content: bytes) -> Message:
    """Return a message whose headers hold letters only: none may have other ones than ASCII, but
    programs write them all the same, in any encoding."""
    content = content.lstrip(b"\r\n")
    if content.startswith(b"From "):
        content = content.partition(b"\n")[2]
    message = email.message_from_bytes(content, policy=email.policy.compat32)
    for part in message.walk():
        headers = [(name, str(value)) for name, value in part.raw_items()]
        for name, value in headers:
            if not value.isascii():
                for again in {name for name, _ in headers}:
                    del part[again]
                for again, text in headers:
                    part[again] = decode(text.encode("utf-8", "surrogateescape"))
                break
    return message


def _read_message(content: bytes, composer: Composer, mail: _Mail, level: int) -> str:
    """Put a message into the composer; return its subject."""
    message = _opened(content)
    subject = header(message, "Subject")
    composer.heading(subject, level)
    lines = [f"{name}: {text}" for name in _HEADERS if (text := header(message, name))]
    composer.paragraph("\n".join(lines))
    _read_part(message, composer, mail)
    attached, mail.attached = mail.attached, []
    for part in attached:
        _read_attachment(part, composer, mail, level)
    return subject


def _read_part(part: Message, composer: Composer, mail: _Mail) -> None:
    """Read what a message shows, and put aside what is attached to it."""
    mail.parts += 1
    if mail.parts > MOST_PARTS:
        if mail.parts == MOST_PARTS + 1:
            mail.unread.append(f"the parts after the first {MOST_PARTS}")
        return
    kind = part.get_content_type()
    if part.is_multipart() and kind != "message/rfc822":
        inner = [child for child in part.get_payload() if isinstance(child, Message)]
        if kind == "multipart/alternative":
            inner = _readable(inner)
        for child in inner:
            _read_part(child, composer, mail)
    elif kind == "message/rfc822" or _is_attached(part):
        mail.attached.append(part)
    elif kind == "text/html":
        page = open_page(_text(part).encode(), "the message")
        mail.warnings.extend(read_page(page, composer))
    elif part.get_content_maintype() in ("text", "multipart"):  # or one that is not ended
        _place(_text(part), composer)
    else:
        mail.attached.append(part)


def _readable(forms: list[Message]) -> list[Message]:
    """Return one of the forms of the same text: the plain one unless it is blank, with what is
    attached beside it."""
    plain = [part for part in forms if part.get_content_type() == "text/plain"]
    rest = [part for part in forms if part not in plain]
    if any(_text(part).strip() for part in plain):
        others = (part for part in rest if not _shows_text(part))
        return [*plain[:1], *others]
    return rest[-1:]


def _shows_text(part: Message) -> bool:
    if part.is_multipart():
        return any(_shows_text(child) for child in part.get_payload() if isinstance(child, Message))
    return part.get_content_maintype() == "text" and not _is_attached(part)


def _is_attached(part: Message) -> bool:
    disposition = _parameter(part, "get_content_disposition")
    return disposition == "attachment" or bool(name_of_part(part))


def _parameter(part: Message, method: str) -> str:
    """Call a method of the library that trips over broken headers."""
    try:
        return str(getattr(part, method)() or "")
    except (ValueError, LookupError, TypeError, AttributeError, email.errors.MessageError):
        return ""


def name_of_part(part: Message) -> str:
    """Return the name of an attachment as text to show: one line, never a path that is used."""
    name = _decoded(_parameter(part, "get_filename"))
    name = one_line(_UNSEEN_IN_NAMES.sub(" ", clean(name)))
    return name[-_SHOWN_NAME:]


def _bytes(part: Message) -> bytes:
    try:
        payload = part.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError):
        payload = None
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message) -> str:
    charset = part.get_param("charset") or ""
    if isinstance(charset, tuple):
        charset = charset[2]
    return clean(decode(_bytes(part), str(charset)))


def _place(text: str, composer: Composer) -> None:
    """Put plain text into the composer; lines with `>` before them are quotes."""
    for paragraph in _PARAGRAPHS.split(text.strip()):
        position = 0
        for quoted in [*_QUOTED.finditer(paragraph), None]:
            end = quoted.start() if quoted else len(paragraph)
            composer.paragraph(paragraph[position:end])
            if quoted:
                composer.quote(quoted.group())
                position = quoted.end()


def _read_attachment(part: Message, composer: Composer, mail: _Mail, level: int) -> None:
    inner = part.get_payload() if part.get_content_type() == "message/rfc822" else None
    if isinstance(inner, list) and inner and isinstance(inner[0], Message):
        name = name_of_part(part) or header(inner[0], "Subject") or "message"
        content = _as_bytes(inner[0])
        shown = "message.eml"
    else:
        name = name_of_part(part) or part.get_content_type()
        content = _bytes(part)
        shown = name
    if part.get_content_maintype() in ("image", "audio", "video"):
        mail.warnings.append(f"attachment {name} left out: {part.get_content_type()}")
        return
    try:
        parsed = parse_part(content, shown)
    except MediaTypeUnknown as error:
        mail.warnings.append(f"attachment {name} left out: {error.message}")
        return
    except DocumentUnreadable as error:
        mail.unread.append(f"attachment {name}: {error.message}")
        return
    composer.heading(f"Attachment: {name}", level + 1)
    composer.part(parsed, below=level + 1)
    mail.warnings.extend(f"attachment {name}: {warning}" for warning in parsed.warnings)
    mail.unread.extend(f"attachment {name}: {unread}" for unread in parsed.unread)


def _as_bytes(message: Message) -> bytes:
    try:
        return message.as_bytes()
    except (ValueError, LookupError, TypeError, AttributeError):
        return str(message.get_payload()).encode("utf-8", errors="replace")


def header(message: Message, name: str) -> str:
    """Return a header as a person reads it, in one line; empty where it is not there."""
    found = message.get_all(name, [])
    texts = (_decoded(str(value)) for value in found)
    return one_line(clean(", ".join(filter(None, texts))))


def _decoded(text: str) -> str:
    """Return a header's text with its encoded words put into letters."""
    if not _ENCODED.search(text):
        return text
    try:
        pieces = email.header.decode_header(text)
    except (email.errors.HeaderParseError, ValueError, LookupError):
        return text
    return "".join(
        decode(piece, charset or "") if isinstance(piece, bytes) else piece
        for piece, charset in pieces
    )
