"""A machine whose mounts a test lays out, and disk-usage run on it as the daemon would: a process for each call."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes.host.manifests.manifest import load_manifest
from hermes.host.programs.printed import value_of
from hermes.host.programs.spoken import Spoken
from tests.support.samples import SAMPLES

FOLDER = SAMPLES["disk-usage"]

STAT = """#!/bin/sh
for place; do :; done
[ -e "$place/hangs" ] && exec sleep 60
exec cat -- "$place/numbers"
"""
"""Stands in for `stat -f`: a folder of these tests holds what its file system would say."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a call came to: its envelope and its lines of progress."""

    envelope: dict[str, Any]
    progress: list[tuple[str, float | None]]

    @property
    def mounts(self) -> list[str]:
        assert self.envelope["error"] is None, self.envelope
        return [row["mount"] for row in self.envelope["data"]["filesystems"]]

    @property
    def code(self) -> str:
        assert self.envelope["data"] is None, self.envelope
        return str(self.envelope["error"]["code"])

    @property
    def message(self) -> str:
        return str(self.envelope["error"]["message"])


@dataclass(slots=True)
class Machine:
    """A machine with the mounts of a test: folders in `home`, and a table that names them."""

    home: Path
    lines: list[str] = field(default_factory=list)

    def mount(
        self, name: str, numbers: str = "4096 1000 600 500", *, kind: str = "ext4", device: str = ""
    ) -> Path:
        """Mount a file system; `numbers` are the size of a block, and its blocks, all, free and available ones."""
        folder = self.home / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "numbers").write_text(numbers + "\n")
        self.list(folder, kind=kind, device=device)
        return folder

    def list(self, folder: Path, *, kind: str = "ext4", device: str = "") -> None:
        """Put a line into the table."""
        number = len(self.lines) + 20
        point = os.fsencode(folder).replace(b"\\", b"\\134")
        for sign in b" \t\n":
            point = point.replace(bytes([sign]), b"\\%03o" % sign)
        device = device or f"8:{number}"
        self.lines.append(
            f"{number} 1 {device} / {os.fsdecode(point)} rw,noatime shared:{number} - {kind} /dev/x rw"
        )

    def ask(self, path: str | None = None, *, locale: str = "en", text: str = "", **config: Any) -> Told:
        """Run a call with the programs of this machine, and with `stat` of these tests."""
        table = self.home / "mountinfo"
        table.write_bytes(b"".join(os.fsencode(line) + b"\n" for line in self.lines))
        stat = self.home / "bin" / "stat"
        stat.parent.mkdir(exist_ok=True)
        stat.write_text(STAT)
        stat.chmod(0o700)
        search = f"{stat.parent}:{os.environ['PATH']}"
        return call(path, config={"mountinfo": str(table)} | config, locale=locale, text=text, PATH=search)


def call(
    path: str | None, *, config: dict[str, Any], locale: str = "en", text: str = "", **environ: str
) -> Told:
    payload = {"text": text} | ({} if path is None else {"path": path})
    message = {"request_id": "r-1", "session_id": "s-1", "intent": "disk.usage", "payload": payload}
    environment = {"PATH": os.environ["PATH"], "HERMES_LOCALE": locale, "HERMES_CONFIG": json.dumps(config)}
    done = subprocess.run(
        load_manifest(FOLDER).options.command,
        cwd=FOLDER,
        env=environment | environ,
        input=json.dumps(message).encode(),
        capture_output=True,
        check=True,
        timeout=20,
    )
    spoken = Spoken()
    portions = [spoken.feed(done.stderr), spoken.finish()]
    assert spoken.last == "", "nothing but progress is told on stderr"
    envelope = value_of(done.stdout)
    assert set(envelope) == {"data", "error", "warning"}
    return Told(envelope, [line for portion in portions for line in portion.progress])
