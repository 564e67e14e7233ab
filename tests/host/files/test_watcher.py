from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hermes.host.files.fingerprint import content_hash
from hermes.host.files.watcher import WatchSettings
from tests.support.logbook import Logbook
from tests.support.watching import Watching


@pytest.fixture
async def watching(tmp_path: Path, book: Logbook) -> AsyncIterator[Watching]:
    watching = Watching(tmp_path, book)
    yield watching
    await watching.stop()


def vim(file: Path) -> None:
    """Save as vim does: try a name, move the old file aside, write a new one, remove the old one."""
    swap = file.with_name(f".{file.name}.swp")
    swap.write_bytes(b"b0VIM")
    (file.parent / "4913").touch()
    (file.parent / "4913").unlink()
    backup = file.with_name(file.name + "~")
    file.rename(backup)
    file.write_text("print('vim')\n")
    backup.unlink()
    swap.unlink()


def sed(file: Path) -> None:
    subprocess.run(["sed", "-i", "s/你好/再见/", file], check=True)


def replace(file: Path) -> None:
    new = file.with_name(file.name + ".tmp.12345")
    new.write_text("print('replaced')\n")
    os.replace(new, file)


def truncate(file: Path) -> None:
    with file.open("r+") as stream:
        stream.truncate(0)
        stream.flush()
        stream.write("print('truncated')\n")


def from_elsewhere(file: Path) -> None:
    new = file.parent.parent.parent / "new.py"
    new.write_text("print('moved here')\n")
    new.rename(file)


def chmod(file: Path) -> None:
    file.chmod(0o755)


def remove(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize("save", [vim, sed, replace, truncate, from_elsewhere, chmod, remove])
async def test_a_save_is_told_once_however_it_is_done(
    watching: Watching, save: Callable[[Path], None]
) -> None:
    await watching.start()
    save(watching.plugins / "a" / "plugin.py")
    assert await watching.tick() == watching.of("a")
    assert await watching.rest() == []


async def test_ten_saves_in_a_row_are_told_once(watching: Watching) -> None:
    await watching.start(debounce=0.5)
    for number in range(10):
        watching.save(f"print({number})\n")
        await asyncio.sleep(0.02)
    assert await watching.tick() == watching.of("a")
    assert await watching.rest() == []


async def test_a_folder_that_is_copied_in_is_told_once_when_it_is_whole(
    watching: Watching, tmp_path: Path
) -> None:
    source = tmp_path / "新插件"
    for number in range(30):
        (source / f"lib{number % 3}").mkdir(parents=True, exist_ok=True)
        (source / f"lib{number % 3}" / f"{number}.py").write_text("x = 1\n" * number)
    await watching.start()
    shutil.copytree(source, watching.plugins / "新插件")
    assert await watching.tick() == watching.of("新插件")
    assert content_hash(watching.plugins / "新插件") == content_hash(source)
    assert await watching.rest() == []


async def test_changes_of_several_plugins_are_told_together(watching: Watching) -> None:
    await watching.start(debounce=0.5)
    watching.save("1", "a/plugin.py")
    watching.save("{ }", "b/manifest.json")
    (watching.plugins / "c").mkdir()
    assert await watching.tick() == watching.of("a", "b", "c")


async def test_a_renamed_plugin_is_told_under_both_names_and_followed(watching: Watching) -> None:
    await watching.start()
    (watching.plugins / "a").rename(watching.plugins / "改名")
    assert await watching.tick() == watching.of("a", "改名")
    watching.save("1", "改名/plugin.py")
    assert await watching.tick() == watching.of("改名")


async def test_a_removed_plugin_is_told(watching: Watching) -> None:
    await watching.start(debounce=0.5)
    shutil.rmtree(watching.plugins / "a")
    assert await watching.tick() == watching.of("a")


async def test_a_plugin_that_is_moved_out_is_told(watching: Watching, tmp_path: Path) -> None:
    await watching.start()
    (watching.plugins / "a").rename(tmp_path / "a")
    assert await watching.tick() == watching.of("a")


async def test_a_checkout_by_git_is_told_once_per_plugin_that_it_changes(watching: Watching) -> None:
    def git(*words: str) -> None:
        names = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *names, *words], cwd=watching.plugins, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    git("checkout", "-q", "-b", "two")
    watching.save("print('two')\n")
    (watching.plugins / "a" / "new.py").write_text("x = 2\n")
    git("add", ".")
    git("commit", "-q", "-m", "two")
    await watching.start(debounce=0.5)
    git("checkout", "-q", "main")
    assert await watching.tick() == watching.of("a")
    git("status")
    assert await watching.rest() == []


