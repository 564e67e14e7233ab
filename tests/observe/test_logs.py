from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes.observe.logs import EventLines
from hermes.observe.sink import LineSink
from tests.support.logbook import Logbook


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
