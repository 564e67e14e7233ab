"""A plugin's worker process, driven by hand over its pipes as the daemon would."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Frame = dict[str, Any]


class ByHand:
    """A worker of the plugin in one folder; it is killed at the end if it still runs."""

    def __init__(
        self, folder: Path, code: str = "", *, file: str = "plugin.py", arguments: Sequence[str] = ()
    ) -> None:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")
        self.data_dir = folder / "data"
        self.data_dir.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hermes.sdk.worker", *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def write(self, *frames: Frame | bytes) -> None:
        """Write frames, or bytes as they are, all at once."""
        assert self.process.stdin is not None
        lines = [
            frame if isinstance(frame, bytes) else json.dumps(frame).encode() + b"\n" for frame in frames
        ]
        self.process.stdin.write(b"".join(lines))
        self.process.stdin.flush()

    def read(self) -> Frame:
        """Return the next frame of the worker."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the worker has ended: {self.end()}"
        frame: Frame = json.loads(line)
        return frame

    def request(self, method: str, params: Any = None) -> int:
        """Write a request and return its id."""
        self._number += 1
        self.write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def answer(self, request_id: int | None) -> tuple[Frame, list[Frame]]:
        """Return the answer to a request, and all frames that came before it."""
        before = []
        while (frame := self.read()).get("id") != request_id or "method" in frame:
            before.append(frame)
        return frame, before

    def asked(self) -> Frame:
        """Return the next request of the worker; what it answers or tells before is passed over."""
        while "method" not in (frame := self.read()) or "id" not in frame:
            pass
        return frame

    def grant(self, asked: Frame, **result: Any) -> None:
        """Answer a request of the worker."""
        self.write({"jsonrpc": "2.0", "id": asked["id"], "result": result})

    def refuse(self, asked: Frame, code: int, *, message: str = "no") -> None:
        """Answer a request of the worker with an error."""
        self.write({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": code, "message": message}})

    def cancel(self, call: str = "c1") -> None:
        """Tell the worker to cancel a call."""
        self.write({"jsonrpc": "2.0", "method": "cancel", "params": {"call": call}})

    def initialize(self, entry: str = "plugin:handle", **params: Any) -> Frame:
        """Initialize the worker and return its answer."""
        given = {"protocol": 1, "entry": entry, "data_dir": str(self.data_dir), "locale": "zh", **params}
        return self.answer(self.request("initialize", given))[0]

    def handle(self, call: str = "c1", context: Frame | None = None, **payload: Any) -> int:
        """Begin a call and return the id of its request."""
        message = {"request_id": f"r-{call}", "session_id": "s1", "intent": "test", "payload": payload}
        return self.request("handle", {"call": call, "message": message, "context": context or {}})

    def result(self, **payload: Any) -> Any:
        """Call the handler and return its result."""
        answer, _ = self.answer(self.handle(**payload))
        assert "error" not in answer, answer
        return answer["result"]

    def hang_up(self) -> None:
        """Close the worker's stdin, as the end of the daemon does."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> tuple[int, str]:
        """Wait for the end of the process and return its exit code and what it wrote to stderr."""
        assert self.process.stderr is not None
        stderr = self.process.stderr.read().decode()
        return self.process.wait(), stderr
