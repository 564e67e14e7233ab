"""ip-info, whose whole code is its manifest: a copy of it that asks a server of the test."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hermes.digest.digest import digest
from hermes.host.manifests.manifest import load_manifest
from hermes.host.manifests.parameters import Parameters
from tests.support.shop import Shop
from tests.support.web import Web, serving

FOLDER = Path(__file__).parents[2] / "plugins" / "ip-info"
FOUND = {
    "ip": "8.8.8.8",
    "hostname": "dns.google",
    "city": "Mountain View",
    "region": "California",
    "country": "US",
    "loc": "37.4056,-122.0775",
    "org": "AS15169 Google LLC",
    "postal": "94043",
    "timezone": "America/Los_Angeles",
}


@pytest.fixture
async def server() -> AsyncIterator[Web]:
    async with serving() as running:
        running.say(FOUND)
        yield running


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    await shop.close()


async def ask(shop: Shop, server: Web, ip: str, *, locale: str = "en") -> Any:
    manifest = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    manifest["http"]["url"] = manifest["http"]["url"].replace("https://ipinfo.io", server.url)
    shop.write({}, **manifest)
    return await shop.ask(await shop.open(), {"ip": ip, "text": f"{ip} 的归属地"}, locale=locale)


async def test_an_address_is_asked_for_and_what_is_known_of_it_comes_back(shop: Shop, server: Web) -> None:
    assert await ask(shop, server, "8.8.8.8") == {"data": FOUND, "error": None}
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.body) == ("GET", "/8.8.8.8/json", b"")


async def test_an_ipv6_address_stays_one_part_of_the_path(shop: Shop, server: Web) -> None:
    await ask(shop, server, "2606:4700:4700::1111")
    assert [asked.path for asked in server.asked] in (
        ["/2606:4700:4700::1111/json"],
        ["/2606%3A4700%3A4700%3A%3A1111/json"],
    )


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, "not_found"),
        (403, "upstream_denied"),
        (429, "upstream_unavailable"),
        (500, "upstream_unavailable"),
    ],
)
@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_a_refusal_of_the_service_has_its_code_and_its_reason(
    shop: Shop, server: Web, status: int, code: str, *, locale: str
) -> None:
    server.say({"status": status, "error": {"title": "No", "message": "rate limit 超限"}}, status)
    result = await ask(shop, server, "8.8.8.8", locale=locale)
    assert (result["data"], result["error"]["code"]) == (None, code)
    assert "rate limit 超限" in result["error"]["message"]


async def test_an_error_in_a_good_answer_is_an_error_too(shop: Shop, server: Web) -> None:
    server.say({"error": {"message": "Wrong ip"}})
    assert await ask(shop, server, "8.8.8.8") == {"data": None, "error": "Wrong ip"}


def test_the_digest_has_what_people_ask_for() -> None:
    manifest = load_manifest(FOLDER)
    fields = manifest.summary.fields
    told = digest(FOUND, fields=fields, max_chars=manifest.summary.max_chars, locale="zh")
    assert told.startswith("**ip**: 8.8.8.8\n**hostname**: dns.google\n**city**: Mountain View\n")
    assert "loc" not in told


def test_nothing_runs_until_somebody_asks() -> None:
    manifest = load_manifest(FOLDER)
    assert (manifest.runtime, manifest.workers.min, manifest.workers.max) == ("http", 0, 1)
    assert [file.name for file in FOLDER.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("8.8.8.8 的归属地", {"ip": "8.8.8.8"}),
        ("8.8.8.8在哪", {"ip": "8.8.8.8"}),
        ("IP:8.8.8.8?", {"ip": "8.8.8.8"}),
        ("ip：8.8.8.8。", {"ip": "8.8.8.8"}),
        ("８．８．８．８　的归属地", {"ip": "8.8.8.8"}),
        ("look up 1.1.1.1.", {"ip": "1.1.1.1"}),
        ("who owns 1.1.1.1:443?", {"ip": "1.1.1.1"}),
        ("fe80::1 是谁的", {"ip": "fe80::1"}),
        ("ip info of 2001:0db8:0:0:0:ff00:42:8329", {"ip": "2001:0db8:0:0:0:ff00:42:8329"}),
        ("[2606:4700:4700::1111]:80 在哪", {"ip": "2606:4700:4700::1111"}),
        ("where is the ip", {}),
        ("version 1.2.3 and v1.2.3.4 and 1.2.3.4.5", {}),
        ("999.1.1.1 的归属地", {}),
        ("at 12:30:45, std::vector, a::b::c", {}),
    ],
)
def test_the_address_is_found_in_the_sentence_and_never_guessed(text: str, found: dict[str, str]) -> None:
    parameters = Parameters(load_manifest(FOLDER).intents[0])
    assert parameters.fill(text, {}) == found
    assert all(problem.missing for problem in parameters.problems(found))


@pytest.mark.parametrize(
    "ip",
    [
        "8.8.8.8/../me",
        "8.8.8.8?token=x",
        "8.8.8.8#",
        "..",
        "1.2.3",
        "01.2.3.4",
        "256.1.1.1",
        "1:2",
        "::g",
        "",
        "me",
        8,
    ],
)
def test_what_is_no_address_is_refused_by_the_manifest(ip: str | int) -> None:
    assert Parameters(load_manifest(FOLDER).intents[0]).problems({"ip": ip})
