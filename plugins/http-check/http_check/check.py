"""The check of one target: every hop is looked up once, judged, and connected to at the very address that was judged."""

import asyncio
import ipaddress
import os
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from .connections import Address, NotHttp, Stream, connect
from .targets import Policy, Target, Unreadable

REDIRECTS = 5
ADDRESSES = 4  # of one host that are tried, one after another

Resolve = Callable[[str, int], Awaitable[list[Address]]]
Tell = Callable[..., Awaitable[None]]


class Denied(Exception):
    """A target, or one that a redirect leads to, may not be checked."""


class NoHost(Exception):
    """The name of a target, or of one that a redirect leads to, has no address."""


@dataclass(slots=True)
class Hop:
    """What one target came to. `problem` names a sentence with what goes into it; times are in ms, `expires` in Unix s."""

    target: Target
    address: str = ""
    port_open: bool = False
    status: int | None = None
    location: str | None = None
    latency_ms: float | None = None
    expires: float | None = None
    problem: tuple[str, dict] | None = field(default=None)


async def look_up(host: str, port: int) -> list[Address]:
    """Return the addresses of a host as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((family, place) for family, _, _, _, place in found))


class Check:
    """One call: `trust` makes what certificates are judged by, `seconds` is the time there is, `tell` tells progress."""

    def __init__(
        self, policy: Policy, trust: Callable[[], ssl.SSLContext], *, seconds: float, tell: Tell
    ) -> None:
        self._policy = policy
        self._trust = trust
        self._tell = tell
        self._context: ssl.SSLContext | None = None
        self._ends = time.monotonic() + seconds
        self.resolve: Resolve = look_up

    async def run(self, target: Target, *, step: float) -> list[Hop]:
        """Return a hop for the target and one for every redirect that was followed; no step waits longer than `step`.

        Raises Denied or NoHost, which name the host.
        """
        hops = [await self._hop(target, step)]
        while hops[-1].location is not None:
            try:
                target = hops[-1].target.redirected(hops[-1].location)
            except Unreadable:
                hops[-1].problem = ("bad_redirect", {})
                break
            if len(hops) > REDIRECTS:
                hops[-1].problem = ("too_many", {"most": REDIRECTS})
                break
            await self._tell("following", number=len(hops), target=target)
            hops.append(await self._hop(target, step))
        return hops

    async def _hop(self, target: Target, step: float) -> Hop:
        hop = Hop(target)
        try:
            async with self._limit(step):
                addresses = await self._addresses(target)
        except TimeoutError:
            hop.problem = ("silent", {})
            return hop
        for address in addresses:
            hop.address = address[1][0]
            await self._tell("connecting", target=target.authority, address=hop.address)
            if await self._reach(hop, address, step=step):
                break
        return hop

    async def _addresses(self, target: Target) -> list[Address]:
        """Return the addresses of a target that may be connected to: one name may have allowed ones and others."""
        await self._tell("resolving", host=target.host)
        try:
            found = await self.resolve(target.host, target.port)
        except (OSError, UnicodeError):  # a name that no name server would take is a name without an address
            raise NoHost(target.host) from None
        if not found:
            raise NoHost(target.host)
        admitted = [each for each in found if self._policy.admits(target, _ip(each))]
        if not admitted:
            raise Denied(target.host)
        return admitted[:ADDRESSES]

    async def _reach(self, hop: Hop, address: Address, *, step: float) -> bool:
        """Connect and see what is there; say whether there was a connection."""
        context = await self._judge() if hop.target.tls else None
        began = time.monotonic()
        try:
            async with self._limit(step):
                connected = await connect(address)
        except TimeoutError:
            hop.problem = ("silent", {})
            return False
        except OSError as error:
            hop.problem = ("refused", {"reason": _reason(error)})
            return False
        hop.port_open, hop.problem = True, None
        if hop.target.scheme == "tcp":
            hop.latency_ms = _milliseconds(began)
        if hop.target.scheme == "tcp" and not hop.target.tls:
            connected.close()
            return True
        try:
            async with self._limit(step), Stream(connected, context, host=hop.target.host) as stream:
                await self._speak(hop, stream, began=began)
        except ssl.SSLCertVerificationError as error:
            hop.problem = ("bad_certificate", {"reason": error.verify_message})
            hop.expires = await self._expiry(hop.target, address, step=step)
        except (OSError, NotHttp) as error:
            hop.problem = _problem(error, hop.target)
        return True

    async def _speak(self, hop: Hop, stream: Stream, *, began: float) -> None:
        if hop.target.tls:
            hop.expires = stream.expires()
        if hop.target.scheme != "tcp":
            hop.status, hop.location = await stream.ask(hop.target.path, hop.target.authority)
            hop.latency_ms = _milliseconds(began)

    async def _expiry(self, target: Target, address: Address, *, step: float) -> float | None:
        """Return when a certificate that is not valid expires, or has. Nothing is said over this connection."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            async with self._limit(step), Stream(await connect(address), context, host=target.host) as stream:
                return stream.expires()
        except (OSError, ValueError):
            return None

    async def _judge(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = await asyncio.to_thread(self._trust)
        return self._context

    def _limit(self, step: float) -> asyncio.Timeout:
        return asyncio.timeout(max(min(step, self._ends - time.monotonic()), 0))


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else type(error).__name__


def _problem(error: OSError | NotHttp, target: Target) -> tuple[str, dict] | None:
    if isinstance(error, NotHttp):
        return "not_http", {}
    if target.scheme == "tcp":  # the port is open, which was the question; that it speaks TLS was a guess
        return None
    if isinstance(error, TimeoutError):
        return "silent", {}
    if isinstance(error, ssl.SSLError):
        return "no_tls", {"reason": (error.reason or type(error).__name__).replace("_", " ").lower()}
    return "broken", {"reason": _reason(error)}


def _ip(address: Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(address[1][0].partition("%")[0])


def _milliseconds(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 1)
