from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import cast

import pytest

from hermes.host.workers.spawning import PIPE, spawn
from tests.support.bench import alive, eventually


class Ear(asyncio.SubprocessProtocol):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.heard = {1: b"", 2: b""}
        self.transport: asyncio.SubprocessTransport | None = None
        self.over = asyncio.Event()

    @property
    def process(self) -> asyncio.SubprocessTransport:
        assert self.transport is not None
        return self.transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.told.append("begun")
        self.transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.heard[fd] += data

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        self.told.append(f"pipe {fd}")

    def process_exited(self) -> None:
        self.told.append("exited")

    def connection_lost(self, _exc: Exception | None) -> None:
        self.told.append("over")
        self.over.set()


async def start(folder: Path, *command: str, descriptors: tuple[int, int, int] = (PIPE, PIPE, PIPE)) -> Ear:
    ear = Ear()
    environment = {"PATH": os.environ["PATH"], "WORD": "你好"}
    await spawn(ear, *command, environment=environment, directory=folder, descriptors=descriptors)
    return ear


def descriptors() -> set[str]:
    return set(os.listdir("/dev/fd"))


async def settled() -> set[str]:
    """Return the open descriptors once the loop has closed what it was told to."""
    await asyncio.sleep(0.1)
    return descriptors()


async def test_what_comes_out_of_a_process_and_its_end_are_told(tmp_path: Path) -> None:
    script = 'read line; echo "$line $WORD"; pwd >&2; exit 7'
    ear = await start(tmp_path, "/bin/sh", "-c", script)
    stdin = cast("asyncio.WriteTransport", ear.process.get_pipe_transport(0))
    stdin.write("早\n".encode())
    await asyncio.wait_for(ear.over.wait(), 20)
    assert ear.heard == {1: "早 你好\n".encode(), 2: f"{tmp_path}\n".encode()}
    assert ear.process.get_returncode() == 7
    assert (ear.told[0], ear.told[-1]) == ("begun", "over")
    assert sorted(ear.told[1:-1]) == ["exited", "pipe 0", "pipe 1", "pipe 2"]


async def test_a_process_has_a_session_of_its_own_and_a_signal_that_ends_it_is_told(tmp_path: Path) -> None:
    ear = await start(tmp_path, "/bin/sh", "-c", "kill -KILL $$")
    pid = ear.process.get_pid()
    await asyncio.wait_for(ear.over.wait(), 20)
    assert ear.process.get_returncode() == -signal.SIGKILL
    sleeping = await start(tmp_path, "sleep", "600")
    assert os.getsid(sleeping.process.get_pid()) == sleeping.process.get_pid() != pid
    sleeping.process.close()
    await asyncio.wait_for(sleeping.over.wait(), 20)


async def test_closing_ends_a_process_that_runs(tmp_path: Path) -> None:
    ear = await start(tmp_path, "sleep", "600")
    pid = ear.process.get_pid()
    assert (alive(pid), ear.process.get_returncode()) == (True, None)
    ear.process.close()
    await asyncio.wait_for(ear.over.wait(), 20)
    assert not alive(pid)
    ear.process.close()


async def test_given_descriptors_stay_the_callers(tmp_path: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    out = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    ear = await start(tmp_path, "/bin/sh", "-c", "echo said; echo meant >&2", descriptors=(nothing, out, out))
    await asyncio.wait_for(ear.over.wait(), 20)
    os.write(out, b"added\n")
    os.close(out)
    os.close(nothing)
    assert (tmp_path / "out").read_text() == "said\nmeant\nadded\n"
    assert ear.told == ["begun", "exited", "over"]
    assert ear.process.get_pipe_transport(1) is None


async def test_the_end_of_one_pipe_is_told_while_the_process_goes_on(tmp_path: Path) -> None:
    ear = await start(tmp_path, "/bin/sh", "-c", "exec <&- >&-; exec sleep 600")
    await eventually(lambda: {"pipe 0", "pipe 1"} <= set(ear.told))
    assert (ear.process.get_returncode(), "exited" in ear.told) == (None, False)
    ear.process.close()
    await asyncio.wait_for(ear.over.wait(), 20)


@pytest.mark.parametrize(
    ("command", "error"),
    [("./nothing", FileNotFoundError), ("./folder", PermissionError), ("a\0b", ValueError)],
)
async def test_what_cannot_be_started_is_raised_and_leaves_nothing_open(
    tmp_path: Path, command: str, error: type[Exception]
) -> None:
    (tmp_path / "folder").mkdir()
    before: set[str] = set()
    for _ in range(3):
        with pytest.raises(error):
            await start(tmp_path, command)
        before = before or await settled()  # the event loop keeps one that it opens the first time
    assert await settled() == before


async def test_nothing_is_left_open_by_processes_that_have_ended(tmp_path: Path) -> None:
    before: set[str] = set()
    for _ in range(20):
        ear = await start(tmp_path, "/bin/sh", "-c", "echo x")
        await asyncio.wait_for(ear.over.wait(), 20)
        ear.process.close()
        before = before or await settled()  # the event loop keeps one that it opens the first time
    assert await settled() == before


async def test_a_system_that_does_not_tell_of_ends_is_asked_by_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    ear = await start(tmp_path, sys.executable, "-I", "-S", "-c", "raise SystemExit(3)")
    await asyncio.wait_for(ear.over.wait(), 20)
    assert ear.process.get_returncode() == 3
