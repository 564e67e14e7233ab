"""What arrives on the socket need not be HTTP; the server answers or hangs up and goes on."""

from __future__ import annotations

import json
import socket

import pytest

from tests.support.daemon import Daemon

HEAD = b"POST /v1/messages?wait=20 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = '{"text": "复述 一个字节一个字节"}'.encode()


def _works(daemon: Daemon) -> None:
    assert daemon.send("echo")["status"] == "succeeded"


@pytest.mark.parametrize(
    "bytes_",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\n\r\n",
        HEAD + b"Content-Length: -5\r\n\r\n",
        HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"Bad Header: x\r\n\r\n",
    ],
    ids=["words", "TLS", "version", "negative length", "two lengths", "three lengths", "chunk", "header"],
)
def test_what_is_not_http_is_refused(daemon: Daemon, bytes_: bytes) -> None:
    assert daemon.exchange(bytes_).status in {400, 505}
    _works(daemon)


def test_a_request_may_come_byte_by_byte(daemon: Daemon) -> None:
    whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    answer = daemon.exchange(*(bytes([byte]) for byte in whole))
    assert answer.json["envelope"]["data"]["text"] == "复述 一个字节一个字节"


def test_a_body_may_come_in_chunks(daemon: Daemon) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"
    answer = daemon.exchange(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert answer.json["status"] == "succeeded"


def test_a_client_that_hangs_up_in_the_middle_is_no_error_of_ours(daemon: Daemon) -> None:
    for part in (
        b"POST /v1/mess",
        HEAD,
        HEAD + b"Content-Length: 100\r\n\r\n",
        HEAD + b"Content-Length: 100\r\n\r\n{",
    ):
        with socket.create_connection((daemon.host, daemon.port), timeout=20) as connection:
            connection.sendall(part)
    _works(daemon)
    assert daemon.faults() == []


def test_one_connection_carries_many_requests(daemon: Daemon) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with socket.create_connection((daemon.host, daemon.port), timeout=20) as connection:
        connection.sendall(one * 3 + last)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.count(b"HTTP/1.1 200 OK") == 4


def test_a_refused_body_does_not_poison_the_connection(daemon: Daemon) -> None:
    """What was refused unread must not be taken for the next request."""
    smuggled = b'{"text": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"}'
    head = HEAD.replace(b"application/json", b"text/plain") + b"Content-Length: %d\r\n\r\n" % len(smuggled)
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with socket.create_connection((daemon.host, daemon.port), timeout=20) as connection:
        connection.sendall(head + smuggled + last)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 415")
    assert received.count(b"HTTP/1.1 200 OK") <= 1


def test_long_texts_go_through(daemon: Daemon) -> None:
    text = "echo " + "很长的一句话 and a long one " * 20_000
    record = daemon.send(text)
    assert record["status"] == "succeeded"
    assert daemon.get(record["links"]["raw"]).json == {"text": text}


def test_answers_are_json_in_utf_8(daemon: Daemon) -> None:
    answer = daemon.post("/v1/messages?wait=20", {"text": "复述 编码 👍"})
    assert answer.headers["content-type"] == "application/json"
    assert "复述 编码 👍" in answer.body.decode()
    assert json.loads(answer.body)["status"] == "succeeded"
