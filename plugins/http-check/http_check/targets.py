"""What is to be checked and whether it may be: addresses, and which of them are nobody's business."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PORTS = {"http": 80, "https": 443}
TLS_PORTS = frozenset({443, 465, 636, 853, 989, 990, 992, 993, 994, 995, 5061, 6514, 8443})
"""Ports on which TLS begins at once; there a check of a port looks at the certificate as well."""

# Beyond what the registries call not global: services that a cloud offers to its own machines, on public numbers too.
_CLOUD = tuple(
    map(ipaddress.ip_network, ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "100.64.0.0/10"))
)
_UNICAST = ipaddress.IPv6Network("2000::/3")
_EMBEDDING = ipaddress.IPv6Network("64:ff9b::/96")  # an IPv4 address as a network without IPv4 writes it
_plain_host = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?").fullmatch


class Unreadable(ValueError):
    """What was given is no URL and no host:port."""


@dataclass(frozen=True, slots=True)
class Target:
    """Something to connect to. `scheme` is http, https or tcp; `path` is what a request line takes, of tcp nothing."""

    scheme: str
    host: str
    port: int
    path: str = ""

    @property
    def authority(self) -> str:
        """The host as a URL has it, with the port unless the scheme has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS.get(self.scheme) else f"{host}:{self.port}"

    @property
    def tls(self) -> bool:
        """Whether TLS is to be expected."""
        return self.scheme == "https" or (self.scheme == "tcp" and self.port in TLS_PORTS)

    def __str__(self) -> str:
        return self.authority if self.scheme == "tcp" else f"{self.scheme}://{self.authority}{self.path}"

    def redirected(self, location: str) -> "Target":
        """Return where a redirect leads; Unreadable if it is no http or https address."""
        try:
            address = urljoin(str(self), location.strip())
        except ValueError:
            raise Unreadable from None
        return parse(address, only_urls=True)


def parse(text: str, *, only_urls: bool = False) -> Target:
    """Return what `text` means: a URL, `host:port`, or a host alone, which is its https page."""
    text = text.strip()
    if re.search(r"[\x00-\x20\x7f\\]", text):
        raise Unreadable
    scheme, separator, _ = text.partition("://")
    if separator:
        return _url(text, scheme.lower())
    if only_urls:
        raise Unreadable
    try:
        parts = urlsplit(f"//{text}")
        port = parts.port
    except ValueError:
        raise Unreadable from None
    if port is None or parts.path or parts.query:
        return _url(f"https://{text}", "https")
    if parts.username is not None or not port:
        raise Unreadable
    return Target("tcp", _host(parts.hostname), port)


def _url(text: str, scheme: str) -> Target:
    try:
        parts = urlsplit(text)
        port = PORTS[scheme] if parts.port is None else parts.port
    except (ValueError, KeyError):
        raise Unreadable from None
    if parts.username is not None or not port:
        raise Unreadable
    # What is escaped already stays so.
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        path += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    return Target(scheme, _host(parts.hostname), port, path)


def _host(host: str | None) -> str:
    try:
        return str(ipaddress.IPv6Address((host or "").split("%")[0]))
    except ValueError:
        pass
    try:
        plain = (host or "").encode("idna").decode().lower().removesuffix(".")
    except UnicodeError:
        raise Unreadable from None
    if not _plain_host(plain):
        raise Unreadable
    return plain


def is_public(address: IPAddress) -> bool:
    """Say whether an address is one of the open internet: not of this machine, its networks or its cloud."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _EMBEDDING:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(inner)
        return address.is_global and address in _UNICAST and address.teredo is None
    return address.is_global and not (
        address.is_multicast or address.is_reserved or any(address in network for network in _CLOUD)
    )


def _place(target: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(f"//{target}")
        if parts.netloc != target or parts.username is not None:
            raise Unreadable(target)
        return _host(parts.hostname), parts.port
    except ValueError:
        raise Unreadable(target) from None


class Policy:
    """Which addresses may be connected to: public ones, and what is configured.

    `targets` are host names, `host:port`, addresses and networks such as 10.1.0.0/16. A name that is listed may have
    any address, an address that is listed any name.
    """

    def __init__(self, targets: Iterable[str], *, allow_private: bool) -> None:
        """Read `targets`; Unreadable names the one that is none of these."""
        self._allow_private = allow_private
        self._networks: list[Network] = []
        self._places: set[tuple[str, int | None]] = set()
        for target in targets:
            try:
                self._networks.append(ipaddress.ip_network(target))
            except ValueError:
                self._places.add(_place(target))

    def admits(self, target: Target, address: IPAddress) -> bool:
        """Say whether `target` may be connected to at `address`."""
        return (
            self._allow_private
            or is_public(address)
            or not self._places.isdisjoint({(target.host, None), (target.host, target.port)})
            or (str(address), target.port) in self._places
            or any(address in network for network in self._networks)
        )
