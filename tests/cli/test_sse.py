"""The event stream parser against streams in every shape, and against a second reading of the specification."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes.cli.sse import EventStream, EventTooLarge, Frame

LINE_ENDS = ("\n", "\r\n", "\r")
# Characters that other parsers take for line ends, and what is needed to make lines of all kinds.
TEXTS = st.text(st.sampled_from("ab: \u2028\u2029\x85\x0b\x0c流🎉é\0"), max_size=8)
FIELDS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["data", "event", "id", "retry", "", "Data", "其他"]),
    st.sampled_from([":", ": ", ":  ", ""]),
    TEXTS,
)
LINES = st.lists(st.tuples(st.one_of(FIELDS, st.just(""), TEXTS), st.sampled_from(LINE_ENDS)), max_size=20)


def parse(stream: bytes, cuts: list[int] | None = None) -> list[Frame]:
    """Return the frames of a stream that comes in pieces."""
    ends = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts or [])})
    parser = EventStream()
    return [frame for start, end in itertools.pairwise(ends) for frame in parser.feed(stream[start:end])]


def expected(stream: bytes) -> list[Frame]:
    """Return the frames as the specification describes them, from the whole stream at once."""
    frames, last_id, event, data = [], "", "", ""
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    *lines, _unfinished = re.split(r"\r\n|\n|\r", text)
    for line in lines:
        if line == "":
            if data:
                frames.append(Frame(last_id, event or "message", data.removesuffix("\n")))
            event = data = ""
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data += value + "\n"
        elif name == "event":
            event = value
        elif name == "id" and "\0" not in value:
            last_id = value
    return frames


@given(LINES, st.lists(st.integers(min_value=0), max_size=8))
@example([("data: 流水线", "\r\n"), ("", "\r")], [7, 8, 9, 16])
def test_invariant_frames_are_those_of_the_specification_wherever_the_stream_is_cut(
    lines: list[tuple[str, str]], cuts: list[int]
) -> None:
    stream = "".join(line + end for line, end in lines).encode()
    assert parse(stream, cuts) == expected(stream)


@given(st.binary(max_size=60), st.lists(st.integers(min_value=0), max_size=5))
def test_invariant_any_bytes_can_be_read(stream: bytes, cuts: list[int]) -> None:
    assert parse(stream, cuts) == expected(stream)


def test_a_stream_that_comes_byte_by_byte_gives_the_same_frames() -> None:
    stream = (
        "id: 1-1\r\nevent: PROGRESS\r\ndata: 正在复述 🎉\r\n\r\n: heartbeat\r\n\r\ndata: end\r\n\r\n".encode()
    )
    assert parse(stream, list(range(len(stream)))) == [
        Frame("1-1", "PROGRESS", "正在复述 🎉"),
        Frame("1-1", "message", "end"),
    ]


@pytest.mark.parametrize("end", LINE_ENDS)
def test_each_kind_of_line_end_ends_a_line(end: str) -> None:
    stream = end.join(["event: a", "data: 一", "data: two", "", "data: 3", "", ""]).encode()
    assert parse(stream) == [Frame("", "a", "一\ntwo"), Frame("", "message", "3")]


def test_a_carriage_return_at_the_end_of_a_chunk_ends_the_line_at_once() -> None:
    parser = EventStream()
    assert parser.feed(b"data: x\r\r") == [Frame("", "message", "x")]
    assert parser.feed(b"\n") == []
    assert parser.feed(b"data: y\n\n") == [Frame("", "message", "y")]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_what_only_looks_like_a_line_end_is_text(character: str) -> None:
    assert parse(f'data: {{"text": "a{character}b"}}\n\n'.encode()) == [
        Frame("", "message", f'{{"text": "a{character}b"}}')
    ]


def test_comments_mean_nothing_and_do_not_add_up() -> None:
    parser = EventStream(limit=64)
    for _ in range(100):
        assert parser.feed(b": heartbeat\n") == []
    assert parser.feed(b"data: x\n\n") == [Frame("", "message", "x")]


def test_a_frame_without_an_id_carries_the_last_one() -> None:
    stream = b"id: 5-1\ndata: a\n\nevent: stream\ndata: b\n\nid\ndata: c\n\n"
    assert [frame.id for frame in parse(stream)] == ["5-1", "5-1", ""]


def test_an_event_that_the_stream_ends_in_is_none() -> None:
    assert parse(b"data: a\n\ndata: b\n") == [Frame("", "message", "a")]


def test_a_byte_order_mark_is_left_out_at_the_beginning_only() -> None:
    mark = "\ufeff".encode()
    assert parse(mark + b"data: a\n\n", [1, 2]) == [Frame("", "message", "a")]
    assert parse(b"data: " + mark + b"a\n\n" + mark + b"data: b\n\n") == [Frame("", "message", "\ufeffa")]


def test_an_event_without_an_end_is_refused_once_it_is_too_large() -> None:
    parser = EventStream(limit=1000)
    for _ in range(142):
        parser.feed(b"data: x\n")
    with pytest.raises(EventTooLarge, match="1000"):
        parser.feed(b"data: x\n")
    parser = EventStream(limit=1000)
    with pytest.raises(EventTooLarge):
        parser.feed(b"data: " + b"x" * 1000)
