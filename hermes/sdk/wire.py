"""The worker's side of the plugin wire: JSON-RPC 2.0, one object a line. It moves frames and knows no plugin."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Any

PROTOCOL = 1

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
PLUGIN_FAILED = -32000
NOT_JSON = -32001
STORE_AWAY = -32010
STILL_RUNNING = -32011
OUTCOME_UNKNOWN = -32012
CANCELLED = -32800

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# For more the system maps memory anew at every read, which takes longer than all the rest.
_READ_SIZE = 1 << 16


def encode(frame: dict[str, Any]) -> bytes:
    """Return `frame` as one line of UTF-8.

    Raises:
        TypeError: something in it has no JSON form.
        ValueError: it holds NaN or Infinity, or refers to itself.
        RecursionError: it is nested too deeply.
    """
    # A lone surrogate has no UTF-8 form; a question mark in its place keeps the rest of the text.
    return _encode(frame).encode("utf-8", "replace") + b"\n"


def text_of(error: BaseException) -> str:
    """Return the text of an exception, empty if the exception's own code fails to give it."""
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - it is a plugin's code, and the call is to be answered all the same
        return ""


class Wire:
    """Frames over two file descriptors. Writing is safe from any thread; reading belongs to the event loop."""

    is_cut = False
    """Whether nobody is at the other end."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        os.set_blocking(read_fd, False)
        self.read_fd = read_fd
        self._write_fd = write_fd
        self._lock = threading.Lock()
        self._parts: list[bytes] = []  # of a line that has not ended

    def send(self, frame: dict[str, Any]) -> None:
        """Write one frame whole; raises what `encode` raises, before a byte is written."""
        self._write(encode(frame))

    def reply(self, request_id: Any, result: Any) -> None:
        """Answer a request; a result without a JSON form becomes an error answer instead."""
        try:
            frame = encode({"jsonrpc": "2.0", "id": request_id, "result": result})
        except BaseException as error:  # noqa: BLE001 - members of the result may be of the plugin's own classes
            reason = f"{type(error).__name__}: {text_of(error)}"
            self.fail(request_id, f"the result cannot be written as JSON: {reason}", code=NOT_JSON)
        else:
            self._write(frame)

    def fail(self, request_id: Any, message: str, *, code: int, data: Any = None) -> None:
        """Answer a request with an error of JSON-RPC."""
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.send({"jsonrpc": "2.0", "id": request_id, "error": error})

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the host something that needs no answer."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def receive(self, accept: Callable[[dict[str, Any]], None]) -> bool:
        """Read what is there, hand each whole frame to `accept`, and return False at the end of the stream."""
        try:
            chunk = os.read(self.read_fd, _READ_SIZE)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        if b"\n" not in chunk:
            self._parts.append(chunk)
            return True
        *lines, rest = b"".join((*self._parts, chunk)).split(b"\n")
        self._parts = [rest]
        for line in lines:
            self._accept(line, accept)
        return True

    def cut(self) -> None:
        """Let go of the host, in a process that was forked off: it would hear and answer in its parent's place."""
        null = os.open(os.devnull, os.O_RDWR)
        for end in (self.read_fd, self._write_fd):
            os.dup2(null, end, inheritable=False)
        os.close(null)
        self._lock = threading.Lock()  # a thread that is not here may have held it
        self.is_cut = True

    def _accept(self, line: bytes, accept: Callable[[dict[str, Any]], None]) -> None:
        try:
            frame = json.loads(line.decode())  # of bytes it would guess the encoding
        except (ValueError, RecursionError):
            self.fail(None, "the frame is not JSON", code=PARSE_ERROR)
            return
        if isinstance(frame, dict):
            accept(frame)

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)  # its slices are no copies: no memory can run out with half a frame written
        with self._lock:
            while rest:
                rest = rest[os.write(self._write_fd, rest) :]
