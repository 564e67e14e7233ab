"""One worker process and the calls that run in it. When to start, replace or end one is the supervisor's affair."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import orjson

from hermes.host import wire
from hermes.host.failures import CallEnded, Crashed, Raised, ResultTooLarge
from hermes.strict_json import exceeds_64_bits

_STDERR_LINE = 8192  # bytes; a longer line of a plugin's stderr is left out
_TOO_LONG = "(a line that is too long)"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LAST_WORDS = 0.5  # seconds between the end of the process and that of its pipes, whichever comes first
_BEYOND = "the result holds an integer beyond 64 bits"


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
class Pending:
    """A request that the worker has not answered; `call` is empty if it is no call.

    Its future may be given up before the answer comes; `left` is set when it came, or never will.
    """

    answer: asyncio.Future[Any]
    call: str = ""
    on_progress: Callable[[str, float | None], None] | None = None
    left: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Streams:
    frames: wire.FrameReader
    errors: wire.FrameReader
    last_error: str = ""
    mute: bool = False  # it was killed because its stdout had ended
    stdin: asyncio.WriteTransport | None = None
    calls: dict[str, Pending] = field(default_factory=dict)
    unsent: list[bytes] = field(default_factory=list)


class Worker(asyncio.SubprocessProtocol):
    """A process that speaks the plugin wire on its stdin and stdout."""

    def __init__(self, listener: Listener, frame_bytes: int) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._streams = _Streams(wire.FrameReader(frame_bytes), wire.FrameReader(_STDERR_LINE))
        self._pending: dict[int, Pending] = {}
        self._last_id = 0
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

    def request(self, method: str, params: Any, *, pending: Pending | None = None) -> asyncio.Future[Any]:
        """Send a request and return the future of its result or a `CallEnded`; TypeError if it has no JSON form."""
        pending = pending or Pending(self._loop.create_future())
        if self.exited.is_set():
            pending.left.set()
            pending.answer.set_exception(Crashed("the worker is gone"))
            return pending.answer
        frame = wire.request(self._last_id + 1, method, params=params)
        self._last_id += 1
        self._pending[self._last_id] = pending
        if pending.call:
            self._streams.calls[pending.call] = pending
        self._write(frame)
        return pending.answer

    def call(
        self, call: str, params: Mapping[str, Any], *, on_progress: Callable[[str, float | None], None]
    ) -> Pending:
        """Run the handler; the slot it takes is given back by `on_idle`, whoever still waits by then.

        Raises TypeError, and takes no slot, if `params` have no JSON form.
        """
        pending = Pending(self._loop.create_future(), call, on_progress)
        self.request("handle", params, pending=pending)
        return pending

    def cancel(self, call: str) -> None:
        """Ask the handler of a call to stop."""
        self._write(wire.notification("cancel", {"call": call}))

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
            (self._streams.frames, self._on_line) if fd == 1 else (self._streams.errors, self._on_stderr)
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
        for request_id in list(self._pending):
            self._settle(request_id, failure=Crashed(reason))
        self._transport.close()
        self._listener.on_exit(self, reason)

    # Frames and lines.

    def _on_stderr(self, line: bytes | wire.Oversized) -> None:
        text = _TOO_LONG if isinstance(line, wire.Oversized) else line.decode("utf-8", "replace")
        if text.strip():
            self._streams.last_error = text.strip()[:300]
            self._listener.on_log(self, text, level="info", call=None)

    def _on_line(self, line: bytes | wire.Oversized) -> None:
        if isinstance(line, wire.Oversized):
            too_large = ResultTooLarge("the answer was over the frame limit")
            self._on_lost(line.request_id, too_large, otherwise="a frame over the limit was dropped")
            return
        try:
            frame = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            failure = Raised(_BEYOND if exceeds_64_bits(line) else f"the result cannot be read: {error.msg}")
            text = "not a frame: " + line[:200].decode("utf-8", "replace")
            self._on_lost(wire.answered_id(line, line), failure, otherwise=text)
            return
        if not isinstance(frame, dict):
            return
        if frame.get("method") is None:
            self._on_answer(frame, line)
        elif frame.get("id") is not None:
            self._on_request(frame["id"], wire.word(frame["method"]))
        elif isinstance(params := frame.get("params"), dict):
            self._on_notification(wire.word(frame["method"]), params)

    def _on_answer(self, frame: dict[str, Any], line: bytes) -> None:
        error, failure = frame.get("error"), None
        if error is not None:
            failure = Raised.of(error)
        elif exceeds_64_bits(line):
            failure = Raised(_BEYOND)
        self._settle(frame.get("id"), frame.get("result"), failure=failure)

    def _on_request(self, request_id: Any, method: str) -> None:
        if type(request_id) in (int, str):
            self._write(wire.refusal(request_id, method))
        else:
            text = "a request whose id is neither a text nor a whole number was dropped"
            self._listener.on_log(self, text, level="warning", call=None)

    def _on_lost(self, request_id: int | None, failure: CallEnded, *, otherwise: str) -> None:
        """End the call whose answer came and cannot be had; if it was nobody's, log what it was."""
        if request_id in self._pending:
            self._settle(request_id, failure=failure)
        else:
            self._listener.on_log(self, otherwise, level="warning", call=None)

    def _on_notification(self, method: str, params: dict[str, Any]) -> None:
        call = wire.word(params.get("call")) or None
        text = wire.word(params.get("text"))
        if method == "log":
            self._listener.on_log(self, text, level=wire.word(params.get("level")), call=call)
        elif method == "progress" and call in self._streams.calls:
            on_progress = self._streams.calls[call].on_progress
            percent = params.get("percent")
            if on_progress is not None:
                on_progress(text, percent if type(percent) in (int, float) else None)

    def _settle(self, request_id: Any, result: Any = None, *, failure: Exception | None = None) -> None:
        pending = self._pending.pop(request_id, None) if type(request_id) is int else None
        if pending is None:
            return
        pending.left.set()
        if not pending.answer.done():
            if failure is None:
                pending.answer.set_result(result)
            else:
                pending.answer.set_exception(failure)
        if pending.call:
            self._streams.calls.pop(pending.call, None)
            self.busy -= 1
            self._listener.on_idle(self)
