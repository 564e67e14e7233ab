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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
ECHO = ("echo",)
SAMPLES = ("echo", "system-status", "gitlab-pipeline", "sqlite-query")
_TICKS = os.sysconf("SC_CLK_TCK")
_STOPS_WITHIN = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `began` is when its process was started, by the performance counter, `started_in` seconds
    before it listened.
    """

    pid: int
    port: int
    began: float = 0.0
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
        _, text = self.request("GET", "/metrics")
        found = re.search(rf"^{re.escape(name)} (\S+)$", text.decode(), re.MULTILINE)
        return float(found[1]) if found else 0.0

    def request(self, method: str, path: str, *, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
        """Return status and body of the answer to a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def memory_kib(pid: int, field: str) -> int:
    """Return a field of a process's memory, such as Rss or Pss, in KiB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0


@contextmanager
def bare() -> Iterator[Server]:
    """Run the bare server."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.bare"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        yield Server(process.pid, int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait(_STOPS_WITHIN)


@contextmanager
def place(
    *, sync: Literal["full", "normal"], plugins: Sequence[str] = ECHO, **sections: Mapping[str, Any]
) -> Iterator[Path]:
    """Make a folder that a daemon can be run in, with some of the sample plugins; it is removed afterwards.

    `sections` are further ones of hermes.yaml.
    """
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        home = Path(folder)
        for name in plugins:
            shutil.copytree(ROOT / "plugins" / name, home / "plugins" / name)
        config = {
            "hermes": {"bind": "127.0.0.1:0", "plugins_dir": "plugins", "state_dir": "state"},
            "journal": {"sync": sync},
            **sections,
        }
        (home / "hermes.yaml").write_text(json.dumps(config))
        yield home


def lay_plugin(home: Path, name: str, *, code: str, **manifest: Any) -> Path:
    """Write a plugin of one intent, called like it and without keywords, into a place, and return its folder."""
    folder = home / "plugins" / name
    folder.mkdir(parents=True)
    intent = {"name": name, "parameters": {"type": "object"}, "writes": False}
    (folder / "manifest.json").write_text(json.dumps({"name": name, "intents": [intent], **manifest}))
    (folder / "plugin.py").write_text(code)
    return folder


def log_lines(home: Path) -> list[dict[str, Any]]:
    """Return the whole lines that the daemon in a place has logged since its start."""
    *lines, _ = (home / "log").read_bytes().split(b"\n")
    return [json.loads(line) for line in lines]


def journal_of(home: Path) -> Path:
    """Return the file of the journal in a place."""
    return home / "state" / "journal.db"


@contextmanager
def daemon(home: Path) -> Iterator[Server]:
    """Run the daemon in a place."""
    log = home / "log"
    began = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes", "run", "-c", str(home / "hermes.yaml")],
            stdout=output,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
        )
    try:
        port = _port(log, process)
        yield Server(process.pid, port, began, time.perf_counter() - began)
    finally:
        process.terminate()
        process.wait(_STOPS_WITHIN)


def until_ready(server: Server, *, but: Sequence[str] = ()) -> None:
    """Wait until every plugin has a worker, except for those that have none between calls."""
    for _ in range(600):
        plugins = json.loads(server.request("GET", "/v1/plugins")[1])["items"]
        if all(plugin["workers"] or plugin["name"] in but for plugin in plugins):
            return
        time.sleep(0.05)
    raise SystemExit("some workers did not start")


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