async def test_what_does_not_count_and_what_only_reads_is_not_told(watching: Watching) -> None:
    await watching.start()
    a = watching.plugins / "a"
    (a / "__pycache__").mkdir()
    (a / "__pycache__" / "plugin.cpython-311.pyc").write_bytes(b"x")
    for name in (".plugin.py.swp", "plugin.py~", "run.log", "data.tmp", "..env.swp"):
        (a / name).write_text("x")
        (a / name).unlink()
    (watching.plugins / ".git").mkdir()
    (watching.plugins / ".git" / "index").touch()
    assert content_hash(a)
    os.listdir(a)
    assert await watching.rest() == []


@pytest.mark.parametrize("save", [vim, sed, replace, truncate])
async def test_a_file_is_told_however_it_is_saved_and_its_neighbours_are_not(
    watching: Watching, save: Callable[[Path], None]
) -> None:
    watching.config.write_text("# 你好\n")
    await watching.start(files=[watching.config])
    (watching.config.parent / "hermes.log").write_text("x")
    (watching.config.parent / ".hermes").mkdir()
    save(watching.config)
    assert await watching.tick() == frozenset({watching.config})
    assert await watching.rest() == []


async def test_saves_without_an_end_are_told_all_the_same(watching: Watching) -> None:
    await watching.start(debounce=0.1)

    async def save_on() -> None:
        while True:
            watching.save("1")
            await asyncio.sleep(0.02)

    saving = asyncio.create_task(save_on())
    assert await watching.tick() == watching.of("a")
    assert not saving.done()
    saving.cancel()


async def test_what_happens_while_nobody_waits_is_kept(watching: Watching) -> None:
    await watching.start()
    watching.save("1", "a/plugin.py")
    assert await watching.tick() == watching.of("a")
    watching.save("1", "b/plugin.py")
    waiting = asyncio.create_task(watching.tick())
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert await watching.tick() == watching.of("b")


async def test_very_many_events_may_have_been_anything(watching: Watching) -> None:
    await watching.start(debounce=0.5)
    for number in range(600):
        (watching.plugins / "a" / f"{number}.py").write_text("x")
    assert None in await watching.ticks_until(None)


async def test_everything_is_told_every_now_and_then(watching: Watching) -> None:
    await watching.start(sweep=0.05)
    assert [await watching.tick() for _ in range(3)] == [None, None, None]


async def test_without_watching_nothing_is_told(watching: Watching) -> None:
    watcher = await watching.start(WatchSettings(watch="off", debounce=0.01, sweep=0.01))
    watching.save("1")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(watcher.wait(), 0.3)
    assert watcher.mode == "off"
    assert [line["mode"] for line in watching.book.lines(event="watching")] == ["off"]


async def test_no_thread_and_no_descriptor_is_left(watching: Watching, tmp_path: Path) -> None:
    await asyncio.to_thread(int)  # the loop's own pool
    before = ({*threading.enumerate()}, len(os.listdir("/proc/self/fd")))
    (watching.plugins / "c").symlink_to(tmp_path)
    for _ in range(3):
        await watching.start(files=[watching.config])
        watching.save("1")
        await watching.tick()
        watching.save("2")
        await watching.stop()
    left = {thread for thread in threading.enumerate() if "asyncio" not in thread.name}
    assert (left - before[0], len(os.listdir("/proc/self/fd"))) == (set(), before[1])


async def test_it_tells_that_it_watches(watching: Watching) -> None:
    watcher = await watching.start()
    modes = [watcher.mode]
    (line,) = watching.book.lines(event="watching")
    assert (line["level"], line["mode"], line["folder"]) == ("info", "events", str(watching.plugins))
    await watching.stop()
    modes.append(watcher.mode)
    assert modes == ["events", "off"]
