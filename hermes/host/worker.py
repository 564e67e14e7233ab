"""One worker process and the calls that run in it. When to start, replace or end one is the supervisor's affair."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from hermes.host import wire
from hermes.host.exchange import Caller, Exchange, Pending
from hermes.host.failures import Crashed

_STDERR_LINE = 8192  # bytes; a longer line of a plugin's stderr is left out
_TOO_LONG = "(a line that is too long)"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LAST_WORDS = 0.5  # seconds between the end of the process and that of its pipes, whichever comes first


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a worker: its command, its whole environment and its working directory."""

    command: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    frame_bytes: int


class Listener(Protocol):
    """Who is told what a worker does; all are called on the event loop and must not block."""

    def on_log(self, worker: Worker, text: str, *, level: str, call: str | None) -> None:
        """Take a line that the plugin logged, printed or wrote to stderr; `call` is None if it belongs to none."""

    def on_idle(self, worker: Worker) -> None:
        """A call has left the worker: it has room again."""

    def on_exit(self, worker: Worker, reason: str) -> None:
        """The process is gone and its calls have failed; `reason` is one line."""


@dataclass(slots=True)
class _Streams:
    frames: wire.FrameReader
    errors: wire.FrameReader
    last_error: str = ""
    mute: bool = False  # it was killed because its stdout had ended
    stdin: asyncio.WriteTransport | None = None
    unsent: list[bytes] = field(default_factory=list)


class Worker(asyncio.SubprocessProtocol):
    """A process that speaks the plugin wire on its stdin and stdout."""

    def __init__(self, listener: Listener, frame_bytes: int) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._streams = _Streams(wire.FrameReader(frame_bytes), wire.FrameReader(_STDERR_LINE))
        self._exchange = Exchange(self._write, on_log=self._on_log, on_idle=self._on_idle)
        self._transport: asyncio.SubprocessTransport | None = None
        self.pid = 0
        self.since = time.time()
        self.busy = 0
        self.paused = 0  # reasons to give it no call: a call that it was told to stop and has not, no stdout
        self.killed = False
        self.exited = asyncio.Event()

    @classmethod
    async def start(cls, launch: Launch, listener: Listener) -> Worker:
        """Start the process in a session of its own; raises OSError if it cannot be started."""
        loop = asyncio.get_running_loop()
        _, worker = await loop.subprocess_exec(
            lambda: cls(listener, launch.frame_bytes),
            *launch.command,
            env=dict(launch.environment),
            cwd=str(launch.directory),
            start_new_session=True,
        )
        return worker

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

    def rss_bytes(self) -> int | None:
        """Return the memory that the process holds, or None where that cannot be read."""
        try:
            fields = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()
        except OSError:
            return None
        return int(fields[1]) * _PAGE_BYTES

    def close(self) -> None:
        """Close the wire, at which the process is to exit."""
        if self._streams.stdin is not None:
            self._streams.stdin.close()

    def kill(self) -> None:
        """End the process with everything in its process group."""
        if not self.exited.is_set():
            self.killed = True
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
        """Take the end of stdout for the end of the worker: without it no answer can come."""
        if fd == 1 and not self.exited.is_set():
            self.paused += 1
            self._loop.call_later(_LAST_WORDS, self._silence)

    def _silence(self) -> None:
        if self._transport is not None and self._transport.get_returncode() is None:
            self._streams.mute = True
            self.kill()

    def process_exited(self) -> None:
        """End what the process left behind in its group; what it wrote last may still be on the way."""
        self._kill_group()
        self._loop.call_later(_LAST_WORDS, self._end)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Take note that process and pipes are all gone."""
        self._end()

    def _end(self) -> None:
        """Fail what was still running and tell the listener, once."""
        if self.exited.is_set() or self._transport is None:
            return
        self.pipe_data_received(2, b"\n")  # its last line may have no end
        code, streams = self._transport.get_returncode() or 0, self._streams
        reason = Crashed.of(code, mute=streams.mute, last_error=streams.last_error).reason
        self.exited.set()
        self._exchange.close(reason)
        self._transport.close()
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
