"""Plugins that say a word, in a folder that a real daemon watches, and the ways in which people's tools save a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.support.daemon import Daemon
from tests.support.waiting import until

PATIENT = {"reload": {"sweep": 3600}}  # what is noticed, is noticed by events


def says(word: str) -> str:
    return f"async def handle(message, context):\n    return {word!r}\n"


def make(home: Path, name: str = "p", word: str = "one") -> Path:
    """Write a plugin of one intent, called like it."""
    folder = home / "plugins" / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"name": name, "intents": [name]}))
    (folder / "plugin.py").write_text(says(word))
    return folder


def answer(daemon: Daemon, intent: str = "p") -> object:
    record = daemon.send(intent=intent)
    assert record["status"] == "succeeded", record
    return record["envelope"]["data"]


def nth_reload(daemon: Daemon, number: int) -> dict[str, Any]:
    """Wait for a reload, and return its line of the log."""
    return until(lambda: daemon.lines(event="plugin_reloaded")[number - 1 :])[0]


def save_like_vim(file: Path, text: str) -> None:
    backup = file.with_name(file.name + "~")
    file.rename(backup)
    file.write_text(text)
    backup.unlink()


def save_like_sed(file: Path, text: str) -> None:
    new = file.with_name(f"sed{os.getpid()}")
    new.write_text(text)
    new.replace(file)


def save_by_truncating(file: Path, text: str) -> None:
    file.write_text("")
    file.write_text(text)


def save_in_pieces(file: Path, text: str) -> None:
    with file.open("w") as stream:
        for letter in text:
            stream.write(letter)
            stream.flush()
