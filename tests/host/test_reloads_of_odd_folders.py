"""Plugins' folders with what no editor makes: pipes, links in a circle, names of any bytes. Nothing hangs, nothing is spoilt."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from tests.support.bench import Bench
from tests.support.saving import says

NAMES = [b"line\nbreak", b"\xff\xfe bytes", b"tab\tand\rreturn", "词典 🐛".encode(), b"-rf", b"a" * 255]


def litter(folder: Path) -> None:
    """Put into a folder what would hold up, or go round in circles, whoever reads all that is there."""
    os.mkfifo(folder / "pipe.py")
    (folder / "into the pipe").symlink_to("pipe.py")
    (folder / "round").symlink_to("round")
    (folder / "there").symlink_to("back")
    (folder / "back").symlink_to("there")
    (folder / "itself").symlink_to(".")
    (folder / "above").symlink_to(folder.parent / folder.name)
    (folder / "nowhere").symlink_to("/no/such/file")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "terminal").symlink_to("/dev/tty")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "listener"))
    for name in NAMES:
        (folder / os.fsdecode(name)).write_text("x")
        os.mkfifo(folder / os.fsdecode(name[:200] + b" pipe"))
    (folder / os.fsdecode(b"folder \xff\n")).mkdir()
    os.mkfifo(folder / os.fsdecode(b"folder \xff\n") / "pipe")


async def test_pipes_circles_and_names_of_any_bytes_neither_hold_up_nor_spoil_a_reload(bench: Bench) -> None:
    folder = bench.write("p", says("old"))
    bench.start()
    assert await bench.run("p") == "old"
    litter(folder)
    (folder / "plugin.py").write_text(says("new"))
    for _ in range(2):
        await bench.look()
    assert (await bench.run("p"), bench.plugin("p")["reloads"], bench.plugin("p")["last_error"]) == (
        "new",
        1,
        None,
    )
    copies = list((bench.home / "state" / "staged" / "p").iterdir())
    names = {os.fsencode(path.name) for copy in copies for path in copy.iterdir()}
    assert set(NAMES) <= names
    assert not [path for copy in copies for path in copy.rglob("*") if not (path.is_file() or path.is_dir())]
    shutil.rmtree(folder)
    await bench.look()


@pytest.mark.parametrize("file", ["manifest.json", "plugin.py"])
@pytest.mark.parametrize("how", ["a pipe", "a link round", "a folder"])
async def test_a_file_that_a_plugin_needs_and_that_is_none_is_told_and_the_old_version_serves(
    bench: Bench, file: str, how: str
) -> None:
    folder = bench.write("p", says("old"))
    bench.start()
    assert await bench.run("p") == "old"
    (folder / file).unlink()
    if how == "a pipe":
        os.mkfifo(folder / file)
    elif how == "a link round":
        (folder / file).symlink_to(file)
    else:
        (folder / file).mkdir()
    await bench.look()
    assert await bench.run("p") == "old"
    assert file in f"{bench.plugin('p')['last_error']}"


@pytest.mark.parametrize("name", NAMES[:4])
async def test_a_folder_of_any_name_is_a_plugin_like_any_other(bench: Bench, name: bytes) -> None:
    bench.start()
    folder = bench.home / "plugins" / os.fsdecode(name)
    bench.write("p", says("here")).rename(folder)
    await bench.look()
    assert await bench.run("p") == "here"
    (folder / "plugin.py").write_text("broken(")
    await bench.look()
    assert await bench.run("p") == "here"
    (folder / "plugin.py").write_text(says("new"))
    await bench.look()
    assert await bench.run("p") == "new"
    folder.rename(folder.with_name("plain"))
    await bench.look()
    assert (await bench.run("p"), bench.plugin("p")["reloads"]) == ("new", 1)
