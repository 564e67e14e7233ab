from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from hermes.host.workers.failures import Raised
from tests.support.bench import eventually
from tests.support.shop import Shop
from tests.support.web import Web, serving
from tests.support.wrapped import ask, plugin

# Where it leads.


def redirect(location: str, status: int = 302) -> Callable[[web.Request], Any]:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/arrived":
            return web.json_response("there")
        return web.Response(
            status=status, headers={"Location": location.replace("SELF", f"http://{request.host}")}
        )

    return answer


@pytest.mark.parametrize("location", ["/arrived", "arrived", "SELF/arrived"])
async def test_a_redirect_on_the_same_host_is_followed(shop: Shop, server: Web, location: str) -> None:
    server.answer = redirect(location)
    assert (await ask(shop, server.url + "/x"))["data"] == "there"
    assert [asked.path for asked in server.asked] == ["/x", "/arrived"]


async def test_a_redirect_to_another_host_is_not_followed_and_says_so(shop: Shop, server: Web) -> None:
    async with serving() as other:
        for location in (other.url + "/arrived", other.url.removeprefix("http:") + "/arrived"):
            server.answer = redirect(location)
            envelope = await ask(shop, server.url + "/x")
            assert envelope["error"]["code"] == "upstream_denied"
            assert "points to another address, which is not followed" in envelope["error"]["message"]
        assert other.asked == []


@pytest.mark.parametrize("location", ["ftp://127.0.0.1/x", "http://[::1", "http://127.0.0.1:99999"])
async def test_a_redirect_to_nowhere_is_not_followed(shop: Shop, server: Web, location: str) -> None:
    server.answer = redirect(location)
    assert (await ask(shop, server.url + "/x"))["error"]["code"] == "upstream_denied"
    assert len(server.asked) == 1


async def test_a_write_follows_no_redirect(shop: Shop, server: Web) -> None:
    server.answer = redirect("/arrived", 307)
    assert (await ask(shop, server.url + "/x", method="POST"))["error"]["code"] == "upstream_denied"
    assert len(server.asked) == 1


async def test_redirects_in_a_circle_come_to_an_end(shop: Shop, server: Web) -> None:
    server.answer = redirect("/x")
    assert (await ask(shop, server.url + "/x"))["error"]["code"] == "upstream_denied"
    assert len(server.asked) == 5


# When nobody answers.


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_a_service_that_refuses_connections_is_unavailable(shop: Shop) -> None:
    envelope = await ask(shop, f"http://127.0.0.1:{unused_port()}", locale="zh")
    assert envelope["error"] == {
        "code": "upstream_unavailable",
        "message": "连不上对方：拒绝连接。",
        "retryable": True,
    }
    assert shop.lines == [("warning", "GET: ClientConnectorError", "c1")]


async def test_a_name_that_nobody_knows_is_unavailable(shop: Shop) -> None:
    envelope = await ask(shop, "http://no-such-host.invalid")
    assert envelope["error"]["message"] == "The service cannot be reached: the name of its host is not known."
    assert envelope["error"]["retryable"]


async def test_a_service_without_tls_where_tls_is_asked_for_is_unavailable(shop: Shop, server: Web) -> None:
    envelope = await ask(shop, server.url.replace("http:", "https:"))
    assert envelope["error"]["message"].endswith("its certificate or TLS is not in order.")
    assert envelope["error"]["code"] == "upstream_unavailable"


async def test_a_connection_that_is_not_made_in_time_is_unavailable(shop: Shop) -> None:
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)  # two wait in its queue and nobody takes them; the kernel drops who comes next
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(deaf.getsockname())
        worker = await plugin(shop, {"url": f"http://127.0.0.1:{deaf.getsockname()[1]}"})
        envelope = await shop.ask(worker, deadline_ms=400)
    assert envelope["error"]["message"] == "The service cannot be reached: no connection in time."
    assert envelope["error"]["retryable"]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    ],
)
async def test_an_answer_that_breaks_off_is_unavailable_and_may_have_taken_effect(
    shop: Shop, answer: bytes
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        writing = {"name": "p", "writes": True}
        worker = await plugin(shop, {"url": url, "method": "POST"}, intents=[writing])
        envelope = await shop.ask(worker, locale="zh")
        assert envelope["error"]["message"] == "与对方的连接中断了。"
        assert envelope["warning"] == "该操作可能已经生效。"
        assert "warning" not in await ask(shop, url)


# How it ends.


async def test_cancelling_gives_the_request_up(shop: Shop, server: Web) -> None:
    async def hang(_request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    server.answer = hang
    worker = await plugin(shop, {"url": server.url})
    job = shop.begin(worker)
    await eventually(lambda: server.asked)
    worker.cancel(job.id)
    with pytest.raises(Raised, match="cancelled"):
        await job.result()
    await eventually(lambda: server.dropped)
    server.say("again")
    assert (await shop.ask(worker))["data"] == "again"


async def test_calls_share_connections_and_wait_for_none_of_each_other(shop: Shop, server: Web) -> None:
    together = asyncio.Event()

    async def meet(_request: web.Request) -> web.Response:
        if len(server.asked) == 30:
            together.set()
        await together.wait()
        return web.json_response(1)

    server.answer = meet
    worker = await plugin(shop, {"url": server.url})
    jobs = [shop.begin(worker) for _ in range(30)]
    assert [(await job.result())["data"] for job in jobs] == [1] * 30
    worker.close()
    await worker.exited.wait()
    assert shop.exits == ["the worker was closed"]
