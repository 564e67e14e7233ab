"""A plugin host to try plugins in: real worker processes, and everything that is said kept as data."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import psutil

from hermes.config import Document
from hermes.deadlines import Deadlines
from hermes.host.crew import Watch
from hermes.host.host import Host, HostSettings
from hermes.host.plugin import Places, Plugin
from hermes.host.supervisor import BreakerSettings
from hermes.host.workers.calls import Call
from hermes.messages import HermesMessage, new_id
from hermes.observe.metrics import Metrics
from hermes.routing.folding import readings
from tests.support.daemon import write_plugin
from tests.support.logbook import Logbook

_T = TypeVar("_T")

HOLD = """
import asyncio
from pathlib import Path

async def handle(message, context):
    data, name = Path(context["data_dir"]), message["request_id"]
    (data / f"began {name}").touch()
    while not ((data / "go").exists() or (data / f"go {name}").exists()):
        await asyncio.sleep(0.005)
    return name
"""
"""A plugin that holds each call until a file `go`, or `go <request_id>`, is in its data folder."""

OBEY = """
import asyncio, os, subprocess, time
from pathlib import Path

async def handle(message, context):
    do = message["payload"].get("do")
    data = Path(context["data_dir"])
    (data / "began").touch()
    if do == "sleep":
        await asyncio.sleep(600)
    if do == "ignore cancel":
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                pass
    if do == "tidy up":
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            while not (data / "tidied").exists():
                await asyncio.sleep(0.005)
            raise
    if do == "block":
        (data / "child").write_text(str(subprocess.Popen(["sleep", "600"]).pid))
        time.sleep(600)
    if do == "crash":
        print("about to fall", flush=True)
        os.write(2, "致命错误: no memory".encode())
        os._exit(9)
    return os.getpid()
"""
"""A plugin that misbehaves as it is told; its result is the pid of its worker."""
SLEEP, IGNORE, TIDY, BLOCK, CRASH = (
    {"do": word} for word in ("sleep", "ignore cancel", "tidy up", "block", "crash")
)


async def eventually(condition: Callable[[], _T], *, seconds: float = 15) -> _T:
    """Return the first value of `condition` that counts as true; fail if there is none within `seconds`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not (value := condition()):
        assert loop.time() < deadline, f"still {value!r} after {seconds:g} s"
        await asyncio.sleep(0.005)
    return value


class Run:
    """One call on its way: the lines of progress it has told, whether it has a worker, and how it ended."""

    def __init__(
        self, host: Host, message: HermesMessage, *, timeout: float, held: asyncio.Event | None
    ) -> None:
        self.progress: list[tuple[str, float | None]] = []
        self.started = asyncio.Event()
        self._held = held
        target = host.find(message.intent)
        assert target is not None, message.intent
        call = Call(
            id=new_id(),
            message=message,
            context={"session": {}, "idempotency_key": message.request_id},
            timeout=timeout,
            on_started=self._on_started,
            on_progress=lambda text, percent: self.progress.append((text, percent)),
        )
        self.task = asyncio.ensure_future(host.run(target, call))

    def __await__(self) -> Any:
        return self.task.__await__()

    async def _on_started(self) -> None:
        self.started.set()
        if self._held is not None:
            await self._held.wait()


class Bench:
    """A host with the plugins of one folder. Write them, `start`, `run` calls; `stop` sees that nothing is left."""

    def __init__(self, home: Path, book: Logbook, environ: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.book = book
        self.metrics = Metrics()
        self.environ = dict(os.environ) if environ is None else dict(environ)
        self.configs: dict[str, dict[str, Any]] = {}
        self.later = 0.0
        """Seconds by which the circuit breakers' clock is ahead."""
        self.host: Host | None = None
        self._numbers = itertools.count(1)
        self._seen: set[int] = set()

    def write(self, name: str, code: str, **manifest: Any) -> Path:
        """Write a plugin of one intent, called like the plugin."""
        return write_plugin(self.home, name, code, **manifest)

    def load(self, check: Callable[[Plugin], None] = lambda _plugin: None, /, **settings: float) -> Host:
        """Read the plugins that `check` does not refuse; `settings` are members of HostSettings."""
        chosen = {"default_timeout": 20.0, "queue_wait": 20.0, "frame_bytes": 1 << 20} | settings
        breaker = BreakerSettings(
            int(chosen.get("failure_threshold", 3)), chosen.get("cooldown", 30.0), clock=self.clock
        )
        self.host = Host(
            HostSettings(
                chosen["default_timeout"],
                chosen["queue_wait"],
                int(chosen["frame_bytes"]),
                breaker,
                spare_workers=int(chosen.get("spare_workers", 0)),
                rest=chosen.get("rest", 0.0),
            ),
            Places(
                plugins_dir=self.home / "plugins",
                state_dir=self.home / "state",
                base_dir=self.home,
                configs=self.configs,
                environment=self.environ,
                source=Document(),
            ),
            check=check,
            fold=readings,
            watch=Watch(self.book.log, self.metrics, Deadlines()),
        )
        self.host.load()
        return self.host

    def clock(self) -> float:
        """Return monotonic seconds, `later` ones ahead."""
        return time.monotonic() + self.later

    async def look(self) -> None:
        """Let the host look at all folders, and wait until nothing that it found is being tried any more."""
        assert self.host is not None
        await self.host.look()
        await self.host.settle()

    def start(self, **settings: float) -> Host:
        """Read the plugins and start their workers in the background."""
        host = self.load(**settings)
        host.start()
        return host

    def run(
        self,
        intent: str,
        payload: Mapping[str, Any] | None = None,
        *,
        request_id: str | None = None,
        timeout: float = 20,
        held: asyncio.Event | None = None,
    ) -> Run:
        """Begin a call; with `held` it has a worker but does not start before that is set."""
        assert self.host is not None
        request_id = request_id or f"r{next(self._numbers)}"
        message = HermesMessage(request_id, "s1", intent, dict(payload or {}), "api", 0.0)
        return Run(self.host, message, timeout=timeout, held=held)

    def data(self, name: str) -> Path:
        """Return the folder that a plugin may write to."""
        return self.home / "state" / "plugins" / name

    def plugin(self, name: str) -> dict[str, Any]:
        """Return a plugin as `GET /v1/plugins` lists it."""
        assert self.host is not None
        row = self.host.plugin(name)
        self._seen |= {worker["pid"] for worker in row["workers"]}
        return row

    async def begin_plugin(self, code: str = OBEY, **manifest: Any) -> int:
        """Write a plugin `p`, start it, and return the pid of its worker."""
        self.write("p", code, **manifest)
        self.start()
        return await self.worker("p")

    async def worker(self, name: str, *, other_than: int = 0) -> int:
        """Return the pid of a worker of a plugin once there is one."""
        return (
            await eventually(
                lambda: next(
                    (one["pid"] for one in self.plugin(name)["workers"] if one["pid"] != other_than), None
                )
            )
            or 0
        )

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of a metric, 0 if it was never touched."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    async def stop(self) -> None:
        """Stop the host, and see that no process of it is left."""
        if self.host is not None:
            await self.host.stop()
        children = psutil.Process().children(recursive=True)
        assert [one for one in children if one.pid in self._seen] == []


def alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def file_text(path: Path) -> str:
    """Return what is in a file once something is."""
    return await eventually(lambda: path.read_text() if path.exists() else "")
