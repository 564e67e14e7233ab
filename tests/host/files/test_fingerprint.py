from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.errors import ConfigError
from hermes.host.files import fingerprint
from hermes.host.files.fingerprint import content_hash, counts, plugin_files

COUNT = [
    "plugin.py",
    "manifest.json",
    "run.sh",
    "词典.json",
    "catalog",
    "log",
    "tmp.py",
    "4913.py",
    "uv.lock",
    "#1.md",
    "node_modules",
]
DO_NOT_COUNT = [
    *(".git", ".env", "..data", ".plugin.py.swp", ".DS_Store", ".#plugin.py"),
    *("__pycache__", "plugin.pyc", "plugin.pyo", "__MACOSX"),
    *(
        "plugin.py~",
        "#plugin.py#",
        "plugin.swp",
        "plugin.swx",
        "4913",
        "plugin.py___jb_tmp___",
        "plugin.py.bak",
    ),
    *("data.tmp", "data.TEMP", "数据.part", "model.crdownload", "run.log", "RUN.LOG", "run.pid", "run.sock"),
]


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    folder = tmp_path / "磁盘"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    (folder / "plugin.py").write_text("print('你好')")
    return folder


def names(folder: Path) -> list[str]:
    return [name for name, _ in plugin_files(folder)]


@pytest.mark.parametrize("name", COUNT)
def test_what_a_plugin_is_made_of_counts(name: str) -> None:
    assert counts(name)


@pytest.mark.parametrize("name", DO_NOT_COUNT)
def test_what_tools_and_programs_leave_behind_does_not_count(name: str) -> None:
    assert not counts(name)


def test_files_are_listed_by_name_whatever_the_order_on_disk(plugin: Path) -> None:
    for name in ("z.txt", "lib/b.py", "lib/deep/c.py", "a.txt", "lib-x.py"):
        (plugin / name).parent.mkdir(parents=True, exist_ok=True)
        (plugin / name).touch()
    assert names(plugin) == sorted(
        ["a.txt", "lib-x.py", "lib/b.py", "lib/deep/c.py", "manifest.json", "plugin.py", "z.txt"]
    )
    assert plugin_files(plugin)[0] == ("a.txt", plugin / "a.txt")


def test_what_does_not_count_is_left_out_with_all_that_is_in_it(plugin: Path) -> None:
    for name in (".git/HEAD", "__pycache__/plugin.pyc", "node_modules/.cache/x.js", "lib/x.py~", "run.log"):
        (plugin / name).parent.mkdir(parents=True, exist_ok=True)
        (plugin / name).touch()
    assert names(plugin) == ["manifest.json", "plugin.py"]


def test_links_are_followed_as_a_mounted_config_map_has_them(tmp_path: Path) -> None:
    real = tmp_path / "..2026_10_01"
    (real / "lib").mkdir(parents=True)
    (real / "manifest.json").write_text("{}")
    (real / "lib" / "词.txt").write_text("词")
    (tmp_path / "..data").symlink_to(real.name)
    (tmp_path / "manifest.json").symlink_to("..data/manifest.json")
    (tmp_path / "lib").symlink_to("..data/lib")
    assert names(tmp_path) == ["lib/词.txt", "manifest.json"]


def test_a_folder_that_contains_itself_is_entered_once(plugin: Path) -> None:
    (plugin / "lib").mkdir()
    (plugin / "lib" / "a.py").touch()
    (plugin / "lib" / "up").symlink_to("..")
    (plugin / "self").symlink_to(".")
    (plugin / "again").symlink_to("lib")
    assert names(plugin) == ["again/a.py", "lib/a.py", "manifest.json", "plugin.py"]


def test_links_that_lead_nowhere_and_what_is_no_file_are_left_out(plugin: Path) -> None:
    (plugin / "gone").symlink_to("nowhere")
    (plugin / "round").symlink_to("round")
    (plugin / "through").symlink_to("plugin.py/x")
    os.mkfifo(plugin / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(plugin / "listener"))
    assert names(plugin) == ["manifest.json", "plugin.py"]


def test_a_name_of_bytes_that_are_no_text_is_a_name(plugin: Path) -> None:
    (plugin / os.fsdecode(b"\xff.txt")).touch()
    assert [os.fsencode(name) for name in names(plugin)][-1] == b"\xff.txt"
    assert content_hash(plugin)


