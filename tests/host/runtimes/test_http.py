from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from aiohttp import web

import hermes
from hermes.host.workers.failures import Raised, ResultTooLarge
from tests.support.bench import eventually
from tests.support.shop import Shop
from tests.support.web import Web
from tests.support.wrapped import ask, plugin

# What is sent.


async def test_a_manifest_alone_wraps_an_api(shop: Shop, server: Web) -> None:
    shop.environ |= {"WEATHER_TOKEN": "geheim"}
    http = {
        "url": server.url + "/v1/{city}?unit={unit}&days={days}",
        "headers": {"Authorization": "Bearer ${WEATHER_TOKEN}", "X-Who": "{who}"},
        "response": {"data": "/result"},
    }
    server.say({"result": {"天气": "晴", "温度": 21}})
    worker = await plugin(shop, http, env=["WEATHER_TOKEN"])
    assert await shop.ask(worker, {"text": "天气", "city": "上海/浦东", "days": 3, "who": "小王"}) == {
        "data": {"天气": "晴", "温度": 21},
        "error": None,
    }
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", "/v1/%E4%B8%8A%E6%B5%B7%2F%E6%B5%A6%E4%B8%9C?days=3")
    assert asked.headers["Authorization"] == "Bearer geheim"
    assert asked.headers["User-Agent"] == f"hermes/{hermes.__version__}"
    assert asked.headers["Accept"] == "application/json"
    assert asked.headers.keys().isdisjoint({"Idempotency-Key", "traceparent", "Content-Type", "Cookie"})
    assert worker.processes() == []


async def test_a_body_is_json_and_a_write_carries_its_key(shop: Shop, server: Web) -> None:
    worker = await plugin(
        shop,
        {
            "method": "POST",
            "url": server.url,
            "body": {"title": "{text}", "n": "{n}"},
            "headers": {"accept": "x/y"},
        },
        intents=[{"name": "p", "writes": True}],
    )
    await shop.ask(worker, {"text": "停机", "n": 3}, traceparent="00-1-2-01")
    (asked,) = server.asked
    assert json.loads(asked.body) == {"title": "停机", "n": 3}
    assert asked.headers["Content-Type"] == "application/json"
    assert (asked.headers["Idempotency-Key"], asked.headers["traceparent"]) == ("k1", "00-1-2-01")
    assert {name.lower(): text for name, text in asked.headers.items()}["accept"] == "x/y"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_every_method_is_sent(shop: Shop, server: Web, method: str) -> None:
    body: dict[str, Any] = {"body": [1]} if method in {"POST", "PUT", "PATCH"} else {}
    await shop.ask(await plugin(shop, {"url": server.url, "method": method, **body}))
    assert [(asked.method, asked.body) for asked in server.asked] == [(method, b"[1]" if body else b"")]


async def test_the_base_of_the_address_may_be_a_variable(shop: Shop, server: Web) -> None:
    shop.environ |= {"BASE": server.url + "/api/"}
    await shop.ask(await plugin(shop, {"url": "${BASE}/x"}, env=["BASE"]))
    assert [asked.path for asked in server.asked] == ["/api/x"]


async def test_a_variable_that_is_no_address_is_told_when_the_worker_starts(shop: Shop) -> None:
    shop.environ |= {"BASE": "geheim"}
    with pytest.raises(Raised, match="must be an address such as") as refused:
        await plugin(shop, {"url": "${BASE}/x"}, env=["BASE"])
    assert refused.value.where == {"file": "manifest.json"}
    assert "geheim" not in refused.value.reason


@pytest.mark.parametrize(("locale", "sentence"), [("zh", "缺少参数 city。"), ("en", "city is missing.")])
async def test_a_payload_that_makes_no_address_is_refused_before_anything_is_sent(
    shop: Shop, server: Web, locale: str, sentence: str
) -> None:
    envelope = await ask(shop, server.url + "/{city}", locale=locale)
    assert envelope["error"] == {"code": "invalid_payload", "message": sentence, "retryable": False}
    assert server.asked == []


async def test_no_proxy_of_the_environment_is_asked(
    shop: Shop, server: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert (await ask(shop, server.url))["error"] is None


async def test_cookies_are_not_kept_for_the_next_caller(shop: Shop, server: Web) -> None:
    server.say({}, headers={"Set-Cookie": "session=of-somebody"})
    worker = await plugin(shop, {"url": server.url.replace("127.0.0.1", "localhost")})
    await shop.ask(worker)
    await shop.ask(worker)
    assert [asked.headers.get("Cookie") for asked in server.asked] == [None, None]


# What is answered.


async def test_a_text_comes_in_its_own_character_set(shop: Shop, server: Web) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body="上海 晴".encode("gbk"), headers={"Content-Type": "text/plain; charset=gbk"})

    server.answer = answer
    assert await ask(shop, server.url) == {"data": "上海 晴", "error": None}


async def test_an_error_is_put_into_words_without_secrets(shop: Shop, server: Web) -> None:
    shop.environ |= {"TOKEN": "geheim"}
    server.say({"message": "the token geheim has expired"}, 401)
    worker = await plugin(shop, {"url": server.url + "/?key=${TOKEN}"}, env=["TOKEN"])
    envelope = await shop.ask(worker, locale="zh")
    assert envelope["error"] == {
        "code": "upstream_denied",
        "message": "对方返回 401：the token *** has expired",
        "retryable": False,
    }


async def test_an_answer_over_the_limit_is_not_read_to_its_end(shop: Shop, server: Web) -> None:
    async def pour(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    server.answer = pour
    with pytest.raises(ResultTooLarge):
        await ask(shop, server.url)
    await eventually(lambda: server.dropped)


async def test_an_answer_that_grows_when_it_is_unpacked_is_over_the_limit_too(
    shop: Shop, server: Web
) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=gzip.compress(b"x" * 20_000_000), headers={"Content-Encoding": "gzip"})

    server.answer = answer
    with pytest.raises(ResultTooLarge):
        await ask(shop, server.url)
