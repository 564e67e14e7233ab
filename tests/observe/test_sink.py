from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.observe.sink import LineSink
from tests.support.bench import eventually
from tests.support.client import Client
from tests.support.daemon import furnish, left_behind, plugin_folder
from tests.support.waiting import until

HELD = 4 << 20  # bytes that are kept for a reader


def numbered(number: int, size: int = 300) -> bytes:
    """Return a line of about `size` bytes."""
    return json.dumps({"number": number, "text": "天气" * (size // 6)}, ensure_ascii=False).encode() + b"\n"


class Counted(io.BytesIO):
    """A stream in memory that counts how often it is written to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, data: bytes) -> int:  # type: ignore[override]  # bytes is all it is given
        self.writes += 1
        return super().write(data)


class Pipe:
    """A pipe with a sink at one end, and at the other a reader who reads when told to."""

    def __init__(self) -> None:
        self._fd, write_fd = os.pipe()
        os.set_blocking(self._fd, False)  # the reader's end alone
        self.stream = os.fdopen(write_fd, "wb")
        self.sink = LineSink(self.stream)
        self._received = b""

    def read(self) -> list[int]:
        """Return the numbers of all lines that have come; a line that tells of n dropped ones is -n."""
        with contextlib.suppress(BlockingIOError):  # there is no more now
            while data := os.read(self._fd, 1 << 16):
                self._received += data
        *lines, _unfinished = self._received.split(b"\n")
        return [-line["count"] if "event" in line else line["number"] for line in map(json.loads, lines)]

    def close(self) -> None:
        os.close(self._fd)
        self.stream.close()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    one = Pipe()
    yield one
    one.close()


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


async def test_a_pipe_that_nobody_drains_holds_nothing_up_and_all_comes_when_it_is_read(pipe: Pipe) -> None:
    for number in range(2000):
        pipe.sink.msg(numbered(number))
        await asyncio.sleep(0)
    assert os.get_blocking(pipe.stream.fileno())
    assert len(pipe.read()) < 2000
    await eventually(lambda: len(pipe.read()) == 2000)
    assert pipe.read() == list(range(2000))


async def test_lines_beyond_the_bound_are_dropped_and_counted_where_they_are_missing(pipe: Pipe) -> None:
    for number in range(600):
        pipe.sink.msg(numbered(number, 10_000))
        await asyncio.sleep(0)
    await eventually(lambda: min(pipe.read()) < 0)
    kept = len(pipe.read()) - 1
    assert HELD < kept * 10_000 < HELD + (1 << 18)
    for number in (600, 601):
        pipe.sink.msg(numbered(number))
    await eventually(lambda: pipe.read()[-1] == 601)
    assert pipe.read() == [*range(kept), kept - 600, 600, 601]


def test_threads_without_a_loop_are_not_held_up_either(pipe: Pipe) -> None:
    def write() -> None:
        for number in range(1000):
            pipe.sink.msg(numbered(number))

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()

    def all_have_come() -> bool:
        pipe.sink.flush()
        return len(pipe.read()) == 1000

    until(all_have_come)
    assert pipe.read() == list(range(1000))


def test_at_the_end_a_reader_gets_all_that_waits(pipe: Pipe) -> None:
    for number in range(300):
        pipe.sink.msg(numbered(number, 10_000))
    closing = threading.Thread(target=pipe.sink.close)
    closing.start()
    until(lambda: len(pipe.read()) == 300)
    closing.join()
    assert pipe.read() == list(range(300))


def test_the_end_comes_though_nobody_reads(pipe: Pipe) -> None:
    for number in range(300):
        pipe.sink.msg(numbered(number, 10_000))
    pipe.sink.close()
    come = pipe.read()
    assert come == list(range(len(come)))
    assert len(come) < 300


def test_files_and_devices_take_lines_as_pipes_do(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file, Path("/dev/null").open("wb") as nothing:
        for stream in (file, nothing):
            sink = LineSink(stream)
            for number in range(100):
                sink.msg(numbered(number, 10_000))
    lines = (tmp_path / "log").read_bytes().splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(100))


async def test_a_terminal_shows_lines() -> None:
    screen, terminal = pty.openpty()
    with os.fdopen(screen, "rb", buffering=0) as shown, os.fdopen(terminal, "wb") as stream:
        LineSink(stream).msg("{你好}\n".encode())
        await asyncio.sleep(0)
        assert shown.read(100) == "{你好}\r\n".encode()


async def test_a_reader_who_goes_away_while_lines_wait_stops_nothing() -> None:
    troubles: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: troubles.append(context))
    read_fd, write_fd = os.pipe()
    with os.fdopen(write_fd, "wb") as stream:
        sink = LineSink(stream)
        for number in range(1000):
            sink.msg(numbered(number))
        await asyncio.sleep(0)
        os.close(read_fd)
        sink.msg(numbered(1000))
        await asyncio.sleep(0)
        sink.close()
    assert troubles == []


def test_a_full_disk_stops_nothing() -> None:
    with Path("/dev/full").open("wb", buffering=0) as stream:
        sink = LineSink(stream)
        for number in range(1000):
            sink.msg(numbered(number))
        sink.close()


def test_a_daemon_whose_log_nobody_reads_works_and_ends(tmp_path: Path) -> None:
    furnish(tmp_path, plugins=[plugin_folder("echo")])
    with (tmp_path / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes", "run"],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
    with process:
        try:
            url = until(lambda: re.search(r"listens on (\S+)", (tmp_path / "stderr").read_text()))[1]
            client = Client(url)
            for _ in range(500):
                assert client.send("/echo 你好")["status"] == "succeeded"
            assert client.get("/healthz").status == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            assert left_behind(tmp_path) == []
        finally:
            process.kill()
        assert process.stdout is not None
        *lines, _unfinished = process.stdout.read().split(b"\n")
    events = [json.loads(line)["event"] for line in lines]
    assert {"listening", "TOOL_SUCCEEDED"} <= set(events)
    assert "stopped" not in events  # the pipe was full indeed