def test_folders_nested_deeper_than_python_may_recurse_are_refused(plugin: Path) -> None:
    deep = plugin
    for _ in range(100):
        deep /= "深"
        deep.mkdir()
    (deep / "f").touch()
    assert len(plugin_files(plugin)) == 3
    (deep / "more").mkdir()
    with pytest.raises(ConfigError, match="more than 100 folders in one another"):
        plugin_files(plugin)


def test_a_link_out_into_a_large_tree_is_refused_by_number(tmp_path: Path) -> None:
    large, plugin = tmp_path / "large", tmp_path / "plugin"
    large.mkdir()
    plugin.mkdir()
    for number in range(200):
        (large / str(number)).mkdir()
        (large / str(number) / "file").touch()
        # Links make more of what there is: every folder holds all others.
        (large / str(number) / "all").symlink_to("..")
    (plugin / "out").symlink_to(large)
    for number in range(100):
        (plugin / f"again{number}").symlink_to(large)
    with pytest.raises(ConfigError, match="more than 20,000 files") as caught:
        plugin_files(plugin)
    assert caught.value.file == str(plugin)


def test_more_than_a_plugin_may_hold_is_refused_before_it_is_read(plugin: Path) -> None:
    for name in ("a", "b"):
        with (plugin / name).open("wb") as file:
            file.truncate(fingerprint.MOST_BYTES // 2)
    with pytest.raises(ConfigError, match=r"more than 1 GiB.*data_dir"):
        content_hash(plugin)


def test_the_hash_is_sixteen_digits_and_the_same_for_a_copy_elsewhere(plugin: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    subprocess.run(["cp", "-r", plugin, copy], check=True)
    assert content_hash(copy) == content_hash(plugin) == content_hash(plugin)
    assert len(content_hash(plugin)) == 16
    assert set(content_hash(plugin)) <= set("0123456789abcdef")


def test_the_hash_of_known_files_is_known(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho 你好\n")
    (tmp_path / "run.sh").chmod(0o755)
    assert content_hash(tmp_path) == "b36a24d16f4d179f"  # on every machine


def test_every_change_that_matters_changes_the_hash(plugin: Path) -> None:
    seen = {content_hash(plugin)}

    def is_new() -> bool:
        before = len(seen)
        seen.add(content_hash(plugin))
        return len(seen) > before

    (plugin / "plugin.py").write_text("print('您好')")
    assert is_new()
    (plugin / "plugin.py").rename(plugin / "main.py")
    assert is_new()
    (plugin / "main.py").chmod(0o755)
    assert is_new()
    (plugin / "empty.txt").touch()
    assert is_new()
    (plugin / "empty.txt").write_text("print('您好')")
    (plugin / "main.py").write_text("")
    assert is_new()
    (plugin / "lib").symlink_to(plugin.parent)
    (plugin.parent / "shared.py").touch()
    assert is_new()


def test_what_does_not_count_and_when_it_was_written_leave_the_hash_alone(plugin: Path) -> None:
    before = content_hash(plugin)
    for name in ("plugin.py~", ".plugin.py.swp", "x.log", "4913"):
        (plugin / name).write_text("x")
    (plugin / "empty").mkdir()
    os.utime(plugin / "plugin.py", (0, 0))
    (plugin / "plugin.py").chmod(0o600)
    assert content_hash(plugin) == before


def test_a_file_and_a_link_to_one_like_it_are_the_same_content(plugin: Path, tmp_path: Path) -> None:
    before = content_hash(plugin)
    (plugin / "plugin.py").rename(tmp_path / "elsewhere.py")
    (plugin / "plugin.py").symlink_to(tmp_path / "elsewhere.py")
    assert content_hash(plugin) == before


def test_a_folder_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        content_hash(tmp_path / "gone")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        content_hash(tmp_path / "file")


def test_files_of_any_size_are_read_in_little_memory(plugin: Path) -> None:
    with (plugin / "large").open("wb") as file:
        file.truncate(200 << 20)
    code = (
        "import sys; from pathlib import Path; from hermes.host.files.fingerprint import content_hash\n"
        "content_hash(Path(sys.argv[1])); print(Path('/proc/self/status').read_text())"
    )
    told = subprocess.run([sys.executable, "-c", code, plugin], capture_output=True, check=True, text=True)
    # Not of getrusage, which counts what the process held that this one was forked from.
    [peak] = [line.split()[1] for line in told.stdout.splitlines() if line.startswith("VmHWM:")]
    assert int(peak) < 150_000  # KiB, with all that is imported


def test_files_are_closed_again(plugin: Path) -> None:
    for number in range(50):
        (plugin / f"{number}.py").touch()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 10, before[1]))
    try:
        assert content_hash(plugin)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
