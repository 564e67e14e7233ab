"""Plugins go with the folders that hold them now; a change of a name is no move."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes.config import Document
from hermes.host.folders import Folder
from hermes.host.ownership import hand_over
from hermes.host.plugin import Places, Plugin, load_plugin


def plugin(home: Path, name: str) -> Plugin:
    folder = home / f"of {name}"
    folder.mkdir(exist_ok=True)
    http = {"runtime": "http", "http": {"url": "http://127.0.0.1:9/"}}
    (folder / "manifest.json").write_text(json.dumps({"name": name, "intents": [name]} | http))
    return load_plugin(folder, Places(home, home / "state", home, {}, {}, Document()))


@pytest.mark.parametrize(
    ("owned", "found", "lost", "moves", "left"),
    [
        pytest.param("a=p b=q", "", "", "", "", id="nothing new"),
        pytest.param("a=p b=q", "a=p", "", "", "", id="another version"),
        pytest.param("a=p", "b=q", "", "", "", id="a plugin that is new"),
        pytest.param("a=p b=q", "a=q b=p", "", "a=q b=p", "", id="a swap"),
        pytest.param("a=p b=q c=r", "a=q b=r c=p", "", "a=q b=r c=p", "", id="a round of three"),
        pytest.param("b=", "b=p", "p", "b=p", "", id="a folder with another name"),
        pytest.param("a=p", "a=q", "q", "a=q", "p", id="a folder put in the place of another"),
        pytest.param("a=p b=q", "a=q b=r", "r", "a=q b=r", "p", id="each in the place of the one before"),
        pytest.param("a=p", "", "q", "", "q", id="a folder that is gone"),
        pytest.param("a=p", "a=q", "", "", "", id="another name"),
        pytest.param("a=p b=q", "a=q b=r", "", "", "", id="names that move on"),
        pytest.param("a=p b=q", "a=q", "", "", "", id="a name that is another's"),
        pytest.param("a=p b=q", "a=q b=q", "", "", "", id="a name that another keeps"),
        pytest.param("a=p b=q c=", "a=q b=p c=p", "", "a=q b=p", "", id="the first of two that want it"),
    ],
)
def test_what_moved_is_told_from_what_was_renamed(
    tmp_path: Path, owned: str, found: str, lost: str, moves: str, left: str
) -> None:
    folders = {}
    for folder, _, name in (one.partition("=") for one in owned.split()):
        folders[folder] = Folder(Path(folder), plugin=name or None)
    news = {
        folders.setdefault(folder, Folder(Path(folder))): plugin(tmp_path, name)
        for folder, _, name in (one.partition("=") for one in found.split())
    }
    served = {one.plugin for one in folders.values() if one.plugin} | set(lost.split())
    moved, without = hand_over(news, folders.values(), served=served, lost=set(lost.split()))
    assert " ".join(sorted(f"{folder.path}={name}" for folder, name in moved.items())) == moves
    assert without == set(left.split())
    assert all(folder.plugin == name for folder, name in moved.items())
