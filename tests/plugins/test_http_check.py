"""http-check against servers of these tests: pages, redirects, ports, and how a target is read."""

from __future__ import annotations

import importlib
import socket
from pathlib import Path

import pytest

from hermes.host.manifests.manifest import load_manifest, plugin_config
from hermes.host.manifests.parameters import Parameters
from hermes.sdk.testing import Call, load
from tests.support.site import OPEN, Site, check, problem

FOLDER = Path(__file__).parents[2] / "plugins" / "http-check"

load(FOLDER)  # so that its modules can be imported


async def test_a_page_is_told_with_status_and_latency(site: Site) -> None:
    outcome = await check(f"{site.url}/")
    assert outcome.error is None
    assert outcome.data.pop("latency_ms") > 0
    assert outcome.data == {
        "target": f"{site.url}/",
        "ok": True,
        "problem": None,
        "port_open": True,
        "status": 200,
        "certificate_days": None,
        "certificate_expires": None,
        "url": f"{site.url}/",
        "address": "127.0.0.1",
        "redirects": [],
    }
    (request,) = site.seen
    assert request.startswith(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n")
    assert set(load_manifest(FOLDER).summary.fields) <= {*outcome.data, "latency_ms"}


@pytest.mark.parametrize(("locale", "word"), [("zh", "HTTP 状态码是 503"), ("en", "The HTTP status is 503")])
async def test_a_page_that_fails_is_a_result_and_no_error(site: Site, locale: str, word: str) -> None:
    site.pages["/"] = b"HTTP/1.0 503\r\n\r\n"
    outcome = await check(site.url, locale=locale)
    assert outcome.error is None
    assert (outcome.data["ok"], outcome.data["status"], outcome.data["problem"]) == (False, 503, word)


async def test_path_and_query_are_asked_for_as_they_mean(site: Site) -> None:
    await check(f"HTTP://127.0.0.1:{site.port}/路径/%41?q=中 文#part".replace(" ", "%20"))
    assert site.seen[0].startswith("GET /%E8%B7%AF%E5%BE%84/%41?q=%E4%B8%AD%20%E6%96%87 HTTP/1.1\r\n")


async def test_redirects_are_followed_and_told(site: Site) -> None:
    site.redirect("/a", "b?x=1", 301)
    site.redirect("/b?x=1", f"//127.0.0.1:{site.port}/c", 307)
    site.redirect("/c", f"{site.url}/", 308)
    outcome = await check(f"{site.url}/a", locale="zh")
    assert outcome.data["redirects"] == [
        {"status": 301, "url": f"{site.url}/a"},
        {"status": 307, "url": f"{site.url}/b?x=1"},
        {"status": 308, "url": f"{site.url}/c"},
    ]
    assert (outcome.data["ok"], outcome.data["status"], outcome.data["url"]) == (True, 200, f"{site.url}/")
    assert f"第 3 次跳转，到 {site.url}/" in [line.text for line in outcome.progress]


async def test_the_sixth_redirect_is_not_followed(site: Site) -> None:
    for number in range(7):
        site.redirect(f"/{number}", f"/{number + 1}")
    site.redirect("/loop", "/loop")
    outcome = await check(f"{site.url}/1")
    assert (outcome.data["ok"], outcome.data["status"], len(outcome.data["redirects"])) == (False, 302, 5)
    assert "more than 5 redirects" in outcome.data["problem"]
    assert len(site.seen) == 6
    assert (await check(f"{site.url}/loop")).data["ok"] is False


@pytest.mark.parametrize(
    "location",
    ["ftp://127.0.0.1/", "file:///etc/passwd", "http://a:b@127.0.0.1/", "http://[::1", "javascript:x"],
)
async def test_a_redirect_to_what_is_no_page_is_not_followed(site: Site, location: str) -> None:
    site.redirect("/", location)
    outcome = await check(site.url)
    assert (outcome.data["ok"], outcome.data["status"]) == (False, 302)
    assert "no http or https address" in outcome.data["problem"]


async def test_the_answer_itself_is_waited_for_after_an_early_hint(site: Site) -> None:
    site.pages["/"] = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
    assert (await check(site.url)).data["status"] == 204


async def test_an_open_port_is_told_with_its_latency(site: Site) -> None:
    outcome = await check(f"127.0.0.1:{site.port}")
    assert (outcome.data["ok"], outcome.data["port_open"], outcome.data["status"]) == (True, True, None)
    assert outcome.data["latency_ms"] > 0
    assert (outcome.data["url"], site.seen) == (None, [])


@pytest.mark.parametrize("target", ["127.0.0.1:{}", "http://127.0.0.1:{}/"])
@pytest.mark.parametrize(("locale", "word"), [("zh", "端口没有开放"), ("en", "port is not open")])
async def test_a_closed_port_is_a_result_and_no_error(target: str, locale: str, word: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    outcome = await check(target.format(port), locale=locale)
    assert outcome.error is None
    assert (outcome.data["ok"], outcome.data["port_open"]) == (False, False)
    assert word in outcome.data["problem"]


@pytest.mark.parametrize(
    "page",
    [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n", b"x" * 70_000],
)
async def test_what_speaks_no_http_is_told(site: Site, page: bytes) -> None:
    site.pages["/"] = page
    outcome = await check(site.url)
    assert (outcome.data["ok"], outcome.data["port_open"]) == (False, True)
    assert "HTTP" in outcome.data["problem"]


@pytest.mark.parametrize("config", [{"timeout": 0.2}, {}])
async def test_a_page_that_never_comes_ends_before_the_time_of_the_call_is_up(
    site: Site, config: dict[str, float]
) -> None:
    site.pages["/"] = b""
    outcome = await check(site.url, OPEN | config, call=Call(timeout=1.5), locale="zh")
    assert (outcome.data["ok"], outcome.data["problem"]) == (False, "没有及时回答")


@pytest.mark.parametrize(
    "target",
    [
        "ftp://example.com/",
        "http://",
        "http://a:b@example.com/",
        "me@example.com:22",
        "http://example.com:99999/",
        "http://exa mple/",
        "http://x\\@y/",
        "://x",
        "a..b:80",
        "x:0",
        "http://" + "a" * 64 + ".example/",
        "http://[::1/",
    ],
)
async def test_what_is_no_target_is_refused(target: str) -> None:
    assert problem(await check(target))[0] == "invalid_payload"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("example.com", "https://example.com/"),
        ("Example.com.", "https://example.com/"),
        ("例子.中国/路径", "https://xn--fsqu00a.xn--fiqs8s/%E8%B7%AF%E5%BE%84"),
        ("https://example.com:443", "https://example.com/"),
        ("http://example.com:443/a", "http://example.com:443/a"),
        ("[2001:DB8::1]:80", "[2001:db8::1]:80"),
        ("example.com:443", "example.com:443"),
    ],
)
def test_a_target_is_read_as_people_mean_it(text: str, meant: str) -> None:
    assert str(importlib.import_module("http-check.http_check.targets").parse(text)) == meant


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("检查 https://example.com。", {"target": "https://example.com"}),
        ("看看https://a.b/c?x=1&y=2，谢谢", {"target": "https://a.b/c?x=1&y=2"}),
        ("(see http://example.com/a)", {"target": "http://example.com/a"}),
        ("见 http://例子.中国/路径 吗", {"target": "http://例子.中国/路径"}),
        ("example.com:443 端口通吗", {"target": "example.com:443"}),
        ("is port open on db-1:5432?", {"target": "db-1:5432"}),
        ("[::1]:80 端口", {"target": "[::1]:80"}),
        ("ｅｘａｍｐｌｅ．ｃｏｍ：４４３ 端口通吗", {"target": "example.com:443"}),
        ("证书 example.com 的", {"target": "example.com"}),
        ("when does the certificate of example.com expire?", {"target": "example.com"}),
        ("at 12:30 check the website", {}),
        ("version 1.2.3 of me@example.com", {}),
        ("检查网站", {}),
    ],
)
def test_the_target_is_found_in_the_sentence_and_never_guessed(text: str, found: dict[str, str]) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert Parameters(intent).fill(text, {}) == found


def test_the_plugin_loads_without_any_setting_or_variable(tmp_path: Path) -> None:
    manifest = load_manifest(FOLDER)
    assert plugin_config(manifest, {"ca_file": "ca.pem"}, base_dir=tmp_path) == {
        "ca_file": str(tmp_path / "ca.pem")
    }
