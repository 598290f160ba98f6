"""IN-16: no URL of a person reaches an inside address, whatever way it is written or redirected."""

import http.server
import threading
from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from vademecum.adapters.sources import egress
from vademecum.adapters.sources.egress import EgressRefused, SourceAway, fetch, is_public
from vademecum.adapters.sources.files import Facts
from vademecum.adapters.sources.places import find, networks, read
from vademecum.errors import InvalidSetting
from vademecum.model.document import Refused, Source

LOOPBACK = (ip_network("127.0.0.0/8"),)


class Listener:
    """A server on the loopback address; `asked` records each request, `answer` is what it says."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.status, self.headers, self.body = 200, {"Content-Type": "text/plain"}, b"Inside."
        listener = self

        class Exchange(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                self.send_response(listener.status)
                for name, value in listener.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(listener.body)))
                self.end_headers()
                self.wfile.write(listener.body)

            def log_message(self, *_: Any) -> None: ...

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("255.255.255.255", False),
        ("224.0.0.1", False),
        ("192.0.2.1", False),
        ("198.18.0.1", False),
        ("240.0.0.1", False),
        ("::", False),
        ("::1", False),
        ("::7f00:1", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("2001:db8::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("2002:7f00:1::", False),
        ("2002:808:808::", True),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::808:808", True),
        ("64:ff9b:1::a00:1", False),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
    ],
)
def test_in_16_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public


HOSTS = [
    "127.0.0.1", "localhost", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1",
    "017700000001", "0177.0.0.1", "0", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "[::]", "127.0.0.1.", "localhost.",
    "LOCALHOST", "①②⑦.⓪.⓪.①", "127。0。0。1", "１２７.0.0.1", "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_in_16_no_spelling_of_the_loopback_address_is_reached(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    # The rule on ports must not hide what the rule on addresses does.
    monkeypatch.setattr(egress, "_PORTS", {"http": listener.port, "https": 443})
    with pytest.raises((EgressRefused, SourceAway)):
        fetch(f"http://{host}:{listener.port}/")
    assert listener.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://example.org/a", "gopher://example.org/", "dict://example.org/",
        "http://user:secret@example.org/", "http://@127.0.0.1/", "http://example.org:22/",
        "http://example.org:8080/", "http://", "http:///path", "javascript:alert(1)", "//host/path",
        "http://exa mple.org/", "http://[::1/", "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/", "https://10.0.0.1/", "http://example.org\\@127.0.0.1/",
        "http://example.org:99999/", "jar:http://127.0.0.1!/", "data:text/plain,hello",
    ],
)  # fmt: skip
def test_in_16_what_is_no_public_web_address_is_refused(url: str) -> None:
    def inside(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    with pytest.raises((EgressRefused, SourceAway)):
        fetch(url, resolve=inside)


def test_in_16_every_address_of_a_name_must_be_public() -> None:
    def mixed(_host: str, _port: int) -> Sequence[str]:
        return ["93.184.215.14", "10.0.0.1"]

    with pytest.raises(EgressRefused, match="open network"):
        fetch("http://example.org/", resolve=mixed)


def test_in_16_the_address_that_was_looked_at_is_the_one_that_is_reached(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that answers differently each time: one answer is taken for looking and connecting."""
    monkeypatch.setattr(egress, "_PORTS", {"http": listener.port, "https": 443})
    answers = iter([["127.0.0.2"], ["127.0.0.1"], ["127.0.0.1"]])
    asked: list[str] = []

    def rebinding(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        return next(answers)

    allowed = (ip_network("127.0.0.2/32"),)
    with pytest.raises(SourceAway):  # nobody listens there: it was not asked again
        fetch(f"http://rebind.example:{listener.port}/", allowed=allowed, resolve=rebinding)
    assert asked == ["rebind.example"]
    assert listener.asked == []


def test_in_16_a_redirect_inward_is_refused(listener: Listener) -> None:
    """From a network that the operator allowed to one that nobody did."""
    listener.status = 302
    listener.headers = {"Location": "http://169.254.169.254/latest/"}
    with pytest.raises(EgressRefused, match=r"169\.254\.169\.254"):
        fetch(listener.url(), allowed=LOOPBACK)
    assert len(listener.asked) == 1
    listener.headers = {"Location": "file:///etc/passwd"}
    with pytest.raises(EgressRefused):
        fetch(listener.url(), allowed=LOOPBACK)
    listener.headers = {"Location": listener.url("/again")}
    with pytest.raises(SourceAway, match="redirects more than 3 times"):
        fetch(listener.url(), allowed=LOOPBACK)
    assert len(listener.asked) == 2 + 4


def test_a_page_is_loaded_under_its_name_without_credentials_or_proxies(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")

    def here(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    url = listener.url("/rules.txt?a=1", host="arena.example")
    found = fetch(url, allowed=LOOPBACK, resolve=here)
    assert (found.url, found.content) == (url, b"Inside.")
    ((path, headers),) = listener.asked
    assert path == "/rules.txt?a=1"
    assert headers["host"] == f"arena.example:{listener.port}"
    assert not {"cookie", "authorization", "referer"} & headers.keys()


@pytest.mark.parametrize(
    ("status", "headers", "error", "said"),
    [
        (404, {}, SourceAway, "status 404"),
        (200, {"Content-Type": "image/png"}, EgressRefused, "image/png"),
        (200, {"Content-Encoding": "gzip"}, SourceAway, "compressed"),
    ],
)
def test_an_answer_that_is_no_document_is_told(
    listener: Listener, status: int, headers: dict[str, str], error: type[Exception], said: str
) -> None:
    listener.status, listener.headers = status, headers
    with pytest.raises(error, match=said):
        fetch(listener.url(), allowed=LOOPBACK)


def test_a_body_over_the_limit_is_not_held(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress, "MOST_BYTES", 1000)
    listener.body = b"x" * 100_000
    with pytest.raises(EgressRefused, match="has over"):
        fetch(listener.url(), allowed=LOOPBACK)


def test_urls_stand_beside_files_and_one_that_is_refused_costs_itself_only(
    listener: Listener, tmp_path: Any
) -> None:
    (tmp_path / "a.txt").write_text("A file.")
    words = [str(tmp_path / "a.txt"), listener.url("/b#part"), "http://169.254.169.254/x"]
    facts = Facts(collection="c", access=("tenant",), metadata={}, language=None)
    first, second, third = read(find(words, LOOPBACK), facts)
    assert isinstance(first, Source)
    assert isinstance(second, Source)
    assert (second.uri, second.content) == (listener.url("/b"), b"Inside.")
    assert isinstance(third, Refused)
    assert third.state == "rejected"


def test_networks_are_read_or_refused() -> None:
    assert networks(" 10.1.0.0/16, fc00::/7 ") == (
        ip_network("10.1.0.0/16"),
        ip_network("fc00::/7"),
    )
    assert networks("") == ()
    with pytest.raises(InvalidSetting, match="allow_networks"):
        networks("inside")
