"""http-check and what it must not look at: private addresses, however they are written and whoever leads there."""

from __future__ import annotations

import asyncio
import importlib
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from hermes.sdk.testing import load
from tests.support.site import Site, check, problem, serving

load(Path(__file__).parents[2] / "plugins" / "http-check")  # so that its modules can be imported

PRIVATE = [
    "http://127.0.0.1/",
    "127.0.0.1:22",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "https://[::1]/",
    "http://[::]/",
    "http://0.0.0.0/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://10.1.2.3/",
    "172.16.0.1:443",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25lo]/",
    "http://[fec0::1]/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://[ff02::1]/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://203.0.113.1/",
    "http://[2001:db8::1]/",
]


@pytest.mark.parametrize("target", PRIVATE)
async def test_private_addresses_are_refused_however_they_are_written(target: str) -> None:
    code, message = problem(await check(target, {}))
    assert code == "upstream_denied"
    assert "plugins.http-check.targets" in message


@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_a_refusal_names_the_host_in_the_language_of_the_request(site: Site, locale: str) -> None:
    _, message = problem(await check(f"http://localhost:{site.port}/", {}, locale=locale))
    assert "localhost" in message
    assert "127.0.0.1" not in message
    assert message.isascii() == (locale == "en")
    assert site.connections == 0


@pytest.mark.parametrize(
    "targets",
    [
        ["127.0.0.1"],
        ["127.0.0.0/8"],
        ["127.0.0.1:{port}"],
        ["localhost"],
        ["LocalHost:{port}"],
        ["10.0.0.1", "localhost."],
    ],
)
async def test_what_is_configured_may_be_checked_although_it_is_private(
    site: Site, targets: list[str]
) -> None:
    config = {"targets": [target.format(port=site.port) for target in targets]}
    assert (await check(f"http://localhost:{site.port}/", config)).data["status"] == 200


@pytest.mark.parametrize(
    "targets", [["127.0.0.1:1"], ["localhost:1"], ["10.0.0.0/8"], ["localhost.example.com"], ["::1"]]
)
async def test_what_is_configured_is_no_leave_for_anything_else(site: Site, targets: list[str]) -> None:
    assert (
        problem(await check(f"http://localhost:{site.port}/", {"targets": targets}))[0] == "upstream_denied"
    )
    assert site.connections == 0


@pytest.mark.parametrize("target", ["http://x/", "10.0.0.0/99", "a b", "me@host", "", "host:port"])
async def test_what_is_configured_and_means_nothing_is_told_by_its_key(target: str) -> None:
    code, message = problem(await check("example.com:1", {"targets": [target]}))
    assert code == "not_configured"
    assert "plugins.http-check.targets" in message


async def test_a_redirect_is_judged_anew(site: Site) -> None:
    async with serving() as inner:
        site.redirect("/", f"http://localhost:{inner.port}/secret")
        config = {"targets": [f"127.0.0.1:{site.port}"]}
        code, message = problem(await check(site.url, config))
        assert (code, "localhost" in message) == ("upstream_denied", True)
        assert (site.connections, inner.connections) == (1, 0)


async def test_a_name_is_looked_up_once_and_connected_to_at_the_address_that_was_judged(site: Site) -> None:
    answers = [["10.0.0.1", "127.0.0.1"], ["127.0.0.2"], ["127.0.0.3"]]  # another one each time it is asked
    asked = []

    async def resolve(host: str, port: int) -> list[tuple[int, tuple[str, int]]]:
        asked.append(host)
        return [(socket.AF_INET, (address, port)) for address in answers[len(asked) - 1]]

    hops = await hops_of(f"http://rebinding.example:{site.port}/", ["127.0.0.1"], resolve)
    assert [(hop.address, hop.status) for hop in hops] == [("127.0.0.1", 200)]
    assert asked == ["rebinding.example"]
    assert f"\r\nHost: rebinding.example:{site.port}\r\n" in site.seen[0]

    asked.clear()
    site.redirect("/", "/again")
    denied = importlib.import_module("http-check.http_check.check").Denied
    with pytest.raises(denied, match=r"rebinding\.example"):
        await hops_of(f"http://rebinding.example:{site.port}/", ["127.0.0.1"], resolve)
    assert len(asked) == 2


async def hops_of(target: str, targets: list[str], resolve: Any) -> Any:
    """Run a check with a name server of the test."""
    module = importlib.import_module("http-check.http_check.check")
    places = importlib.import_module("http-check.http_check.targets")

    async def tell(_name: str, **_facts: object) -> None:
        await asyncio.sleep(0)

    policy = places.Policy(targets, allow_private=False)
    one = module.Check(policy, ssl.create_default_context, seconds=10, tell=tell)
    one.resolve = resolve
    return await one.run(places.parse(target), step=5)


async def test_a_name_without_an_address_raises_what_becomes_not_found() -> None:
    async def resolve(_host: str, _port: int) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    module = importlib.import_module("http-check.http_check.check")
    with pytest.raises(module.NoHost, match=r"nowhere\.example"):
        await hops_of("nowhere.example:80", [], resolve)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101", "2002:101:101::"]
)
def test_addresses_of_the_open_internet_are_public(address: str) -> None:
    places = importlib.import_module("http-check.http_check.targets")
    assert places.is_public(places.ipaddress.ip_address(address))
