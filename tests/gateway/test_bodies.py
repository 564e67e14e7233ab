"""Bodies that cannot be taken are refused with the reason and the field; nothing of them is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hermes.messages import new_id
from tests.support.client import Answer
from tests.support.daemon import Daemon

LIMIT = 1024 * 1024
JSON = {"content-type": "application/json"}


def _post(daemon: Daemon, body: bytes, **headers: str) -> Answer:
    return daemon.request("POST", "/v1/messages?wait=20", body=body, headers=JSON | headers)


def _nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="cut off"),
        pytest.param(b'{"text": "echo"} {}', id="more after it"),
        pytest.param(b"{'text': 'echo'}", id="single quotes"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'"echo"', id="a text"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"intent": "lab.context", "payload": {"n": NaN}}', id="NaN"),
        pytest.param(b'{"intent": "lab.context", "payload": {"n": -Infinity}}', id="Infinity"),
        pytest.param(b'{"intent": "lab.context", "payload": {"n": 1e999}}', id="a number beyond all"),
        pytest.param(b'{"text": "echo \xff\xfe"}', id="not UTF-8"),
        pytest.param('{"text": "复述"}'.encode("gb18030"), id="GB 18030"),
        pytest.param('{"text": "echo"}'.encode("utf-16"), id="UTF-16"),
        pytest.param(b'{"text": "echo \x00"}', id="a NUL byte"),
        pytest.param(b'{"text": "echo \\ud83d"}', id="half a surrogate pair"),
        pytest.param(b'{"intent": "echo", "payload": {"\\udc00": 1}}', id="half a surrogate pair as a key"),
        pytest.param(b'{"text": ' + _nested(100_000) + b"}", id="a hundred thousand levels"),
    ],
)
def test_what_is_not_a_json_object_is_malformed(daemon: Daemon, body: bytes) -> None:
    assert _post(daemon, body).problem == (400, "malformed")


@pytest.mark.parametrize("depth", [300, 1000])
@pytest.mark.parametrize("place", ["payload", "metadata"])
@pytest.mark.parametrize("named", [True, False], ids=["with a request_id", "without"])
def test_what_is_nested_too_deeply_to_be_kept_is_refused(
    daemon: Daemon, depth: int, place: str, named: bool
) -> None:
    request_id = b'"request_id": "%s",' % new_id().encode() if named else b""
    body = b'{%s "intent": "lab.context", "%s": {"deep": %s}}' % (request_id, place.encode(), _nested(depth))
    assert _post(daemon, body).problem == (422, "invalid_field")


@pytest.mark.parametrize("depth", [200])
def test_what_is_nested_less_deeply_goes_through(daemon: Daemon, depth: int) -> None:
    body = b'{"intent": "echo", "payload": {"deep": %s}}' % _nested(depth)
    assert _post(daemon, body).json["envelope"]["data"]["deep"] == json.loads(_nested(depth))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"payload": {"text": "echo"}}, "text"),
        ({"text": None, "intent": None}, "text"),
        ({"text": "", "intent": ""}, "text"),
        ({"text": 5}, "text"),
        ({"text": ["echo"]}, "text"),
        ({"text": "echo", "payload": {"text": "other"}}, "payload.text"),
        ({"text": "echo", "payload": {"text": 5}}, "payload.text"),
        ({"text": "echo", "payload": [1]}, "payload"),
        ({"text": "echo", "payload": None}, "payload"),
        ({"intent": 7}, "intent"),
        ({"intent": "x" * 201}, "intent"),
        ({"text": "echo", "metadata": "m"}, "metadata"),
        ({"text": "echo", "approve": "yes"}, "approve"),
        ({"text": "echo", "approve": 1}, "approve"),
        ({"text": "echo", "source": "cron"}, "source"),
        ({"text": "echo", "source": "webhook"}, "source"),
        ({"text": "echo", "surprise": 1}, "surprise"),
        ({"text": "echo", "timestamp": 1.0}, "timestamp"),
        ({"text": "echo", "retry_of": "x"}, "text"),
        ({"intent": "echo", "retry_of": "x"}, "intent"),
        ({"payload": {}, "retry_of": "x"}, "payload"),
        ({"retry_of": ""}, "retry_of"),
        ({"retry_of": "a b"}, "retry_of"),
        ({"retry_of": 7}, "retry_of"),
    ],
    ids=str,
)
def test_a_wrong_field_is_named(daemon: Daemon, body: dict[str, Any], field: str) -> None:
    answer = daemon.post("/v1/messages", body)
    assert answer.problem == (422, "invalid_field")
    assert answer.json["field"] == field


@pytest.mark.parametrize("name", ["request_id", "session_id"])
@pytest.mark.parametrize(
    "value", ["", " ", "a b", "a/b", "a\n", "é", "会话", "a\u0000", "x" * 129, 7, ["a"]], ids=repr
)
def test_an_id_outside_its_grammar_is_refused(daemon: Daemon, name: str, value: object) -> None:
    answer = daemon.post("/v1/messages", {"text": "echo", name: value})
    assert answer.problem == (422, "invalid_field")
    assert answer.json["field"] == name


@pytest.mark.parametrize("value", ["a", "A.b_c:d~e-f", "x" * 128])
def test_an_id_within_its_grammar_is_taken(daemon: Daemon, value: str) -> None:
    request_id = f"{value}{new_id()}"[-128:]
    record = daemon.send("echo", request_id=request_id, session_id=value)
    assert (record["request_id"], record["session_id"]) == (request_id, value)
    assert daemon.record(request_id) == record


def test_everything_that_is_wrong_is_told_at_once(daemon: Daemon) -> None:
    body = {"text": 1, "payload": 2, "colour": 3, "size": 4}
    detail = daemon.post("/v1/messages", body).json["detail"]
    assert all(f"{name}: " in detail for name in body)


def test_the_problem_does_not_repeat_what_was_sent(daemon: Daemon) -> None:
    answer = daemon.post("/v1/messages", {"text": ["swordfish-7"], "source": "swordfish-8"})
    assert b"swordfish" not in answer.body


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        (b"9007199254740993", 9007199254740993),
        (b"-9223372036854775808", -9223372036854775808),
        (b"18446744073709551615", 18446744073709551615),
        (b"1000000000000000000000000000000.0", 1e30),
        (b'"18446744073709551616"', "18446744073709551616"),
        (b"-0.0", -0.0),
        (b"1e-400", 0.0),
    ],
)
def test_numbers_arrive_as_exactly_as_json_numbers_can(
    daemon: Daemon, number: bytes, kept: float | str
) -> None:
    answer = _post(daemon, b'{"intent": "echo", "payload": {"n": %s}}' % number)
    assert answer.json["envelope"]["data"] == {"n": kept}


@pytest.mark.parametrize("number", [b"18446744073709551616", b"-9223372036854775809", b"1" + b"0" * 400])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/route"])
def test_an_integer_beyond_64_bits_is_refused_and_not_rounded(
    daemon: Daemon, path: str, number: bytes
) -> None:
    body = b'{"text": "echo", "payload": {"n": [%s]}}' % number
    answer = daemon.request("POST", path, body=body, headers=JSON)
    assert answer.problem == (400, "malformed")
    assert "an integer beyond 64 bits" in answer.json["detail"]


def test_an_escaped_nul_is_a_character_like_any_other(daemon: Daemon) -> None:
    record = daemon.send(intent="echo", payload={"a\u0000b": "c\u0000d"})
    assert record["envelope"]["data"] == {"a\u0000b": "c\u0000d"}


@pytest.mark.parametrize(
    "media_type",
    ["", "text/plain", "application/jsonx", "application/x-www-form-urlencoded", "multipart/form-data"],
)
def test_another_media_type_is_refused(daemon: Daemon, media_type: str) -> None:
    for path in ("/v1/messages", "/v1/route"):
        answer = daemon.request(
            "POST", path, body=b'{"text": "echo"}', headers={"content-type": media_type} if media_type else {}
        )
        assert answer.problem == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "media_type", ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]
)
def test_json_is_taken_however_it_is_declared(daemon: Daemon, media_type: str) -> None:
    assert _post(daemon, b'{"text": "echo"}', **{"content-type": media_type}).status == 200


def _sized(size: int) -> bytes:
    frame = b'{"text": "echo %s"}'
    return frame % (b"x" * (size - len(frame % b"")))


def test_a_body_of_the_limit_is_taken(daemon: Daemon) -> None:
    record = _post(daemon, _sized(LIMIT)).json
    assert record["status"] == "succeeded"
    assert len(daemon.get(record["links"]["raw"]).json["text"]) > LIMIT - 100


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/route"])
@pytest.mark.parametrize("size", [LIMIT + 1, 3 * LIMIT])
def test_a_body_over_the_limit_is_too_large(daemon: Daemon, path: str, size: int) -> None:
    answer = daemon.request("POST", path, body=_sized(size), headers=JSON)
    assert answer.problem == (413, "too_large")
    assert "limits.body_bytes" in answer.json["detail"]


def test_a_body_of_unknown_length_is_cut_off_at_the_limit(daemon: Daemon) -> None:
    head = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    answer = daemon.exchange(head + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 17)
    assert answer.problem == (413, "too_large")


def test_a_body_that_is_only_announced_is_refused_at_once(daemon: Daemon) -> None:
    head = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    answer = daemon.exchange(head + b"Content-Length: 999999999999\r\n\r\n")
    assert answer.problem == (413, "too_large")


def test_the_limit_is_the_operators(start_daemon: Any) -> None:
    own = start_daemon({"limits": {"body_bytes": 100}})
    for path in ("/v1/messages", "/v1/route"):
        assert own.request("POST", path, body=_sized(101), headers=JSON).problem == (413, "too_large")
        assert own.request("POST", path, body=_sized(100), headers=JSON).status in {200, 202}


def test_nothing_of_what_was_refused_is_kept(daemon: Daemon) -> None:
    session = new_id()
    daemon.post("/v1/messages", {"text": "echo", "session_id": session, "surprise": 1})
    daemon.post("/v1/messages?wait=x", {"text": "echo", "session_id": session})
    assert daemon.get(f"/v1/messages?session_id={session}").json["items"] == []


@pytest.mark.parametrize("body", [{}, {"text": 5}, {"text": "echo", "intent": "echo"}, {"text": None}])
def test_a_dry_run_takes_a_text_and_nothing_else(daemon: Daemon, body: object) -> None:
    assert daemon.post("/v1/route", body).problem == (422, "invalid_field")
