"""The real `hermes` command in a process of its own, with pipes or on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

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
        with self.at_terminal(*arguments, columns=columns) as terminal:
            return terminal.rest()

    def at_terminal(self, *arguments: str, columns: int = 80) -> Terminal:
        """Start it on a terminal, at which the caller sits until it has ended."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with _minding_ctrl_c():
            process = subprocess.Popen(
                [SCRIPT, *arguments],
                cwd=self._home,
                env=self._environ | {"TERM": "xterm-256color"},
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
            )
        os.close(theirs)
        return Terminal(process, ours)


class Terminal:
    """A terminal with a command on it. Leave it once the command has nothing more to say."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.process.kill()
        self.process.wait(_PATIENCE)
        os.close(self._descriptor)

    def until(self, text: str) -> str:
        """Read until `text` was written, and return everything up to it that was not returned before."""
        wanted = text.encode()
        while wanted not in self._read:
            part = self._part()
            assert part, self._read.decode()
            self._read += part
        before, _, self._read = self._read.partition(wanted)
        return (before + wanted).decode()

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._descriptor, keys.encode())

    def rest(self) -> str:
        """Read until the command has ended, and return what was not returned before."""
        while part := self._part():
            self._read += part
        return self._read.decode()

    def _part(self) -> bytes:
        ready, _, _ = select.select([self._descriptor], [], [], _PATIENCE)
        assert ready, self._read.decode()
        try:
            return os.read(self._descriptor, 1 << 16)
        except OSError:
            return b""  # EIO: the other end of a terminal was closed


@contextmanager
def _minding_ctrl_c() -> Iterator[None]:
    """Let what is started mind Ctrl-C: a shell's background job ignores it, and hands that on to all it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
