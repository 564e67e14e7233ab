"""Answers of servers that do not do what HTTP says, or do it in odd ways: each is a result or an error in clear words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from hermes.host.workers.failures import Raised
from tests.support.shop import Shop
from tests.support.wrapped import ask, plugin

CITY = "上海 晴"


@dataclass(slots=True)
class Raw:
    """A server that answers each request with the next of `answers`, byte by byte as they stand, and closes if told to."""

    url: str = ""
    answers: list[bytes] = field(default_factory=list)
    closes: bool = True
    asked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.asked.append(head.decode().split(" ")[1])
                writer.write(self.answers.pop(0))
                await writer.drain()
                if self.closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # whoever asked has gone
        finally:
            writer.close()


@pytest.fixture
async def raw() -> AsyncIterator[Raw]:
    """A raw server for one test."""
    raw = Raw()
    server = await asyncio.start_server(raw.serve, "127.0.0.1", 0)
    raw.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield raw
    server.close()


def answer(status: str, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


# Character sets.


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("application/json; charset=gbk", "gbk"),
        ("application/json; charset=utf-16", "utf-16"),
        ("application/json; charset=utf-16", "utf-16-be"),
        ("application/json", "utf-16"),
        ("application/json; charset=iso-8859-1", "utf-8"),
        ("text/html; charset=us-ascii", "utf-8"),
        ("application/json; charset=no-such", "utf-8"),
        ("application/json; charset=hex", "utf-8"),
        ("application/json; charset=", "utf-8"),
        ('application/json; charset="utf-8', "utf-8"),
        ("nonsense;;;=", "utf-8"),
    ],
)
async def test_json_in_any_character_set_under_any_name_is_read(
    shop: Shop, raw: Raw, kind: str, name: str
) -> None:
    raw.answers = [answer("200 OK", f'{{"city": "{CITY}"}}'.encode(name), f"Content-Type: {kind}")]
    assert await ask(shop, raw.url, response={"data": "/city"}) == {"data": CITY, "error": None}


@pytest.mark.parametrize(
    ("locale", "sentence"),
    [
        ("zh", "回答不全是 utf-8 编码，读不出的字符已被替换。"),
        ("en", "Not all of the answer is in the character set utf-8; what cannot be read was replaced."),
    ],
)
async def test_what_is_in_no_set_that_is_known_comes_with_a_warning(
    shop: Shop, raw: Raw, locale: str, sentence: str
) -> None:
    raw.answers = [answer("200 OK", "上海".encode("gbk"), "Content-Type: text/plain; charset=utf-8")]
    envelope = await ask(shop, raw.url, locale=locale)
    assert (envelope["error"], envelope["warning"]) == (None, sentence)
    assert "\ufffd" in envelope["data"]


async def test_the_words_of_an_error_are_read_in_their_character_set(shop: Shop, raw: Raw) -> None:
    body = '{"message": "没有这个城市"}'.encode("gbk")
    raw.answers = [answer("404 Not Found", body, "Content-Type: application/json; charset=gbk")]
    assert (await ask(shop, raw.url, locale="zh"))["error"]["message"] == "对方返回 404：没有这个城市"


# Odd statuses.


async def test_a_switch_of_protocols_is_denied_in_words_and_the_next_call_is_as_ever(
    shop: Shop, raw: Raw
) -> None:
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    raw.answers, raw.closes = [upgrade, answer("200 OK", b"1")], False  # it would go on in another protocol
    worker = await plugin(shop, {"url": raw.url})
    error = (await shop.ask(worker))["error"]
    assert (error["code"], error["retryable"]) == ("upstream_denied", False)
    assert (
        error["message"]
        == "The service answered 101 and asks for another protocol, which is not spoken here."
    )
    assert await shop.ask(worker) == {"data": 1, "error": None}


@pytest.mark.parametrize("before", ["100 Continue", "102 Processing", "103 Early Hints"])
async def test_what_comes_before_the_answer_is_not_the_answer(shop: Shop, raw: Raw, before: str) -> None:
    raw.answers = [f"HTTP/1.1 {before}\r\nLink: </a>\r\n\r\n".encode() * 3 + answer("200 OK", b"[1]")]
    assert await ask(shop, raw.url) == {"data": [1], "error": None}


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        ("304 Not Modified", "upstream_denied", "The service answered 304."),
        ("300 Multiple Choices", "upstream_denied", "points to another address"),
        ("307 Temporary Redirect", "upstream_denied", "points to another address"),
        ("418 I'm a teapot", "upstream_denied", "The service answered 418."),
        ("599 x", "upstream_unavailable", "The service answered 599."),
        ("999 x", "upstream_unavailable", "The service answered 999."),
    ],
)
async def test_a_status_that_is_no_success_is_an_error_with_its_number(
    shop: Shop, raw: Raw, status: str, code: str, words: str
) -> None:
    raw.answers = [answer(status)]
    error = (await ask(shop, raw.url))["error"]
    assert error["code"] == code
    assert words in error["message"]


# No body, or not the one that was told.


@pytest.mark.parametrize(
    "status", ["200 OK", "201 Created", "202 Accepted", "204 No Content", "205 Reset Content"]
)
async def test_an_answer_without_a_body_is_null(shop: Shop, raw: Raw, status: str) -> None:
    raw.answers = [answer(status)]
    assert await ask(shop, raw.url) == {"data": None, "error": None}


async def test_data_that_was_asked_for_of_no_body_is_null_with_a_warning(shop: Shop, raw: Raw) -> None:
    raw.answers = [answer("204 No Content")]
    assert await ask(shop, raw.url, response={"data": "/a"}) == {
        "data": None,
        "error": None,
        "warning": "The answer has no /a.",
    }


async def test_a_body_behind_a_status_that_has_none_is_not_the_answer_to_the_next_call(
    shop: Shop, raw: Raw
) -> None:
    raw.answers = [answer("204 No Content", answer("200 OK", b'"smuggled"')), answer("200 OK", b'"true"')]
    raw.closes = False
    worker = await plugin(shop, {"url": raw.url})
    assert await shop.ask(worker) == {"data": None, "error": None}
    assert (await shop.ask(worker))["data"] != "smuggled"


@pytest.mark.parametrize(
    "content",
    [
        answer("200 OK", length=10),  # as if the question had been HEAD
        answer("200 OK", b'{"half":', length=100),
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200",
        b"",
        b"220 mail.example.org ESMTP\r\n",
        b"HTTP/1.1 OK 200\r\n\r\n",
        answer("200 OK", b"no gzip", "Content-Encoding: gzip"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
)
async def test_an_answer_that_breaks_off_or_is_none_of_http_is_unavailable_in_words(
    shop: Shop, raw: Raw, content: bytes
) -> None:
    raw.answers = [content] * 3
    envelope = await ask(shop, raw.url, locale="zh")
    assert envelope["data"] is None
    assert envelope["error"] == {
        "code": "upstream_unavailable",
        "message": "与对方的连接中断了。",
        "retryable": True,
    }


async def test_a_body_without_a_length_ends_with_the_connection(shop: Shop, raw: Raw) -> None:
    raw.answers = [b"HTTP/1.0 200 OK\r\n\r\n[1, 2]"]
    assert await ask(shop, raw.url) == {"data": [1, 2], "error": None}


async def test_json_that_is_not_strict_in_another_character_set_is_refused_too(shop: Shop, raw: Raw) -> None:
    raw.answers = [answer("200 OK", '{"城": NaN}'.encode("gbk"), "Content-Type: text/plain; charset=gbk")]
    with pytest.raises(Raised, match="NaN"):
        await ask(shop, raw.url)
