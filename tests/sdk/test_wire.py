from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hermes.sdk.wire import METHOD_NOT_FOUND, NOT_JSON, PARSE_ERROR, encode
from tests.support.ends import Ends


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    ends.close()


def test_frames_arrive_whole_however_they_are_cut(ends: Ends) -> None:
    stream = b"".join(encode({"id": number, "text": "部署 🚀\n"}) for number in range(3))
    for start in range(0, len(stream), 7):
        assert ends.give(stream[start : start + 7])
    assert ends.accepted == [{"id": number, "text": "部署 🚀\n"} for number in range(3)]


def test_several_frames_may_come_at_once(ends: Ends) -> None:
    assert ends.give(b'{"id":1}\n{"id":2}\n{"id":')
    assert ends.give(b"3}\n")
    assert [frame["id"] for frame in ends.accepted] == [1, 2, 3]


def test_nothing_to_read_is_no_end_and_a_closed_pipe_is_one(ends: Ends) -> None:
    assert ends.wire.receive(ends.accepted.append) is True
    ends.hang_up()
    assert ends.wire.receive(ends.accepted.append) is False
    assert ends.accepted == []


@pytest.mark.parametrize("line", [b"nonsense", b'{"id":1', b"\xff\xfe", b"", b"[" * 50_000])
def test_what_is_not_json_is_answered_and_what_follows_is_read(ends: Ends, line: bytes) -> None:
    assert ends.give(line + b'\n{"id":2}\n')
    (answer,) = ends.sent()
    assert (answer["id"], answer["error"]["code"]) == (None, PARSE_ERROR)
    assert ends.accepted == [{"id": 2}]


def test_json_that_is_no_object_is_ignored(ends: Ends) -> None:
    assert ends.give(b'[1]\n"text"\n7\nnull\n{"id":2}\n')
    assert ends.accepted == [{"id": 2}]


def test_requests_are_answered_by_their_id(ends: Ends) -> None:
    ends.wire.reply("w1", {"data": ["一", None, 1.5]})
    ends.wire.fail(2, "没有", code=METHOD_NOT_FOUND)
    ends.wire.fail(3, "no", code=-32000, data={"file": "plugin.py", "line": 7})
    ends.wire.notify("progress", {"call": "c1", "text": "正在想"})
    assert ends.sent() == [
        {"jsonrpc": "2.0", "id": "w1", "result": {"data": ["一", None, 1.5]}},
        {"jsonrpc": "2.0", "id": 2, "error": {"code": METHOD_NOT_FOUND, "message": "没有"}},
        {
            "jsonrpc": "2.0",
            "id": 3,
            "error": {"code": -32000, "message": "no", "data": {"file": "plugin.py", "line": 7}},
        },
        {"jsonrpc": "2.0", "method": "progress", "params": {"call": "c1", "text": "正在想"}},
    ]


def circle() -> list[Any]:
    members: list[Any] = []
    members.append(members)
    return members


def deep() -> Any:
    nested: Any = 1
    for _ in range(100_000):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    "result", [float("nan"), float("inf"), {1, 2}, object(), b"bytes", {(1, 2): 3}, circle(), deep()]
)
def test_a_result_that_json_cannot_hold_becomes_an_error_and_nothing_of_it_is_written(
    ends: Ends, result: Any
) -> None:
    ends.wire.reply(1, {"data": result})
    (answer,) = ends.sent()
    assert (answer["id"], answer["error"]["code"]) == (1, NOT_JSON)
    assert "cannot be written as JSON" in answer["error"]["message"]


class OddItems(dict[str, int]):
    def __init__(self, error: BaseException) -> None:
        super().__init__(a=1)
        self._error = error

    def items(self) -> Any:
        raise self._error


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("gone"), "KeyError: 'gone'"),
        (MemoryError(), "MemoryError"),
        (SystemExit(3), "SystemExit: 3"),
        (Unspeakable(), "Unspeakable"),
    ],
)
def test_a_result_that_raises_while_it_is_written_is_an_error_whatever_it_raises(
    ends: Ends, error: BaseException, told: str
) -> None:
    ends.wire.reply(1, OddItems(error))
    (answer,) = ends.sent()
    assert (answer["id"], answer["error"]["code"]) == (1, NOT_JSON)
    assert told in answer["error"]["message"]


def test_half_a_character_does_not_spoil_the_rest_of_a_text(ends: Ends) -> None:
    ends.wire.reply(1, "前\ud800后")
    assert ends.sent()[0]["result"] == "前?后"


def test_a_frame_larger_than_the_pipe_is_written_whole(ends: Ends) -> None:
    text = "大" * 500_000
    got: list[bytes] = []

    def read() -> None:
        while not got or not got[-1].endswith(b"\n"):
            got.append(os.read(ends.from_worker, 1 << 16))

    reader = threading.Thread(target=read)
    reader.start()
    ends.wire.reply(1, text)
    reader.join()
    assert json.loads(b"".join(got))["result"] == text


def test_threads_that_write_at_the_same_time_do_not_mix_their_frames(ends: Ends) -> None:
    def write(name: str) -> None:
        for number in range(50):
            ends.wire.notify("log", {"text": f"{name} {number} " + name * 200})

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    received = b""
    while received.count(b"\n") < 200:
        received += os.read(ends.from_worker, 1 << 16)
    for thread in threads:
        thread.join()
    texts = [json.loads(line)["params"]["text"] for line in received.splitlines()]
    for name in "abcd":
        assert [text for text in texts if text[0] == name] == [
            f"{name} {number} " + name * 200 for number in range(50)
        ]
