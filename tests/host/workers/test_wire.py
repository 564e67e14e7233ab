from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.host.workers.wire import FrameReader, Oversized, notification, refusal, request

LIMIT = 300
lines = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=12)


def cut(stream: bytes, borders: Sequence[int]) -> list[bytes]:
    places = sorted({border % (len(stream) + 1) for border in borders})
    return [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]


def feed(reader: FrameReader, *chunks: bytes) -> list[bytes | Oversized]:
    return [found for chunk in chunks for found in reader.feed(chunk)]


@given(lines, st.lists(st.integers(0, 1000)))
def test_invariant_where_the_stream_is_cut_does_not_matter(wanted: list[bytes], borders: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in wanted)
    assert feed(FrameReader(LIMIT), *cut(stream, borders)) == [line for line in wanted if line]


@given(
    st.lists(
        st.tuples(st.integers(1, 2**31), st.integers(0, 2 * LIMIT), st.booleans()), min_size=1, max_size=5
    ),
    st.lists(st.integers(0, 10_000)),
)
def test_invariant_a_frame_is_whole_or_reported_with_its_id(
    frames: list[tuple[int, int, bool]], borders: list[int]
) -> None:
    wanted: list[bytes | Oversized] = []
    stream = b""
    for number, length, id_last in frames:
        members = {"jsonrpc": "2.0", "id": number, "result": "x" * length}
        if id_last:
            members["id"] = members.pop("id")
        line = json.dumps(members).encode()
        stream += line + b"\n"
        wanted.append(line if len(line) <= LIMIT else Oversized(number))
    assert feed(FrameReader(LIMIT), *cut(stream, borders)) == wanted


@given(st.binary(min_size=1, max_size=100), st.integers(1, 50))
def test_invariant_an_unfinished_line_holds_no_more_than_the_limit_and_a_chunk(
    chunk: bytes, times: int
) -> None:
    chunk = chunk.replace(b"\n", b"-")
    reader = FrameReader(LIMIT)
    for _ in range(times):
        assert feed(reader, chunk) == []
    (found,) = feed(reader, b"\n")
    whole = chunk * times
    assert found == whole if len(whole) <= LIMIT else isinstance(found, Oversized)


@pytest.mark.parametrize(
    "head",
    [
        '{"jsonrpc":"2.0","id":7,"result":"',
        '{"id":7,"jsonrpc":"2.0","result":"',
        '{ "id" : 7 , "jsonrpc" : "2.0" , "result" : "',
        '{"error":null,"id":7,"result":"',
        '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"',
    ],
)
def test_the_id_of_a_large_answer_is_found_wherever_a_worker_writes_it_at_the_front(head: str) -> None:
    frame = head.encode() + b"x" * LIMIT + b'"}\n'
    assert feed(FrameReader(LIMIT), frame) == [Oversized(7)]


@pytest.mark.parametrize("tail", ['","id":7}', '", "id": 7 }\r', '","id":7,"jsonrpc":"2.0"}'])
def test_the_id_of_a_large_answer_is_found_at_its_end_too(tail: str) -> None:
    frame = b'{"result":"' + b"x" * (2 * LIMIT) + tail.encode() + b"\n"
    assert feed(FrameReader(LIMIT), frame[:100], frame[100:400], frame[400:]) == [Oversized(7)]


@pytest.mark.parametrize(
    "frame",
    [
        '{"jsonrpc":"2.0","result":{"id":7,"text":"%s"},"id":"?"}',
        '{"result":{"text":"%s","id":7}}',
        '{"jsonrpc":"2.0","method":"progress","params":{"id":7,"text":"%s"}}',
        '{"jsonrpc":"2.0","method":"log","params":{"text":"%s"},"id":7}',
        '{"id":7,"text":"%s"}',
        '"id":7,"result":"%s"',
        "%s",
    ],
)
def test_a_number_inside_a_large_frame_is_not_taken_for_the_id_of_an_answer(frame: str) -> None:
    assert feed(FrameReader(LIMIT), (frame % ("x" * 2 * LIMIT)).encode() + b"\n") == [Oversized(None)]


@pytest.mark.parametrize(("written", "meant"), [("7", 7), ('"w7"', "w7")])
def test_a_large_request_is_told_by_its_id(written: str, meant: int | str) -> None:
    frame = '{"jsonrpc":"2.0","id":%s,"method":"once.done","params":{"id":9,"text":"%s"}}'
    fed = feed(FrameReader(LIMIT), (frame % (written, "x" * 2 * LIMIT)).encode() + b"\n")
    assert fed == [Oversized(None, asked=meant)]


def test_what_follows_a_large_frame_is_read_as_ever() -> None:
    large = b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * LIMIT
    assert feed(FrameReader(LIMIT), large, b'"}\n{"id":2}\n', b"\n\n{}\n") == [
        Oversized(1),
        b'{"id":2}',
        b"{}",
    ]


def test_a_frame_of_just_the_limit_passes() -> None:
    assert feed(FrameReader(4), b"1234\n12345\n") == [b"1234", Oversized(None)]


def test_frames_are_one_line_of_json_rpc_whatever_the_text_holds() -> None:
    params = {"text": "第一行\n第二行 🚀\u2028", "nothing": None}
    written = [
        (
            request(3, "handle", params=params),
            {"jsonrpc": "2.0", "id": 3, "method": "handle", "params": params},
        ),
        (notification("cancel", params), {"jsonrpc": "2.0", "method": "cancel", "params": params}),
    ]
    for line, frame in written:
        assert line.count(b"\n") == 1
        assert line.endswith(b"\n")
        assert json.loads(line) == frame


def test_a_refusal_says_why_under_the_id_of_what_was_asked() -> None:
    assert json.loads(refusal("w1", "the host has no method", code=-32601)) == {
        "jsonrpc": "2.0",
        "id": "w1",
        "error": {"code": -32601, "message": "the host has no method"},
    }
