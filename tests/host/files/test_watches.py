"""What the watcher does where the system tells of no changes, or not of all: real observers, that fail in one point."""

from __future__ import annotations

import asyncio
import errno
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from watchdog.observers.api import BaseObserver, EventEmitter, ObservedWatch
from watchdog.observers.inotify import InotifyObserver
from watchdog.observers.polling import PollingObserver

from hermes.host.files.watcher import WatchSettings
from hermes.host.files.watches import System
from tests.support.logbook import Logbook
from tests.support.watching import QUICK, Watching


@pytest.fixture
async def watching(tmp_path: Path, book: Logbook) -> AsyncIterator[Watching]:
    watching = Watching(tmp_path, book)
    yield watching
    await watching.stop()


class Limited(InotifyObserver):
    """Has room for three watches."""

    def schedule(self, *args: Any, **options: Any) -> ObservedWatch:
        if len(self.emitters) == 3:
            raise OSError(errno.ENOSPC, "inotify watch limit reached")
        return super().schedule(*args, **options)


class _Deaf(EventEmitter):
    def queue_events(self, timeout: float) -> None:
        self.stopped_event.wait(timeout)


def deaf() -> BaseObserver:
    return BaseObserver(_Deaf)


def full() -> BaseObserver:
    raise OSError(errno.EMFILE, "inotify instance limit reached")


def quick() -> BaseObserver:
    return PollingObserver(timeout=0.05)


def mountinfo(tmp_path: Path, place: Path, kind: str) -> Path:
    file = tmp_path / "mountinfo"
    file.write_text(f"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 0:1 / {place} rw - {kind} host rw\n")
    return file


async def changes_are_seen(watching: Watching) -> None:
    watching.save("print('seen')\n")
    assert watching.of("a") in await watching.ticks_until(watching.of("a"))


def warning(watching: Watching) -> str:
    (line,) = watching.book.lines(event="watching_by_polling")
    assert (line["level"], line["folder"]) == ("warning", str(watching.plugins))
    assert watching.watcher.mode == "polling"
    return str(line["reason"])


async def test_without_an_instance_it_polls_and_names_the_setting(watching: Watching) -> None:
    await watching.start(system=System(events=full, polling=quick))
    assert "fs.inotify.max_user_instances" in warning(watching)
    assert watching.book.lines(event="watching") == []
    await changes_are_seen(watching)


async def test_without_room_for_watches_it_polls_and_names_the_setting(
    watching: Watching, tmp_path: Path
) -> None:
    for name in ("c", "d", "e"):
        (tmp_path / name).mkdir()
        (watching.plugins / name).symlink_to(tmp_path / name)
    await watching.start(system=System(events=Limited, polling=quick))
    assert "fs.inotify.max_user_watches" in warning(watching)
    await changes_are_seen(watching)


async def test_when_the_room_gets_short_later_it_looks_at_everything_and_polls(
    watching: Watching, tmp_path: Path
) -> None:
    watcher = await watching.start(system=System(events=Limited, polling=quick))
    assert watcher.mode == "events"
    for name in ("c", "d"):
        (tmp_path / name).mkdir()
        (watching.plugins / name).symlink_to(tmp_path / name)
    assert await watching.tick() is None
    assert "fs.inotify.max_user_watches" in warning(watching)
    (tmp_path / "d" / "plugin.py").touch()
    await watching.ticks_until(watching.of("d"))


@pytest.mark.parametrize(
    ("setting", "limit"),
    [("max_inotify_watches", 5), ("max_inotify_watches", 20), ("max_inotify_instances", 0)],
)
def test_the_systems_own_limits_are_noticed_also_by_folders_that_come_later(
    tmp_path: Path, setting: str, limit: int
) -> None:
    script = f"""if True:
        import asyncio
        from pathlib import Path
        from tests.support.logbook import Logbook
        from tests.support.watching import Watching

        async def main():
            with Logbook() as book:
                watching = Watching(Path({str(tmp_path)!r}), book)
                await watching.start()
                for number in range(30):
                    (watching.plugins / "a" / str(number)).mkdir()
                await watching.tick()
                print(watching.watcher.mode, book.lines()[-1]["reason"])
                await watching.stop()

        asyncio.run(main())
    """
    # In a namespace of its own, a process may set limits for itself.
    shell = f'echo {limit} > /proc/sys/user/{setting} && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", shell, "sh"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system lets nobody make a namespace")
    told = subprocess.run(
        [*command, sys.executable, "-c", script], capture_output=True, check=False, text=True
    )
    assert (told.stdout.split()[:1], told.stderr) == (["polling"], "")
    assert f"fs.inotify.{setting.replace('inotify_', 'user_')}" in told.stdout


