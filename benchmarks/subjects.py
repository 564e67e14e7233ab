"""The processes that are measured: the bare server and the daemon, each in a process of its own, on free ports."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Subject:
    """A running server."""

    pid: int
    port: int
    started_in: float = 0.0

    def cpu_seconds(self) -> float:
        """Return the processor time that it has used."""
        return _cpu_seconds(Path(f"/proc/{self.pid}/stat"))

    def thread_cpu_seconds(self) -> dict[str, float]:
        """Return the processor time of each of its threads, by name."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return {
            f"{(task / 'comm').read_text().strip()}-{task.name}": _cpu_seconds(task / "stat")
            for task in tasks
        }

    def children(self) -> list[int]:
        """Return the process ids of its workers."""
        text = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [int(pid) for pid in text.split()]

    def metric(self, name: str) -> float:
        """Return one metric of the daemon."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.get("/metrics").decode(), re.MULTILINE)
        return float(found[1]) if found else 0.0

    def get(self, path: str) -> bytes:
        """Return the body at a path."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        finally:
            connection.close()


def memory_kib(pid: int, field: str) -> int:
    """Return a field of a process's memory, such as Rss or Pss, in KiB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0


@contextmanager
def bare() -> Iterator[Subject]:
    """Run the bare server."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.bare"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        yield Subject(process.pid, int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait()


@contextmanager
def daemon(plugins: list[str], *, sync: str) -> Iterator[Subject]:
    """Run the daemon with some of the sample plugins and a journal of its own."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in plugins:
            shutil.copytree(ROOT / "plugins" / name, home / "plugins" / name)
        config = {
            "hermes": {"bind": "127.0.0.1:0", "plugins_dir": "plugins", "state_dir": "state"},
            "journal": {"sync": sync},
        }
        (home / "hermes.yaml").write_text(json.dumps(config))
        log = home / "log"
        started = time.perf_counter()
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "hermes", "run", "-c", str(home / "hermes.yaml")],
                stdout=output,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
            )
        try:
            port = _port(log, process)
            yield Subject(process.pid, port, time.perf_counter() - started)
        finally:
            process.terminate()
            process.wait()


def _port(log: Path, process: subprocess.Popen[bytes]) -> int:
    while process.poll() is None:
        found = re.search(rb'"url":"http://127.0.0.1:(\d+)"', log.read_bytes())
        if found:
            return int(found[1])
        time.sleep(0.005)
    raise SystemExit(f"the daemon did not start:\n{log.read_text()}")


def _cpu_seconds(stat: Path) -> float:
    fields = stat.read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
