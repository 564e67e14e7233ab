"""How the watcher follows links and folders that are swapped, removed, or moved, and that come back."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.logbook import Logbook
from tests.support.watching import Watching


@pytest.fixture
async def watching(tmp_path: Path, book: Logbook) -> AsyncIterator[Watching]:
    watching = Watching(tmp_path, book)
    yield watching
    await watching.stop()


async def test_a_swap_of_data_as_of_a_mounted_config_map_is_everything_once(watching: Watching) -> None:
    a = watching.plugins / "a"
    shutil.rmtree(a)
    for version in ("..v1", "..v2"):
        (a / version).mkdir(parents=True)
        (a / version / "manifest.json").write_text(version)
    (a / "..data").symlink_to("..v1")
    (a / "manifest.json").symlink_to("..data/manifest.json")
    await watching.start(debounce=0.5)
    (a / "..data_tmp").symlink_to("..v2")
    os.replace(a / "..data_tmp", a / "..data")
    shutil.rmtree(a / "..v1")
    assert await watching.tick() is None
    assert (a / "manifest.json").read_text() == "..v2"
    assert await watching.rest() == []


async def test_plugins_behind_a_swapped_link_in_the_folder_are_followed(watching: Watching) -> None:
    for version in ("..v1", "..v2"):
        (watching.plugins / version / "c").mkdir(parents=True)
    (watching.plugins / "..data").symlink_to("..v1")
    (watching.plugins / "c").symlink_to("..data/c")
    await watching.start()
    (watching.plugins / "..data_tmp").symlink_to("..v2")
    os.replace(watching.plugins / "..data_tmp", watching.plugins / "..data")
    assert await watching.tick() is None
    (watching.plugins / "..v2" / "c" / "plugin.py").touch()
    # What happens in a folder with two dots may be a swap under way.
    assert await watching.tick() is None


async def test_a_plugin_that_is_a_link_is_watched_where_it_leads_to(
    watching: Watching, tmp_path: Path
) -> None:
    for version in ("v1", "v2"):
        (tmp_path / version).mkdir()
    link = watching.plugins / "c"
    link.symlink_to(tmp_path / "v1")
    await watching.start()
    (tmp_path / "v1" / "plugin.py").touch()
    assert await watching.tick() == watching.of("c")
    link.with_name("new").symlink_to(tmp_path / "v2")
    os.replace(link.with_name("new"), link)
    assert await watching.tick() == watching.of("c", "new")
    (tmp_path / "v1" / "plugin.py").write_text("1")
    (tmp_path / "v2" / "plugin.py").touch()
    assert await watching.tick() == watching.of("c")
    assert await watching.rest() == []
    (tmp_path / "v1" / "plugin.py").write_text("2")
    assert await watching.rest() == []


async def test_a_plugin_that_becomes_a_link_is_watched_from_then_on(
    watching: Watching, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    await watching.start()
    (watching.plugins / "c").symlink_to(tmp_path / "real")
    assert await watching.tick() == watching.of("c")
    (tmp_path / "real" / "plugin.py").touch()
    assert await watching.tick() == watching.of("c")
    shutil.rmtree(tmp_path / "real")
    assert await watching.tick() is None


async def test_a_folder_that_is_removed_and_comes_back_is_watched_again(watching: Watching) -> None:
    await watching.start()
    for _ in range(2):
        shutil.rmtree(watching.plugins)
        assert None in await watching.ticks_until(None)
        (watching.plugins / "a").mkdir(parents=True)
        assert await watching.tick() is None
        watching.save("print(1)\n")
        assert await watching.tick() == watching.of("a")
        assert await watching.rest() == []


async def test_a_folder_that_is_moved_away_is_not_taken_for_the_one_that_comes(watching: Watching) -> None:
    await watching.start()
    old = watching.plugins.with_name("old")
    watching.plugins.rename(old)
    assert await watching.tick() is None
    (watching.plugins / "b").mkdir(parents=True)
    assert await watching.tick() is None
    (old / "a" / "plugin.py").write_text("nobody's\n")
    watching.save("1", "b/plugin.py")
    assert await watching.tick() == watching.of("b")


async def test_a_plugins_folder_that_is_a_link_may_lead_elsewhere_one_day(
    watching: Watching, tmp_path: Path
) -> None:
    for version in ("v1", "v2"):
        (tmp_path / version / "a").mkdir(parents=True)
    shutil.rmtree(watching.plugins)
    watching.plugins.symlink_to(tmp_path / "v1")
    await watching.start()
    watching.save("1")
    assert await watching.tick() == watching.of("a")
    watching.plugins.with_name("new").symlink_to(tmp_path / "v2")
    os.replace(watching.plugins.with_name("new"), watching.plugins)
    assert await watching.tick() is None
    (tmp_path / "v1" / "a" / "plugin.py").write_text("2")
    watching.save("3", "a/other.py")
    assert await watching.tick() == watching.of("a")
    assert await watching.rest() == []


async def test_a_folder_that_is_not_there_yet_is_watched_when_it_comes(watching: Watching) -> None:
    shutil.rmtree(watching.plugins.parent)
    await watching.start(sweep=0.2)
    assert await watching.tick() is None
    (watching.plugins / "a").mkdir(parents=True)
    assert await watching.tick() is None
    watching.save("1")
    await watching.ticks_until(watching.of("a"))


async def test_a_file_that_is_a_link_is_told_when_either_side_changes(
    watching: Watching, tmp_path: Path
) -> None:
    (tmp_path / "..v1").mkdir()
    (tmp_path / "..v1" / "hermes.yaml").touch()
    watching.config.unlink()
    (watching.config.parent / "..data").symlink_to(tmp_path / "..v1")
    watching.config.symlink_to("..data/hermes.yaml")
    await watching.start(files=[watching.config])
    (tmp_path / "..v1" / "hermes.yaml").write_text("limits: {}\n")
    assert await watching.tick() == frozenset({watching.config})
    (watching.config.parent / "..data_tmp").symlink_to(tmp_path / "..v1")
    os.replace(watching.config.parent / "..data_tmp", watching.config.parent / "..data")
    assert await watching.tick() == frozenset({watching.config})
