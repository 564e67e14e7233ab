from __future__ import annotations

from typing import Any

import pytest

from hermes.errors import ConfigError
from tests.support.shop import Shop

URL = "https://a.example/x"
CITY = [{"name": "p", "parameters": {"properties": {"city": {"type": "string"}}}}]


@pytest.fixture
def shop(tmp_path: Any) -> Shop:
    return Shop(tmp_path, environ={"TOKEN": "t", "BASE": "https://b.example"})


def refusal(shop: Shop, http: Any, **manifest: Any) -> list[tuple[str | None, str]]:
    shop.write({}, runtime="http", http=http, **manifest)
    with pytest.raises(ConfigError) as refused:
        shop.load()
    return [(problem.key, problem.detail) for problem in refused.value.problems]


@pytest.mark.parametrize(
    "http",
    [
        {"url": URL},
        {
            "url": "${BASE}/{city}?key=${TOKEN}",
            "headers": {"X-Who": "{text}", "Authorization": "Bearer ${TOKEN}"},
        },
        {
            "url": URL,
            "method": "POST",
            "body": {"a": ["{city}", 1, None]},
            "headers": {"Content-Type": "application/vnd.api+json"},
        },
        {"url": URL, "response": {"data": "/a/0/~1b~0", "error": "/error"}},
        {"url": "http://127.0.0.1:8080/{city}"},
    ],
)
def test_a_request_that_is_right_is_taken(shop: Shop, http: dict[str, Any]) -> None:
    shop.write({}, runtime="http", http=http, env=["TOKEN", "BASE"], intents=CITY)
    assert shop.load().manifest.options.http.url == http["url"]


@pytest.mark.parametrize(
    ("http", "key", "reason"),
    [
        ({}, "http.url", "is required"),
        ({"url": ""}, "http.url", "must not be empty"),
        ({"url": "a.example/x"}, "http.url", "must be an address such as https://api.example.com"),
        ({"url": "ftp://a.example/x"}, "http.url", "must be an address"),
        ({"url": "https://user:pass@a.example/x"}, "http.url", "must not hold a user or a password"),
        (
            {"url": "https://{host}/x"},
            "http.url",
            "has {host} before the path: whoever asks would choose where",
        ),
        ({"url": "{scheme}://a.example/x"}, "http.url", "before the path"),
        ({"url": "https://a.example:{port}/x"}, "http.url", "before the path"),
        ({"url": "https://{user}@a.example/x"}, "http.url", "before the path"),
        ({"url": "{url}"}, "http.url", "before the path"),
        ({"url": "${BASE}{path}"}, "http.url", "before the path"),
        ({"url": "https://a.example{more}/x"}, "http.url", "before the path"),
        ({"url": "https://a.example/x#y"}, "http.url", "has a # part"),
        (
            {"url": "https://a.example/${OTHER}"},
            "http.url",
            "has ${OTHER}, which is not named in env; add it there",
        ),
        ({"url": "https://a.example/${TOKEN"}, "http.url", "has a ${ that does not begin a ${NAME}"),
        ({"url": URL, "method": "TRACE"}, "http.method", "must be 'GET', 'POST', 'PUT', 'PATCH' or 'DELETE'"),
        ({"url": URL, "body": {}}, "http.body", "is not sent with GET; remove it, or use POST, PUT or PATCH"),
        ({"url": URL, "method": "DELETE", "body": 0}, "http.body", "is not sent with DELETE"),
        ({"url": URL, "method": "POST", "body": {"a": ["${OTHER}"]}}, "http.body.a[0]", "not named in env"),
        ({"url": URL, "headers": {"A": "${OTHER}"}}, "http.headers.A", "not named in env"),
        ({"url": URL, "headers": {"A B": "x"}}, "http.headers.A B", "is no name of a header"),
        ({"url": URL, "headers": {"A": "x\ny"}}, "http.headers.A", "must not hold line breaks"),
        ({"url": URL, "headers": {"A": 3}}, "http.headers.A", "must be text"),
        ({"url": URL, "headers": {"Host": "b.example"}}, "http.headers.Host", "is set by Hermes"),
        ({"url": URL, "headers": {"content-length": "3"}}, "http.headers.content-length", "is set by Hermes"),
        ({"url": URL, "headers": {"A": "1", "a": "2"}}, "http.headers.a", "is there twice"),
        (
            {"url": URL, "headers": {"Content-Type": "text/plain"}},
            "http.headers.Content-Type",
            "must be one of JSON",
        ),
        ({"url": URL, "response": {"data": "a/b"}}, "http.response.data", "must match"),
        ({"url": URL, "response": {"error": "/a~2"}}, "http.response.error", "must match"),
        ({"url": URL, "response": {"daat": "/a"}}, "http.response.daat", "did you mean data?"),
        ({"uri": URL, "url": URL}, "http.uri", "did you mean url?"),
        (3, "http", "must be a mapping of keys to values"),
    ],
)
def test_what_is_wrong_is_told_when_the_manifest_is_read(
    shop: Shop, http: Any, key: str, reason: str
) -> None:
    ((told, detail),) = refusal(shop, http, env=["TOKEN", "BASE"])
    assert told == key
    assert reason in detail


def test_a_place_that_nothing_fills_is_told_where_the_parameters_are_known(shop: Shop) -> None:
    http = {"url": "https://a.example/{ctiy}", "method": "POST", "body": {"q": "{text} {unit}"}}
    assert refusal(shop, http, intents=CITY) == [
        ("http.url", "has {ctiy}, which no intent has among its parameters; known are city, text"),
        ("http.body.q", "has {unit}, which no intent has among its parameters; known are city, text"),
    ]
    shop.write({}, runtime="http", http=http, intents=[*CITY, "free"])
    assert shop.load().manifest.options.http.method == "POST"


def test_several_faults_are_told_at_once(shop: Shop) -> None:
    http = {"url": "https://{x}/#", "headers": {"Host": "a"}, "body": "${A}"}
    assert {key for key, _ in refusal(shop, http)} == {"http.url", "http.headers.Host", "http.body"}
