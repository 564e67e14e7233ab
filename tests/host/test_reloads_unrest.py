"""Folders that are written to while they are looked at, and those that cannot be read: what serves goes on, for all."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

from hermes.host.files.fingerprint import MOST_BYTES
from hermes.host.plugin import Plugin
from tests.support.bench import Bench, eventually
from tests.support.saving import says

REST = 0.4


async def start(bench: Bench, *names: str) -> list[Path]:
    """Start plugins whose folders have to be left alone for a while."""
    folders = [bench.write(name, says("old")) for name in names]
    bench.start(rest=REST)
    for name in names:
        assert await bench.run(name) == "old"
    return folders


async def test_what_was_written_just_now_is_not_taken_for_whole_and_looked_at_again_by_itself(
    bench: Bench,
) -> None:
    (folder,) = await start(bench, "p")
    assert bench.host is not None
    for word in ("half", "more", "whole"):
        (folder / "plugin.py").write_text(says(word))
        await bench.host.look()
        assert await bench.run("p") == "old"
    (folder / "plugin.py").write_text(says("new"))
    await bench.look()
    assert await bench.run("p") == "new"
    assert (bench.plugin("p")["reloads"], bench.book.lines(event="plugin_refused")) == (1, [])


async def test_however_often_it_is_found_at_work_it_is_looked_at_again_once(bench: Bench) -> None:
    (folder,) = await start(bench, "p")
    assert bench.host is not None
    (folder / "plugin.py").write_text(says("new"))
    for _ in range(50):
        await bench.host.look()
    await bench.host.settle()
    assert await bench.run("p") == "new"
    assert bench.book.lines(event="plugin_restless") == []  # which 50 looks later would have told


async def test_a_time_that_is_set_back_hides_nothing_and_one_to_come_holds_nothing_up(bench: Bench) -> None:
    (folder,) = await start(bench, "p")
    assert bench.host is not None
    for word, stamp in (("new", 1e9), ("newer", 4e9)):
        (folder / "plugin.py").write_text(says(word))
        os.utime(folder / "plugin.py", (stamp, stamp))
        before = await bench.run("p")
        await bench.host.look()
        assert await bench.run("p") == before
        await bench.host.settle()
        assert await bench.run("p") == word


async def test_an_order_to_load_it_takes_it_as_it_is(bench: Bench) -> None:
    (folder,) = await start(bench, "p")
    assert bench.host is not None
    (folder / "plugin.py").write_text(says("new"))
    await bench.host.reload("p")
    assert await bench.run("p") == "new"


async def test_a_folder_that_goes_away_while_it_is_to_be_looked_at_again_is_let_go(bench: Bench) -> None:
    (folder,) = await start(bench, "p")
    assert bench.host is not None
    (folder / "plugin.py").write_text(says("new"))
    await bench.host.look()
    folder.rename(bench.home / "elsewhere")
    await bench.look()
    await eventually(lambda: bench.host is not None and bench.host.describe() == [])


async def test_what_is_more_than_a_plugin_may_be_is_told_once_and_holds_up_no_other(bench: Bench) -> None:
    p, q = await start(bench, "p", "q")
    with (p / "model.bin").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    (q / "plugin.py").write_text(says("new"))
    for _ in range(3):
        await bench.look()
    assert [await bench.run(name) for name in "pq"] == ["old", "new"]
    error = bench.plugin("p")["last_error"]
    assert (error.file, "more than 1 GiB" in error.message, bench.plugin("p")["state"]) == (
        "p",
        True,
        "ready",
    )
    assert len(bench.book.lines(event="plugin_refused")) == 1
    (p / "model.bin").unlink()
    await bench.look()
    assert bench.plugin("p")["last_error"] is None
    assert bench.plugin("p")["reloads"] == 0


async def test_what_cannot_be_read_is_told_once_and_holds_up_no_other(bench: Bench) -> None:
    p, q = await start(bench, "p", "q")
    (p / "words.txt").symlink_to("/proc/self/mem")  # a file that gives an error to whoever reads it
    (q / "plugin.py").write_text(says("new"))
    for _ in range(3):
        await bench.look()
    assert [await bench.run(name) for name in "pq"] == ["old", "new"]
    assert "Input/output error" in bench.plugin("p")["last_error"].message
    assert len(bench.book.lines(event="plugin_refused")) == 1
    (p / "words.txt").unlink()
    (p / "words.txt").write_text("词")
    await bench.look()
    assert (bench.plugin("p")["last_error"], bench.plugin("p")["reloads"]) == (None, 1)


async def test_folders_that_take_long_to_be_read_hold_up_no_other_and_are_tried_when_they_have_been(
    bench: Bench,
) -> None:
    go, reading = threading.Event(), set[str]()

    def check(plugin: Plugin) -> None:
        if plugin.origin.name.startswith("slow") and plugin.manifest.version == "2":
            reading.add(plugin.manifest.name)
            assert go.wait(30)

    folders = [bench.write(name, says("old")) for name in ("slow1", "slow2", "quick")]
    host = bench.load(check)
    host.start()
    try:
        for folder in folders:
            (folder / "plugin.py").write_text(says("new"))
            manifest = json.loads((folder / "manifest.json").read_text())
            (folder / "manifest.json").write_text(json.dumps(manifest | {"version": "2"}))
        await host.look()
        await eventually(lambda: bench.plugin("quick")["reloads"] == 1)
        assert reading == {"slow1", "slow2"}
        assert [await bench.run(folder.name) for folder in folders] == ["old", "old", "new"]
        for word in ("newer", "newest"):  # one reading of it goes on, and one more follows
            (folders[0] / "plugin.py").write_text(says(word))
            await host.look(frozenset({folders[0]}))
    finally:
        go.set()
    await host.settle()
    assert [await bench.run(folder.name) for folder in folders] == ["newest", "new", "new"]
    assert [bench.plugin(folder.name)["reloads"] for folder in folders] == [1, 1, 1]


async def test_no_more_than_a_few_folders_are_read_at_a_time(bench: Bench) -> None:
    names = [f"p{number}" for number in range(10)]
    under_way, most, lock = 0, 0, threading.Lock()

    def check(_plugin: Plugin) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.02)
        with lock:
            under_way -= 1

    host = bench.load(check)
    for name in names:
        bench.write(name, says("here"), workers={"min": 0, "max": 1})
    await bench.look()
    assert sorted(row["name"] for row in host.describe()) == names
    assert 1 < most <= 4
