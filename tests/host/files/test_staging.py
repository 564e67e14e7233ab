from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes.errors import ConfigError
from hermes.host.files.fingerprint import MOST_BYTES, content_hash
from hermes.host.files.staging import ChangedMeanwhile, Staging
from tests.support.disk import no_room
from tests.support.waiting import until

NAME = "disk-usage"


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    staging = Staging(tmp_path / "state" / "staged")
    assert staging.open() == []
    return staging


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins" / NAME
    (folder / "lib").mkdir(parents=True)
    (folder / "manifest.json").write_text('{"name": "磁盘"}')
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o750)
    (folder / "lib" / "词典.txt").write_text("词典")
    return folder


def left(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "state" / "staged").rglob("*") if path.parent.name != "staged"]


@contextmanager
def meanwhile(work: Callable[[int], object]) -> Iterator[None]:
    """Do `work` over and over in a thread, with a number that counts up."""
    over, begun = threading.Event(), threading.Event()

    def run() -> None:
        number = 0
        while not over.is_set():
            work(number)
            begun.set()
            number += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert begun.wait(10)
        yield
    finally:
        over.set()
        thread.join()


def test_a_copy_has_the_content_the_hash_the_modes_and_the_times(
    staging: Staging, plugin: Path, tmp_path: Path
) -> None:
    os.utime(plugin / "run.sh", ns=(10**18, 10**18 + 123_456_789))
    staged = staging.copy(plugin, name=NAME)
    assert staged.hash == content_hash(plugin) == content_hash(staged.path)
    assert staged.path.parent == tmp_path / "state" / "staged" / NAME
    assert staged.path.name.startswith(f"{staged.hash}-")
    assert (staged.path / "lib" / "词典.txt").read_text() == "词典"
    status = (staged.path / "run.sh").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o750, 10**18 + 123_456_789)


