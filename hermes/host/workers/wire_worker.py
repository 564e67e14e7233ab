"""A worker that is a process and speaks the plugin wire. When to start, replace or end one is not decided here."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hermes.host.custody.custody import Custody, Ward
from hermes.host.custody.processes import rss_bytes
from hermes.host.custody.resources import SessionLimits
from hermes.host.workers import wire
from hermes.host.workers.exchange import Caller, Exchange, Pending
from hermes.host.workers.failures import Crashed
from hermes.host.workers.pipe import Pipe
from hermes.host.workers.spawning import PIPE, spawn
from hermes.host.workers.worker import Listener, Process

_STDERR_LINE = 8192  # bytes; a longer line of a plugin's stderr is left out
_TOO_LONG = "(a line that is too long)"
_LAST_WORDS = 0.5  # seconds between the end of the process and that of its pipes, whichever comes first


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a process: its command, its environment and its working directory, and who keeps it.

    `limits` are those that are watched from outside, of the process with all that it starts.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    frame_bytes: int
    custody: Custody | None = None
    limits: SessionLimits = SessionLimits()  # noqa: RUF009 - it is frozen

    def ward(self) -> Ward | None:
        """Take a process into custody that is about to be started."""
        return None if self.custody is None else self.custody.take(self.limits)


@dataclass(slots=True)
class _Streams:
    frames: wire.FrameReader
    errors: wire.FrameReader
    last_error: str = ""
    killed_for: str = ""  # why Hermes ended it, if that is to be told
    stdin: asyncio.WriteTransport | None = None
    closing: bool = False  # it was asked to leave
    unsent: list[bytes] = field(default_factory=list)


class WireWorker(asyncio.SubprocessProtocol):
    """A process that speaks the plugin wire on its stdin and stdout."""

    def __init__(self, listener: Listener, frame_bytes: int, *, ward: Ward | None = None) -> None:
        self._listener = listener
        self._ward = ward
        self._loop = asyncio.get_running_loop()
        self._streams = _Streams(wire.FrameReader(frame_bytes), wire.FrameReader(_STDERR_LINE))
        self._exchange = Exchange(self._write, on_log=self._on_log, on_idle=self._on_idle)
        self._stderr = Pipe(lambda data: self.pipe_data_received(2, data))
        self._transport: asyncio.SubprocessTransport | None = None
        self.pid = 0
        self.since = time.time()
        self.busy = 0
        self.paused = (
            0  # reasons to give it no call: one that it was told to stop and has not, half of a wire
        )
        self.killed = False
        self._gone = False
        self.exited = asyncio.Event()

    @classmethod
    async def start(cls, launch: Launch, listener: Listener) -> WireWorker:
        """Start the process in a session of its own; raises OSError if it cannot be started."""
        ward = launch.ward()
        worker = cls(listener, launch.frame_bytes, ward=ward)
        try:
            stderr = await worker._stderr.open()
            await spawn(
                worker,
                *launch.command,
                environment={**launch.environment, **(ward.variables if ward is not None else {})},
                directory=launch.directory,
                descriptors=(PIPE, PIPE, stderr),
            )
        finally:
            started = worker._transport is not None  # from here on it tells its own end
            worker._stderr.hand_over(close=not started, on_end=worker._on_last_word)
            if ward is not None and not started:
                ward.end()
        return worker

    def hand_over(self, listener: Listener, limits: SessionLimits) -> None:
        """Let another listen from now on, and watch for other limits."""
        self._listener = listener
        self.since = time.time()
        if self._ward is not None:
            self._ward.limit(limits, self.kill)

    def request(self, method: str, params: Any) -> asyncio.Future[Any]:
        """Send a request and return the future of its result or a `CallEnded`; TypeError if it has no JSON form."""
        return self._exchange.request(method, params).answer

    def call(self, caller: Caller, params: Mapping[str, Any]) -> Pending:
        """Run the handler; the slot it takes is given back by `on_idle`, whoever still waits by then.

        Raises TypeError, and takes no slot, if `params` have no JSON form.
        """
        return self._exchange.request("handle", params, caller=caller)

    def cancel(self, call: str) -> None:
        """Ask the handler of a call to stop."""
        self._exchange.notify("cancel", {"call": call})

    def ping(self) -> asyncio.Future[Any]:
        """Ask the process whether it still listens."""
        return self.request("ping", {})

    def processes(self) -> list[Process]:
        """Return the one process that it is."""
        return [Process(self.pid, self.busy, rss_bytes(self.pid), self.since)]

    def close(self) -> None:
        """Close the wire, at which the process is to exit."""
        self._streams.closing = True
        if self._streams.stdin is not None:
            self._streams.stdin.close()

    def kill(self, reason: str = "") -> None:
        """End the process with everything in its process group."""
        if not self.exited.is_set():
            self.killed = True
            self._streams.killed_for = self._streams.killed_for or reason
            self._kill_group()

    def _kill_group(self) -> None:
        # Nobody may be left in it, or only those who have ended and wait to be reaped, or who are another user's now.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.pid:
                os.killpg(self.pid, signal.SIGKILL)

    def _write(self, frame: bytes) -> None:
        """Send a frame at the end of this round of the loop: one write that wakes the worker serves many calls."""
        if not self._streams.unsent:
            self._loop.call_soon(self._flush)
        self._streams.unsent.append(frame)

    def _flush(self) -> None:
        frames, self._streams.unsent = self._streams.unsent, []
        if self._streams.stdin is not None and not self._streams.stdin.is_closing():
            self._streams.stdin.write(b"".join(frames))

    # What the event loop tells a subprocess protocol.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the new process's pid and its stdin."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()
        self._streams.stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        if self._ward is not None:
            self._ward.begin(self.pid, self.kill)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take bytes from stdout (frames) or stderr (log lines)."""
        reader, accept = (
            (self._streams.frames, self._exchange.feed)
            if fd == 1
            else (self._streams.errors, self._on_stderr)
        )
        for line in reader.feed(data):
            try:
                accept(line)
            except Exception as error:  # noqa: BLE001 - the lines behind it belong to other calls
                context = {"message": "a line of a worker could not be taken", "exception": error}
                self._loop.call_exception_handler(context)

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        """Take the end of stdin or stdout for the end of the worker: no call can come to it, or no answer from it."""
        if self.exited.is_set() or (fd == 0 and self._streams.closing):
            return
        self.paused += 1
        self._loop.call_later(_LAST_WORDS, self._silence, "stdout" if fd else "stdin")

    def _silence(self, closed: str) -> None:
        if self._transport is not None and self._transport.get_returncode() is None:
            self.kill(f"closed its {closed} and was killed")

    def process_exited(self) -> None:
        """End what the process left behind in its group; what it wrote last may still be on the way."""
        self._kill_group()
        if self._ward is not None:
            self._ward.end()
        self._loop.call_later(_LAST_WORDS, self._end)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Take note that the process is gone, and its wire."""
        self._gone = True
        self._on_last_word()

    def _on_last_word(self) -> None:
        if self._gone and self._stderr.ended:
            self._end()

    def _end(self) -> None:
        """Fail what was still running and tell the listener, once."""
        if self.exited.is_set() or self._transport is None:
            return
        self.pipe_data_received(2, b"\n")  # its last line may have no end
        code, streams = self._transport.get_returncode() or 0, self._streams
        reason = Crashed.of(code, why=streams.killed_for, last_error=streams.last_error).reason
        self.exited.set()
        self._exchange.close(reason)
        self._transport.close()
        self._stderr.close()
        self._listener.on_exit(self, reason)

    def _on_stderr(self, line: bytes | wire.Oversized) -> None:
        text = _TOO_LONG if isinstance(line, wire.Oversized) else line.decode("utf-8", "replace")
        if text.strip():
            self._streams.last_error = text.strip()[:300]
            self._on_log(text, level="info", call=None)

    def _on_log(self, text: str, *, level: str, call: str | None) -> None:
        self._listener.on_log(self, text, level=level, call=call)

    def _on_idle(self) -> None:
        self.busy -= 1
        self._listener.on_idle(self)
