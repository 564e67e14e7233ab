"""A real daemon for tests: `hermes run` in a process of its own, its log as data, and nothing that outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil

from tests.support.client import Client
from tests.support.samples import PLUGINS
from tests.support.waiting import until

SAMPLES = Path(__file__).parents[2] / "plugins"
_STOPPED_WITHIN = 20.0  # seconds

Config = Mapping[str, Mapping[str, Any]]


class Daemon(Client):
    """A daemon that runs. `home` holds its hermes.yaml, plugins, state and log."""

    def __init__(self, process: subprocess.Popen[bytes], home: Path) -> None:
        self.process = process
        self.home = home
        self.state_dir = home / "state"
        self.url = str(until(self._listening)["url"])
        super().__init__(self.url)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def stderr(self) -> str:
        return (self.home / "stderr").read_text()

    def lines(self, **wanted: object) -> list[dict[str, Any]]:
        """Return the lines of the log that have these members."""
        return [line for line in read_log(self.home) if wanted.items() <= line.items()]

    def line(self, **wanted: object) -> dict[str, Any]:
        """Wait for a line of the log that has these members, and return the first."""
        return until(lambda: self.lines(**wanted))[0]

    def plugin(self, name: str) -> dict[str, Any]:
        """Return a plugin as `GET /v1/plugins` lists it."""
        rows = [row for row in self.get("/v1/plugins").json["items"] if row["name"] == name]
        assert len(rows) == 1, name
        row: dict[str, Any] = rows[0]
        return row

    def runs(self, request_id: str) -> int:
        """Return how many times the plugin `gate` has begun to run a message."""
        file = self.state_dir / "plugins" / "gate" / "runs"
        return file.read_text().split().count(request_id) if file.exists() else 0

    def faults(self) -> list[dict[str, Any]]:
        """Return the lines of the log that no user and no plugin can be the cause of."""
        return [
            line
            for line in self.lines()
            if line["event"] in {"request_failed", "message_failed"}
            or ("logger" in line and line["level"] == "error")
        ]

    def stop(self) -> None:
        """Ask the daemon to end, and see that it does so cleanly and leaves no process behind."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(_STOPPED_WITHIN) == 0, self.stderr
        assert left_behind(self.home) == []
        assert "Traceback" not in self.stderr
        assert self.faults() == []

    def kill(self) -> None:
        """End the daemon as a power cut would; its workers have to notice by themselves."""
        self.process.kill()
        self.process.wait(_STOPPED_WITHIN)
        until(lambda: not left_behind(self.home))

    def _listening(self) -> dict[str, Any] | None:
        assert self.process.poll() is None, self.stderr
        found = self.lines(event="listening")
        return found[0] if found else None


def start(home: Path, environ: Mapping[str, str] | None = None) -> Daemon:
    """Start a daemon on the hermes.yaml in `home`, and return it once it listens."""
    process = spawn(home, environ or {})
    try:
        return Daemon(process, home)
    except BaseException:
        process.kill()
        process.wait()
        raise


def refusal(home: Path, environ: Mapping[str, str] | None = None) -> str:
    """Start a daemon that cannot start, and return the one line that it leaves on stderr."""
    process = spawn(home, environ or {})
    assert process.wait(_STOPPED_WITHIN) == 1
    assert left_behind(home) == []
    assert [line for line in read_log(home) if line["event"] == "listening"] == []
    (line,) = (home / "stderr").read_text().splitlines()
    return line


def furnish(home: Path, config: Config | None = None, plugins: Iterable[Path] = ()) -> Path:
    """Write a hermes.yaml into `home` that takes a free port, put `plugins` beside it, and return `home`."""
    sections = {"hermes": {"bind": "127.0.0.1:0", "plugins_dir": "./plugins", "state_dir": "./state"}}
    for name, section in (config or {}).items():
        sections[name] = sections.get(name, {}) | dict(section)
    (home / "hermes.yaml").write_text(json.dumps(sections, ensure_ascii=False), encoding="utf-8")
    (home / "plugins").mkdir(exist_ok=True)
    for folder in plugins:
        (home / "plugins" / folder.name).symlink_to(folder)
    return home


def plugin_folder(name: str) -> Path:
    """Return the folder of a sample plugin or of one for tests."""
    return PLUGINS[name]


def write_plugin(home: Path, name: str, code: str = "", **manifest: Any) -> Path:
    """Write a plugin of one intent, called like the plugin, into `home`, and return its folder."""
    folder = home / "plugins" / name
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(code, encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps({"name": name, "intents": [name]} | manifest))
    return folder


def read_log(home: Path) -> list[dict[str, Any]]:
    """Return the lines of a daemon's log that are whole."""
    *lines, _unfinished = (home / "log").read_bytes().split(b"\n")
    return [json.loads(line) for line in lines]


def left_behind(home: Path) -> list[psutil.Process]:
    """Return the processes that a daemon of this home has started, itself included."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("HOME") == str(home) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:  # it ended while we looked, or is not ours to look at
            continue
    return found


def spawn(home: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Begin to start a daemon; whether it gets as far as listening is open."""
    # HOME is handed on to workers, so that whatever a daemon starts can be found again.
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(home), **environ}
    with (home / "log").open("wb") as log, (home / "stderr").open("wb") as stderr:
        return subprocess.Popen(
            [sys.executable, "-m", "hermes", "run", "-c", str(home / "hermes.yaml")],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=stderr,
        )
