from __future__ import annotations

import json
from typing import Any

import pytest

from hermes.host.http.answer import Answer, envelope_of
from hermes.host.http.options import ResponseFile
from hermes.host.workers.failures import Raised


def envelope(
    content: Any, status: int = 200, *, locale: str = "en", charset: str | None = None, **response: Any
) -> Any:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = Answer(status, body, charset)
    return envelope_of(answer, ResponseFile(**response), locale=locale, secrets=["s3cret"])


@pytest.mark.parametrize(
    ("content", "data"),
    [
        ({"a": 1}, {"a": 1}),
        ({"data": 1, "error": "no envelope of ours"}, {"data": 1, "error": "no envelope of ours"}),
        ([], []),
        (b"", None),
        ("文字".encode(), "文字"),
        (b"<p>page</p>\n", "<p>page</p>"),
    ],
)
def test_an_answer_is_json_or_else_text(content: Any, data: Any) -> None:
    assert envelope(content) == {"data": data, "error": None}


def test_a_text_is_read_in_its_own_character_set() -> None:
    assert envelope("上海 晴".encode("gbk"), charset="GBK")["data"] == "上海 晴"
    assert envelope(b"caf\xe9", charset="latin-1")["data"] == "café"
    assert envelope("晴".encode(), charset="no-such")["data"] == "晴"


def test_what_cannot_be_read_is_replaced_with_a_warning() -> None:
    told = envelope(b"\xff")
    assert (told["data"], told["error"]) == ("\ufffd", None)
    assert "the character set UTF-8" in told["warning"]


@pytest.mark.parametrize(
    ("pointer", "data"),
    [
        ("", {"a": {"/~": [0, {"b": "乙"}]}}),
        ("/a", {"/~": [0, {"b": "乙"}]}),
        ("/a/~1~0/1/b", "乙"),
        ("/a/~1~0/0", 0),
    ],
)
def test_a_pointer_picks_the_data(pointer: str, data: Any) -> None:
    content = {"a": {"/~": [0, {"b": "乙"}]}}
    assert envelope(content, data=pointer) == {"data": data, "error": None}


@pytest.mark.parametrize("pointer", ["/b", "/a/0", "/list/2", "/list/-", "/list/01", "/list/-1", "/list/x"])
def test_data_that_is_not_there_is_null_with_a_warning(pointer: str) -> None:
    told = envelope({"a": 1, "list": [1, 2]}, data=pointer)
    assert told == {"data": None, "error": None, "warning": f"The answer has no {pointer}."}
    assert envelope(b"text", data=pointer, locale="zh")["warning"] == f"回答里没有 {pointer}。"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("城市不存在", "城市不存在"),
        ({"message": "quota is used up"}, "quota is used up"),
        ([{"detail": "first"}, {"detail": "second"}], "first"),
        (True, "The service answered 200."),
        (7, "The service answered 200."),
    ],
)
def test_an_error_within_a_good_answer_is_its_sentence(error: Any, sentence: str) -> None:
    assert envelope({"error": error, "data": 1}, error="/error") == {"data": None, "error": sentence}


@pytest.mark.parametrize("error", [None, "", 0, False, [], {}])
def test_an_error_that_is_empty_is_none(error: Any) -> None:
    assert envelope({"error": error, "d": 1}, error="/error", data="/d") == {"data": 1, "error": None}
    assert envelope({"d": 1}, error="/error", data="/d") == {"data": 1, "error": None}


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (302, "upstream_denied", False),
        (400, "upstream_denied", False),
        (401, "upstream_denied", False),
        (403, "upstream_denied", False),
        (404, "not_found", False),
        (410, "not_found", False),
        (422, "upstream_denied", False),
        (429, "upstream_unavailable", True),
        (500, "upstream_unavailable", True),
        (503, "upstream_unavailable", True),
        (599, "upstream_unavailable", True),
    ],
)
def test_a_status_becomes_a_code(status: int, code: str, retryable: bool) -> None:
    error = envelope({}, status)["error"]
    assert (error["code"], error["retryable"]) == (code, retryable)
    assert str(status) in error["message"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"message": "没有这个城市"}, "没有这个城市"),
        ({"error": {"message": "no\n  such city", "code": 3}}, "no such city"),
        ({"errors": [{"detail": "bad id"}]}, "bad id"),
        ({"error": "invalid_token", "error_description": "it has expired"}, "it has expired"),
        ({"title": "Problem", "status": 404}, "Problem"),
        (b"plain words\n", "plain words"),
        ({"message": "token s3cret is wrong"}, "token *** is wrong"),
        ({"message": "长" * 500}, "长" * 199 + "…"),
    ],
)
def test_the_first_words_of_an_error_are_passed_on(content: Any, words: str) -> None:
    assert envelope(content, 404)["error"]["message"] == f"The service answered 404: {words}"
    assert envelope(content, 404, locale="zh")["error"]["message"] == f"对方返回 404：{words}"


@pytest.mark.parametrize(
    "content", [b"", b"<html><body>secret page</body></html>", {"a": 1}, [], 3, b'{"a": NaN}']
)
def test_an_error_without_words_is_its_status(content: Any) -> None:
    assert envelope(content, 500)["error"]["message"] == "The service answered 500."
    assert envelope(content, 500, locale="zh")["error"]["message"] == "对方返回 500。"


def test_the_words_of_an_error_come_first_from_where_the_manifest_says() -> None:
    content = {"message": "generic", "fault": {"reason": "specific"}}
    assert envelope(content, 409, error="/fault/reason")["error"]["message"].endswith(": specific")
    assert envelope(content, 409, error="/none")["error"]["message"].endswith(": generic")


@pytest.mark.parametrize("content", [b'{"n": 18446744073709551616}', b'{"n": NaN}', b'["\\ud800"]'])
def test_json_that_is_not_strict_is_refused(content: bytes) -> None:
    with pytest.raises(Raised):
        envelope(content)


def test_words_that_lie_too_deep_are_left_there() -> None:
    content: Any = "deep"
    for _ in range(200):
        content = {"error": content}
    assert envelope(content, 500)["error"]["message"] == "The service answered 500."
