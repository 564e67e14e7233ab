"""The client of the command line against servers that answer well and badly."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.cli.client import Client, Declined, InvalidAddress, NotHermes, Unreachable
from hermes.cli.sse import Frame
from tests.cli.scripted import Scripted, stream, whole


def test_json_is_sent_with_the_key_and_what_comes_back_is_returned(scripted: Scripted) -> None:
    scripted.say_json({"文": "好 🎉"})
    client = Client(scripted.start(), " 6f-key\n")
    assert client.post("/v1/route", {"text": "部署\u2028 web"}) == {"文": "好 🎉"}
    (asked,) = scripted.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/v1/route", {"text": "部署\u2028 web"})
    assert asked.headers["authorization"] == "Bearer 6f-key"
    assert asked.headers["content-type"] == "application/json"


def test_parameters_are_encoded_and_those_that_are_none_left_out(scripted: Scripted) -> None:
    scripted.say_json({})
    Client(scripted.start() + "/base/").get("/v1/messages", plugin="a b&流", limit=5, cursor=None)
    (asked,) = scripted.asked
    assert asked.path == "/base/v1/messages?plugin=a+b%26%E6%B5%81&limit=5"
    assert "authorization" not in asked.headers


def test_a_proxy_of_the_environment_is_not_used(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    scripted.say_json({"status": "ok"})
    assert Client(scripted.start()).get("/healthz") == {"status": "ok"}


def test_a_problem_is_raised_with_its_code_and_sentence(scripted: Scripted) -> None:
    problem = {"title": "A key is needed", "status": 401, "detail": "send the key", "code": "unauthorized"}
    scripted.say_json(problem, "401 Unauthorized", "application/problem+json")
    with pytest.raises(Declined) as raised:
        Client(scripted.start()).get("/v1/plugins")
    assert raised.value.code == "unauthorized"
    assert str(raised.value) == (
        "unauthorized: send the key; give it with --key or in HERMES_KEY; the daemon keeps it in admin.key of its state_dir"
    )


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"])
def test_a_redirect_is_told_and_not_followed(scripted: Scripted, status: str) -> None:
    scripted.say(f"HTTP/1.1 {status}\r\nLocation: {scripted.url}/other\r\nContent-Length: 0\r\n\r\n".encode())
    scripted.say_json({})
    with pytest.raises(NotHermes, match=f"redirects to {scripted.url}/other, which is not followed"):
        Client(scripted.start(), "secret-key").get("/v1/plugins")
    assert len(scripted.asked) == 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (whole(b"<html>", media_type="text/html"), "it sent no JSON object"),
        (whole(b"[1]"), "it sent no JSON object"),
        (whole(b"{}", "502 Bad Gateway", "text/html"), "answered 502 Bad Gateway"),
        (whole(b"{}", "500 ", "application/problem+json"), "answered 500"),
    ],
)
def test_what_is_not_hermes_is_told(scripted: Scripted, answer: bytes, sentence: str) -> None:
    scripted.say(answer)
    with pytest.raises(NotHermes, match=sentence):
        Client(scripted.start()).get("/v1/plugins")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"", "remote end closed connection"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP"),
        (whole(b"{}" * 50)[:-1], "the answer ended early"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "the answer ended early"),
    ],
)
def test_an_answer_that_breaks_off_is_told(scripted: Scripted, answer: bytes, sentence: str) -> None:
    scripted.say(answer)
    with pytest.raises(Unreachable, match=sentence) as raised:
        Client(scripted.start()).get("/v1/plugins")
    assert raised.value.sent


def test_a_daemon_that_is_not_there_is_told_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unreachable) as raised:
        Client(f"http://127.0.0.1:{port}").get("/healthz")
    assert not raised.value.sent
    assert str(raised.value) == (
        f"cannot reach http://127.0.0.1:{port}: connection refused; is the daemon running? "
        "start it with: hermes run; another address is given with --url or in HERMES_URL"
    )


def test_https_needs_a_server_that_speaks_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            listener.accept()[0].close()

        plain = threading.Thread(target=hang_up)
        plain.start()
        with pytest.raises(Unreachable, match="cannot reach https://") as raised:
            Client(f"https://127.0.0.1:{listener.getsockname()[1]}").get("/healthz")
        plain.join()
    assert not raised.value.sent


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "http://",
        "http://127.0.0.1:port",
        "http://127.0.0.1:99999",
        "http://me:hunter2@127.0.0.1",
        "http://127.0.0.1/?key=hunter2",
        "http://[::1",
    ],
)
def test_what_is_no_url_of_a_daemon_is_refused_and_no_password_repeated(url: str) -> None:
    with pytest.raises(InvalidAddress) as raised:
        Client(url)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("key", ["a\nb", "a\rX-Other: 1", "钥匙", "a\x00b"])
def test_a_key_that_would_break_a_header_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(InvalidAddress) as raised:
        Client("http://127.0.0.1:8080", key)
    assert key not in str(raised.value)


@given(st.text())
@settings(max_examples=200)
def test_invariant_any_url_is_taken_or_refused(url: str) -> None:
    for candidate in (url, f"http://{url}", f"http://127.0.0.1/{url}"):
        try:
            Client(candidate)
        except InvalidAddress as error:
            assert str(error)  # noqa: PT017 - either way is right


EVENTS = b'id: 1-1\nevent: PROGRESS\ndata: {"text": "\xe6\xad\xa3"}\n\n', b": heartbeat\n\n", b"data: 2\n\n"
FRAMES = [Frame("1-1", "PROGRESS", '{"text": "正"}'), Frame("1-1", "message", "2")]


def chunked(*parts: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize("answer", [chunked(*EVENTS), chunked(b"".join(EVENTS)), stream(*EVENTS)])
def test_a_stream_gives_its_frames_and_ends_with_it(scripted: Scripted, answer: bytes) -> None:
    scripted.say(answer)
    with Client(scripted.start()).stream("/v1/events", last_id="9-9") as frames:
        assert list(frames) == FRAMES
    (asked,) = scripted.asked
    assert (asked.method, asked.headers["last-event-id"]) == ("GET", "9-9")
    assert asked.headers["accept"] == "text/event-stream"


def test_a_stream_gives_each_frame_when_it_comes(scripted: Scripted) -> None:
    seen = threading.Event()
    scripted.say(stream(EVENTS[0]), seen, EVENTS[2])
    with Client(scripted.start()).stream("/v1/messages", body={"text": "x"}) as frames:
        assert next(frames) == FRAMES[0]
        seen.set()
        assert next(frames) == FRAMES[1]
    assert scripted.asked[0].method == "POST"


def test_a_stream_that_breaks_off_is_told(scripted: Scripted) -> None:
    scripted.say(chunked(*EVENTS)[:-9])
    with (
        Client(scripted.start()).stream("/v1/events") as frames,
        pytest.raises(Unreachable, match="lost the"),
    ):
        list(frames)


def test_a_deadline_ends_a_stream_that_says_nothing(scripted: Scripted) -> None:
    over = threading.Event()
    scripted.say(stream(EVENTS[0]), over)
    deadline = time.monotonic() + 0.2
    with Client(scripted.start()).stream("/v1/events", deadline=deadline) as frames:
        assert list(frames) == FRAMES[:1]
    assert time.monotonic() >= deadline
    over.set()


def test_a_deadline_that_has_passed_ends_a_stream_at_once(scripted: Scripted) -> None:
    scripted.say(stream(*EVENTS))
    with Client(scripted.start()).stream("/v1/events", deadline=time.monotonic() - 1) as frames:
        assert list(frames) == []


def test_an_answer_that_is_no_stream_is_told(scripted: Scripted) -> None:
    scripted.say(whole(json.dumps({"status": "ok"}).encode()))
    with (
        Client(scripted.start()).stream("/v1/events") as frames,
        pytest.raises(NotHermes, match="no event stream"),
    ):
        list(frames)