async def test_on_a_silent_file_system_it_polls_and_tells_which(watching: Watching, tmp_path: Path) -> None:
    mounts = mountinfo(tmp_path, watching.plugins, "9p")
    await watching.start(system=System(polling=quick, mountinfo=mounts))
    assert "(9p)" in warning(watching)
    assert str(watching.plugins) in warning(watching)
    await changes_are_seen(watching)


async def test_one_linked_plugin_on_a_silent_file_system_is_enough(
    watching: Watching, tmp_path: Path
) -> None:
    (tmp_path / "share" / "c").mkdir(parents=True)
    (watching.plugins / "c").symlink_to(tmp_path / "share" / "c")
    mounts = mountinfo(tmp_path, tmp_path / "share", "nfs4")
    await watching.start(system=System(polling=quick, mountinfo=mounts))
    assert "(nfs4)" in warning(watching)
    (tmp_path / "share" / "c" / "plugin.py").touch()
    assert await watching.tick() == watching.of("c")


async def test_a_file_that_is_mounted_by_itself_is_looked_at_where_no_event_tells(
    watching: Watching, tmp_path: Path
) -> None:
    mounts = mountinfo(tmp_path, watching.config, "ext4")
    await watching.start(files=[watching.config], system=System(events=deaf, mountinfo=mounts))
    (line,) = watching.book.lines(event="watching")
    assert (line["mode"], line["polled"]) == ("events", [str(watching.config)])
    watching.config.write_text("plugins: {}\n# 改了\n")
    assert await watching.tick() == frozenset({watching.config})


async def test_events_that_never_come_are_made_up_for_by_looking_at_everything(watching: Watching) -> None:
    watcher = await watching.start(system=System(events=deaf), sweep=0.1)
    watching.save("1")
    assert [await watching.tick() for _ in range(2)] == [None, None]
    assert watcher.mode == "events"


async def test_polling_that_is_asked_for_is_no_reason_to_warn(watching: Watching) -> None:
    watcher = await watching.start(
        WatchSettings("polling", 0.05, 600), system=System(events=full, polling=quick)
    )
    assert watcher.mode == "polling"
    (line,) = watching.book.lines()
    assert (line["event"], line["level"], line["mode"]) == ("watching", "info", "polling")
    await changes_are_seen(watching)


async def test_polling_tells_entries_and_files_and_follows_what_comes_back(
    watching: Watching, tmp_path: Path
) -> None:
    (tmp_path / "c").mkdir()
    (watching.plugins / "c").symlink_to(tmp_path / "c")
    await watching.start(
        WatchSettings("polling", 0.1, 600), files=[watching.config], system=System(polling=quick)
    )
    (tmp_path / "c" / "plugin.py").touch()
    assert await watching.tick() == watching.of("c")
    watching.config.write_text("# saved\n")
    assert await watching.tick() == frozenset({watching.config})
    shutil.rmtree(watching.plugins)
    await watching.ticks_until(None)
    (watching.plugins / "a").mkdir(parents=True)
    await watching.ticks_until(None)
    watching.save("1")
    await watching.ticks_until(watching.of("a"))


async def test_polling_of_the_daemon_leaves_out_what_does_not_count_and_survives_links_in_circles(
    watching: Watching,
) -> None:
    a = watching.plugins / "a"
    (a / ".git").mkdir()
    for name in ("one", "two", "three"):
        (a / name).mkdir()
        for other in ("one", "two", "three"):
            (a / name / other).symlink_to(f"../{other}")
    await watching.start(WatchSettings("polling", 0.1, 600))
    (a / ".git" / "index").touch()
    (a / "__pycache__").mkdir()
    (a / ".plugin.py.swp").touch()
    watching.save("1", "b/plugin.py")
    assert await watching.tick() == watching.of("b")
    a.joinpath("..data").symlink_to("one")
    assert await watching.tick() is None


async def test_a_folder_that_nobody_may_read_is_watched_when_it_may_be(watching: Watching) -> None:
    shutil.rmtree(watching.plugins)
    watching.plugins.write_text("a file, by mistake")
    watcher = await watching.start(QUICK)
    assert watcher.mode == "events"
    watching.plugins.unlink()
    (watching.plugins / "a").mkdir(parents=True)
    assert await watching.tick() is None
    watching.save("1")
    assert await watching.tick() == watching.of("a")


async def test_watching_ends_while_the_watches_are_renewed_for_somebody_who_waits(watching: Watching) -> None:
    watcher = await watching.start(sweep=0)
    waiting = asyncio.create_task(watcher.wait())
    await asyncio.sleep(0)
    await watcher.stop()
    waiting.cancel()
    (told,) = await asyncio.gather(waiting, return_exceptions=True)
    assert told is None or isinstance(told, asyncio.CancelledError)
    assert watcher.mode == "off"
