"""The real `hermes` command in a process of its own, with pipes or on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("hermes")
_PATIENCE = 25.0  # seconds


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Hermes:
    """Runs `hermes` in `home`, where nothing of the tester's own environment reaches it but what is given."""

    def __init__(self, home: Path, **environ: str) -> None:
        self._home = home
        self._environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC", **environ}

    def __call__(self, *arguments: str | bytes, **environ: str) -> Done:
        """Run it with pipes."""
        process = self.start(*arguments, **environ)
        out, err = process.communicate(timeout=_PATIENCE)
        return Done(process.returncode, out, err)

    def start(self, *arguments: str | bytes, **environ: str) -> subprocess.Popen[str]:
        """Start it with pipes; the caller waits for it."""
        with _minding_ctrl_c():
            return subprocess.Popen(
                [SCRIPT, *arguments],
                cwd=self._home,
                env=self._environ | environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )

    def on_terminal(self, *arguments: str, columns: int = 80) -> str:
        """Run it on a terminal and return everything that it wrote there."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [SCRIPT, *arguments],
            cwd=self._home,
            env=self._environ | {"TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        written = _read_all(ours)
        process.wait(_PATIENCE)
        return written.decode()


@contextmanager
def _minding_ctrl_c() -> Iterator[None]:
    """Let what is started mind Ctrl-C: a shell's background job ignores it, and hands that on to all it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read_all(descriptor: int) -> bytes:
    parts = []
    try:
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
    except OSError:
        pass  # EIO: the other end of a terminal was closed
    finally:
        os.close(descriptor)
    return b"".join(parts)
