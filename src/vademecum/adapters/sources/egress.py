"""Which addresses may a URL of a person reach? The one way out of the house, with its guard.

A name is resolved once; every address that it has must be a public one; the connection goes to
the address that was looked at, under the name that was asked for.
"""

import ipaddress
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import httpcore
import httpx

from vademecum.errors import EgressRefused, SourceAway

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Sequence[str]]

MOST_BYTES = 25 * 1024 * 1024
MOST_REDIRECTS = 3
STEP_SECONDS = 10.0
WHOLE_SECONDS = 60.0
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = {301, 302, 303, 307, 308}
# What no reader can read is not even loaded.
_REFUSED_TYPES = ("audio/", "font/", "image/", "video/")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.ip_network("64:ff9b:1::/48")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a URL gave, and the address of its last redirect."""

    url: str
    content: bytes


def resolve(host: str, port: int) -> Sequence[str]:
    """Return every address of a host, as the machine's resolver gives them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def inner_addresses(address: Address) -> Iterable[Address]:
    """Yield the address and those that it carries inside: a way through a translator or tunnel
    leads to them."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        carried = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        low = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if address in _NAT64 or address in _NAT64_LOCAL or int(address) >> 32 == 0:
            carried.append(low)
        yield from (inner for inner in carried if inner is not None)


def is_public(address: Address) -> bool:
    """Tell whether an address, and each that it carries inside, lies in the open network."""
    return all(
        inner.is_global and not (inner.is_multicast or inner.is_reserved or inner.is_unspecified)
        for inner in inner_addresses(address)
        if not (inner is address and _is_wrapper(address))
    )


def _is_wrapper(address: Address) -> bool:
    """A mapped or translated address is never global itself: what it carries decides."""
    return isinstance(address, ipaddress.IPv6Address) and (
        address.ipv4_mapped is not None or address in _NAT64
    )


class _Guarded(httpcore.NetworkBackend):
    """Connects to addresses that were looked at, and to nothing else."""

    def __init__(self, allowed: Sequence[Network], resolve: Resolve) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = [ipaddress.ip_address(text) for text in self._resolve(host, port)]
        except (OSError, UnicodeError, ValueError) as error:
            raise SourceAway(f"{host} has no address", hint="check the URL") from error
        if not addresses or not all(self._may_reach(address) for address in addresses):
            raise EgressRefused(
                f"{host} does not lie in the open network",
                hint="an operator may allow networks with ingest.allow_networks",
            )
        return self._plain.connect_tcp(
            str(addresses[0]), port, timeout, local_address, socket_options
        )

    def _may_reach(self, address: Address) -> bool:
        inside = any(address in network for network in self._allowed)
        return inside or is_public(address)


def fetch(url: str, *, allowed: Sequence[Network] = (), resolve: Resolve = resolve) -> Fetched:
    """Return what a URL gives, following at most `MOST_REDIRECTS` redirects, each looked at anew.

    `allowed` are inside networks that may be reached. No proxy, cookie or credential is used.
    Raises: EgressRefused, SourceAway.
    """
    started = time.monotonic()
    with httpcore.ConnectionPool(network_backend=_Guarded(allowed, resolve)) as pool:
        for _ in range(MOST_REDIRECTS + 1):
            target = _checked(url, allowed)
            location, content = _get(pool, target, url, started)
            if location is None:
                return Fetched(url=url, content=content)
            try:
                url = str(target.join(location))
            except httpx.InvalidURL as error:
                raise SourceAway(f"{url} redirects to no URL", hint="check the URL") from error
    raise SourceAway(f"{url} redirects more than {MOST_REDIRECTS} times", hint="check the URL")


def _checked(url: str, allowed: Sequence[Network]) -> httpx.URL:
    """Return the parsed URL; what is asked for is built from these parts and nothing else."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise EgressRefused(f"{url[:200]!r} is no URL", hint="check it") from error
    port = parsed.port or _PORTS.get(parsed.scheme)
    if parsed.scheme not in _PORTS or not parsed.host:
        raise EgressRefused(f"{url[:200]!r} is no web address", hint="give http:// or https://")
    if parsed.userinfo:
        raise EgressRefused("a URL with a password is not fetched", hint="leave the login out")
    # Other ports are those of services inside; where an operator let a network in, all are meant.
    if port not in _PORTS.values() and not allowed:
        raise EgressRefused(f"port {port} is not fetched from", hint="use port 80 or 443")
    return parsed


def _get(
    pool: httpcore.ConnectionPool, target: httpx.URL, url: str, started: float
) -> tuple[str | None, bytes]:
    """Return where the answer redirects to, or None and its content."""
    waits = dict.fromkeys(("connect", "read", "write", "pool"), STEP_SECONDS)
    headers: dict[bytes | str, bytes | str] = {
        "Host": target.netloc.decode("ascii"),
        "User-Agent": "vademecum",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
    }
    place = httpcore.URL(
        scheme=target.raw_scheme,
        host=target.raw_host,
        port=target.port or _PORTS[target.scheme],
        target=target.raw_path,
    )
    try:
        with pool.stream("GET", place, headers=headers, extensions={"timeout": waits}) as answer:
            told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value
                    in answer.headers}  # fmt: skip
            if answer.status in _REDIRECTS and told.get("location"):
                return told["location"], b""
            _check_answer(answer.status, told, url)
            return None, _read(answer, url, started)
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
        raise SourceAway(
            f"{url} does not answer ({type(error).__name__})", hint="try again later"
        ) from error


def _check_answer(status: int, told: dict[str, str], url: str) -> None:
    if status != 200:
        raise SourceAway(f"{url} answers with status {status}", hint="check the URL")
    if told.get("content-type", "").lower().startswith(_REFUSED_TYPES):
        raise EgressRefused(
            f"{url} is {told['content-type'][:80]}", hint="give the address of a document"
        )
    if told.get("content-encoding", "identity").lower() not in ("identity", ""):
        raise SourceAway(f"{url} answers compressed though not asked to", hint="load it by hand")


def _read(answer: httpcore.Response, url: str, started: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in answer.iter_stream():
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise EgressRefused(
                f"{url} has over {MOST_BYTES // 2**20} MB", hint="load it by hand, and split it"
            )
        if time.monotonic() - started > WHOLE_SECONDS:
            raise SourceAway(f"{url} took over {WHOLE_SECONDS:.0f} s", hint="load it by hand")
    return b"".join(parts)
