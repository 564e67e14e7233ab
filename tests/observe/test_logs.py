from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes.observe.logs import EventLines, LineSink
from tests.support.logbook import Logbook


class Counted(io.BytesIO):
    """A stream in memory that counts how often it is written to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, data: bytes) -> int:  # type: ignore[override]  # bytes is all it is given
        self.writes += 1
        return super().write(data)


def test_a_line_is_one_json_object_with_time_level_and_what_was_bound() -> None:
    before = datetime.now(UTC)
    with Logbook() as book:
        log = book.log.bind(request_id="r1")
        log.warning("plugin_refused", plugin="天气", problems=["第一行\n第二行", 2], path=Path("/x"))
        (line,) = book.lines()
    assert before <= datetime.fromisoformat(line.pop("time")) <= datetime.now(UTC)
    assert line == {
        "event": "plugin_refused",
        "level": "warning",
        "request_id": "r1",
        "plugin": "天气",
        "problems": ["第一行\n第二行", 2],
        "path": "PosixPath('/x')",
    }


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_only_lines_of_the_chosen_level_and_above_are_written(level: str, shown: list[str]) -> None:
    with Logbook(level) as book:
        for name in ("debug", "info", "warning", "error"):
            getattr(book.log, name)("something")
        book.logs.events.write("TASK_RECEIVED", b'"request_id":"r1"', at=0.0)
        lines = book.lines()
    assert [line["level"] for line in lines if line["event"] == "something"] == shown
    assert any(line["event"] == "TASK_RECEIVED" for line in lines) == ("info" in shown)


def test_the_line_of_an_event_looks_like_any_other() -> None:
    with Logbook() as book:
        at = datetime(2026, 11, 30, 9, 5, 7, 250_000, tzinfo=UTC)
        book.logs.events.write(
            "TOOL_STARTED", '"request_id":"r1","plugin":"天气"'.encode(), at=at.timestamp()
        )
        (line,) = book.lines()
    assert line == {
        "event": "TOOL_STARTED",
        "request_id": "r1",
        "plugin": "天气",
        "level": "info",
        "time": "2026-11-30T09:05:07.250000Z",
    }


def test_times_of_events_are_exact_before_and_after_a_full_second() -> None:
    stream = io.BytesIO()
    events = EventLines(LineSink(stream), enabled=True)
    for at in (0.0, 0.999999, 1.0, 1_700_000_000.5, 1_700_000_000.000001, 1_700_000_001.0):
        events.write("PROGRESS", b'"seq":1', at=at)
    times = [json.loads(line)["time"] for line in stream.getvalue().splitlines()]
    assert times == [
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:00.999999Z",
        "1970-01-01T00:00:01.000000Z",
        "2023-11-14T22:13:20.500000Z",
        "2023-11-14T22:13:20.000001Z",
        "2023-11-14T22:13:21.000000Z",
    ]


def test_an_exception_is_told_with_its_traceback_in_one_line() -> None:
    with Logbook() as book:
        try:
            dict[str, int]()["没有"]
        except KeyError:
            book.log.exception("message_failed", request_id="r1")
        (line,) = book.lines()
    assert line["level"] == "error"
    assert "KeyError: '没有'" in line["exception"]
    assert "Traceback" in line["exception"]


def test_what_libraries_log_comes_in_the_same_form() -> None:
    with Logbook() as book:
        library = logging.getLogger("some.library")
        library.info("not shown")
        library.warning("slow %s", "磁盘")
        library.log(35, "a level of its own")
        library.critical("the worst")
        lines = [(line["event"], line["level"], line["logger"]) for line in book.lines()]
    assert lines == [
        ("slow 磁盘", "warning", "some.library"),
        ("a level of its own", "warning", "some.library"),
        ("the worst", "critical", "some.library"),
    ]


def test_what_json_cannot_hold_is_written_as_well_as_it_can_be() -> None:
    with Logbook() as book:
        book.log.info("odd", name="\udcb2\udce5", number=2**100, key={1: "one"}, thing={3})
        (line,) = book.lines()
    assert (line["name"], line["number"], line["thing"]) == ("\udcb2\udce5", 2**100, "{3}")
    assert line["key"] == {"1": "one"}


async def test_lines_of_one_round_of_the_loop_are_one_write() -> None:
    stream = Counted()
    sink = LineSink(stream)
    for number in range(10):
        sink.msg(b"%d\n" % number)
    assert stream.writes == 0
    await asyncio.sleep(0)
    assert (stream.writes, stream.getvalue()) == (1, b"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    sink.msg(b"next\n")
    await asyncio.sleep(0)
    assert stream.writes == 2


async def test_many_lines_at_once_do_not_pile_up() -> None:
    stream = Counted()
    sink = LineSink(stream)
    for _ in range(100):
        sink.msg(b"x" * 9999 + b"\n")
    assert len(stream.getvalue()) > 900_000
    sink.flush()
    assert len(stream.getvalue()) == 1_000_000


def test_without_a_loop_a_line_is_written_at_once() -> None:
    stream = io.BytesIO()
    LineSink(stream).msg(b"at once\n")
    assert stream.getvalue() == b"at once\n"


async def test_lines_of_many_threads_stay_whole_and_none_is_lost() -> None:
    stream = io.BytesIO()
    sink = LineSink(stream)

    def write(name: int) -> None:
        for number in range(200):
            sink.msg(b"%d %d\n" % (name, number))

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for number in range(200):
        sink.msg(b"9 %d\n" % number)
        await asyncio.sleep(0)
    for thread in threads:
        thread.join()
    sink.flush()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1000
    for name in (0, 1, 2, 3, 9):
        assert [line for line in lines if line.startswith(b"%d " % name)] == [
            b"%d %d" % (name, number) for number in range(200)
        ]


async def test_a_log_that_nobody_reads_or_whose_disk_is_full_stops_nothing() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    full = os.open("/dev/full", os.O_WRONLY)
    troubles: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: troubles.append(context))
    for fd in (write_fd, full):
        with os.fdopen(os.dup(fd), "wb", buffering=0) as stream:
            sink = LineSink(stream)
            for _ in range(3):
                sink.msg(b"x" * 1000 + b"\n")
                await asyncio.sleep(0)
        os.close(fd)
    assert troubles == []