def test_every_copy_has_a_place_of_its_own(staging: Staging, plugin: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        copies = list(threads.map(lambda _: staging.copy(plugin, name=NAME), range(24)))
    assert len({copy.path for copy in copies}) == 24
    assert {content_hash(copy.path) for copy in copies} == {content_hash(plugin)}


def test_links_become_what_they_lead_to(staging: Staging, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "a.py").write_text("A = 1")
    (plugin / "shared").symlink_to(tmp_path / "shared")
    (plugin / "again.py").symlink_to("shared/a.py")
    copy = staging.copy(plugin, name=NAME).path
    shutil.rmtree(tmp_path / "shared")
    assert (copy / "shared" / "a.py").read_text() == (copy / "again.py").read_text() == "A = 1"
    assert not [path for path in copy.rglob("*") if path.is_symlink()]


def test_what_does_not_belong_to_the_plugin_is_not_copied(staging: Staging, plugin: Path) -> None:
    for name in (".git/HEAD", "__pycache__/a.pyc", "run.log", "run.sh~"):
        (plugin / name).parent.mkdir(exist_ok=True)
        (plugin / name).touch()
    copy = staging.copy(plugin, name=NAME).path
    assert sorted(path.name for path in copy.iterdir()) == ["lib", "manifest.json", "run.sh"]


def test_a_copied_file_has_no_more_rights_than_modes_that_are_meant_for_files(
    staging: Staging, plugin: Path
) -> None:
    (plugin / "run.sh").chmod(0o4755)
    (plugin / "manifest.json").chmod(0o400)
    copy = staging.copy(plugin, name=NAME).path
    assert stat.S_IMODE((copy / "run.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((copy / "manifest.json").stat().st_mode) == 0o400


def test_only_this_user_can_look_into_the_copies(staging: Staging, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "state" / "staged").stat().st_mode) == 0o700


def test_a_folder_that_is_written_to_while_it_is_copied_is_told_and_leaves_nothing(
    staging: Staging, plugin: Path, tmp_path: Path
) -> None:
    for number in range(100):
        (plugin / "lib" / f"{number}.py").touch()

    def save(number: int) -> None:
        (plugin / "saved.tmp").write_text(str(number))
        (plugin / "saved.tmp").rename(plugin / "lib" / "50.py")

    def copy() -> bool:
        try:
            staging.remove(staging.copy(plugin, name=NAME).path)
        except ChangedMeanwhile as error:
            return str(plugin) in str(error)
        return False

    with meanwhile(save):
        assert until(copy)
    assert left(tmp_path) == []
    assert staging.copy(plugin, name=NAME).hash == content_hash(plugin)


def test_files_that_come_and_go_while_they_are_copied_make_no_half_copy(
    staging: Staging, plugin: Path, tmp_path: Path
) -> None:
    def swap(number: int) -> None:
        shutil.rmtree(plugin / "lib")
        (plugin / "lib").mkdir()
        for name in range(30):
            (plugin / "lib" / f"{name}.py").write_text(str(number))

    changed = 0
    with meanwhile(swap):
        while changed < 20:
            try:
                copy = staging.copy(plugin, name=NAME).path
            except ChangedMeanwhile:
                changed += 1
            else:
                staging.remove(copy)
    assert left(tmp_path) == []


def test_a_folder_that_is_gone_has_changed(staging: Staging, plugin: Path, tmp_path: Path) -> None:
    shutil.rmtree(plugin)
    with pytest.raises(ChangedMeanwhile):
        staging.copy(plugin, name=NAME)
    assert left(tmp_path) == []


def test_a_full_disk_is_an_error_that_leaves_nothing(staging: Staging, plugin: Path, tmp_path: Path) -> None:
    (plugin / "zz").write_bytes(b"x" * 100_000)
    (tmp_path / "largest").mkdir()
    (tmp_path / "largest" / "file").write_bytes(b"x" * 50_000)
    with no_room(tmp_path / "largest"), pytest.raises(OSError, match="File too large"):
        staging.copy(plugin, name=NAME)
    assert left(tmp_path) == []
    assert staging.copy(plugin, name=NAME).hash == content_hash(plugin)


def test_a_plugin_that_is_too_large_is_refused_and_leaves_nothing(
    staging: Staging, plugin: Path, tmp_path: Path
) -> None:
    with (plugin / "large").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ConfigError, match="more than 1 GiB"):
        staging.copy(plugin, name=NAME)
    assert left(tmp_path) == []


def test_leftovers_of_earlier_processes_are_removed_at_the_opening(
    staging: Staging, plugin: Path, tmp_path: Path
) -> None:
    staged = staging.copy(plugin, name=NAME)
    root = tmp_path / "state" / "staged"
    (root / "stray").write_text("x")
    (root / "link").symlink_to(plugin)
    (staged.path / "link").symlink_to(plugin)
    root.chmod(0o755)
    assert Staging(root).open() == []
    assert list(root.iterdir()) == []
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert content_hash(plugin) == staged.hash


def test_a_copy_is_removed_with_what_was_written_there_and_nothing_else(
    staging: Staging, plugin: Path, tmp_path: Path
) -> None:
    one, other = (staging.copy(plugin, name=NAME) for _ in range(2))
    (one.path / "__pycache__").mkdir()
    (one.path / "__pycache__" / "a.pyc").touch()
    (one.path / "out").symlink_to(plugin)
    staging.remove(one.path)
    staging.remove(one.path)
    assert not one.path.exists()
    assert content_hash(other.path) == content_hash(plugin) == other.hash


def test_a_copy_whose_plugin_took_all_permissions_away_is_removed(tmp_path: Path) -> None:
    code = """if True:
        import sys
        from pathlib import Path
        from hermes.host.files.staging import Staging
        staging, source = Staging(Path(sys.argv[1])), Path(sys.argv[2])
        staging.open()
        copy = staging.copy(source, name="a").path
        (copy / "deep" / "er").mkdir(parents=True)
        for name in ("deep/er/file", "file"):
            (copy / name).touch()
            (copy / name).chmod(0)
        for name in ("deep/er", "deep", ""):
            (copy / name).chmod(0o000 if name else 0o555)
        try:
            (copy / "new").touch()
        except PermissionError:
            print("locked")
        staging.remove(copy)
        print("there" if copy.exists() else "removed")
    """
    source = tmp_path / "a"
    source.mkdir()
    # For who may do everything there are no permissions to take away.
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*drop, sys.executable, "-c", code, str(tmp_path / "staged"), str(source)]
    told = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (told.stdout.split(), told.stderr) == (["locked", "removed"], "")


def test_folders_too_deep_to_be_removed_are_told(staging: Staging, plugin: Path, tmp_path: Path) -> None:
    copy = staging.copy(plugin, name=NAME).path
    deep = "/".join(["d"] * 1900)
    subprocess.run(["mkdir", "-p", deep], cwd=copy, check=True)
    try:
        with pytest.raises(OSError, match="too deep"):
            staging.remove(copy)
        assert "too deep" in str(Staging(tmp_path / "state" / "staged").open()[0])
    finally:
        subprocess.run(["rm", "-rf", copy], check=True)  # pytest could not


@pytest.mark.parametrize("place", [".", "..", "a", "a/../b", "../../plugins/x", "a/b/c"])
def test_nothing_but_a_copy_can_be_removed(staging: Staging, tmp_path: Path, place: str) -> None:
    with pytest.raises(ValueError, match="not the place of a copy"):
        staging.remove(tmp_path / "state" / "staged" / place)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "../x", ""])
def test_a_name_that_leads_out_makes_no_copy(staging: Staging, plugin: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not the place of a copy"):
        staging.copy(plugin, name=name)
