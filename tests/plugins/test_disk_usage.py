"""disk-usage on mounts that a test lays out, and on this machine's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes.host.manifests.manifest import load_manifest, plugin_config
from hermes.host.manifests.parameters import Parameters
from tests.support.mounts import FOLDER, Machine, call

STRANGE = (
    "my disk",
    '"quoted"',
    "back\\slash",
    "中文盘",
    "two\nlines",
    "tab\there",
    "$(touch pwned)",
    "-rf",
    "100%s",
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_every_disk_is_told_in_bytes_the_fullest_first(machine: Machine) -> None:
    small = machine.mount("small", "1024 1000 600 500")
    large = machine.mount("large", "4096 3000000000 1000000000 900000000")
    told = machine.ask()
    assert told.envelope["data"]["filesystems"] == [
        {
            "mount": str(large),
            "size": 12_288_000_000_000,
            "used": 8_192_000_000_000,
            "available": 3_686_400_000_000,
            "percent": 69.0,
        },
        {"mount": str(small), "size": 1_024_000, "used": 409_600, "available": 512_000, "percent": 44.4},
    ]
    assert told.envelope["warning"] is None
    assert set(told.envelope["data"]) == set(load_manifest(FOLDER).summary.fields)


def test_the_disks_of_this_machine_add_up() -> None:
    told = call(None, config={})
    rows = told.envelope["data"]["filesystems"]
    assert "/" in told.mounts
    for row in rows:
        assert 0 <= row["used"] <= row["size"]
        assert row["available"] <= row["size"] - row["used"]
        assert 0 <= row["percent"] <= 100
    of_root = os.statvfs("/")
    root = next(row for row in rows if row["mount"] == "/")
    assert root["size"] == of_root.f_blocks * of_root.f_frsize


@pytest.mark.parametrize("name", STRANGE)
def test_a_mount_point_is_told_whatever_its_name(machine: Machine, name: str) -> None:
    folder = machine.mount(name, "1 100 0 0")
    for told in (machine.ask(), machine.ask(str(folder))):
        assert told.mounts == [str(folder)]
        assert told.envelope["warning"] == f"{folder} is 100% full."
    assert not list(machine.home.rglob("pwned"))
    assert not (FOLDER / "pwned").exists()


def test_a_name_that_is_no_utf_8_is_told_as_well_as_can_be(machine: Machine) -> None:
    machine.mount(os.fsdecode(b"caf\xe9 \xe4\xb8"))
    assert machine.ask().mounts == [f"{machine.home}/caf\ufffd \ufffd\ufffd"]


@pytest.mark.parametrize(
    ("locale", "warning", "progress"),
    [
        ("zh", "{0}/b 已用 95%，快满了。 {0}/a 已用 90.5%，快满了。", "正在查看第 3 个文件系统，共 3 个"),
        ("en", "{0}/b is 95% full. {0}/a is 90.5% full.", "Looking at file system 3 of 3"),
    ],
)
def test_a_disk_that_is_more_than_90_percent_full_is_a_warning(
    machine: Machine, locale: str, warning: str, progress: str
) -> None:
    machine.mount("a", "1 1000 95 95")
    machine.mount("b", "1 1000 50 50")
    machine.mount("c", "1 1000 100 100")
    told = machine.ask(locale=locale)
    assert [row["percent"] for row in told.envelope["data"]["filesystems"]] == [95.0, 90.5, 90.0]
    assert told.envelope["warning"] == warning.format(machine.home)
    percents = [percent for _, percent in told.progress]
    assert percents == sorted(float(percent or 0) for percent in percents)
    assert told.progress[-1] == (progress, 90)


@pytest.mark.parametrize("kind", ["proc", "sysfs", "tmpfs", "cgroup2", "overlay", "squashfs", "iso9660"])
def test_what_has_no_disk_behind_it_and_images_are_left_out(machine: Machine, kind: str) -> None:
    machine.mount("odd", "4096 10 0 0", kind=kind)
    disk = machine.mount("disk")
    assert machine.ask().mounts == [str(disk)]


def test_a_disk_that_is_mounted_twice_is_told_once_and_a_mounted_file_is_none(machine: Machine) -> None:
    file = machine.home / "hosts"
    file.touch()
    machine.list(file, device="8:1")
    first = machine.mount("first", device="8:1")
    machine.mount("second", device="8:1")
    assert machine.ask().mounts == [str(first)]


def test_a_path_is_on_the_mount_that_lies_closest(machine: Machine) -> None:
    machine.mount("")
    outer, inner = machine.mount("data"), machine.mount("data/log")
    for place, mount in (("data", outer), ("data/log", inner), ("data-2", machine.home), ("data/x", outer)):
        folder = machine.home / place
        folder.mkdir(exist_ok=True)
        (folder / "numbers").write_text("1 10 5 5\n")
        assert machine.ask(str(folder)).mounts == [str(mount)]


def test_a_path_without_a_mount_of_its_own_is_answered_by_the_disk_below_it() -> None:
    (row,) = call(str(FOLDER), config={}).envelope["data"]["filesystems"]
    assert FOLDER.is_relative_to(row["mount"])
    assert row["size"] == os.statvfs(FOLDER).f_blocks * os.statvfs(FOLDER).f_frsize


@pytest.mark.parametrize(
    "path", ["/nowhere/at/all", "/etc/passwd/x", "/" + "x" * 300, "/$(id)", "/;reboot", "/--help"]
)
@pytest.mark.parametrize("locale", ["zh", "en"])
def test_a_path_that_is_not_there_is_not_found(path: str, locale: str) -> None:
    told = call(path, config={}, locale=locale)
    assert told.code == "not_found"
    assert path in told.message
    assert told.message.isascii() == (locale == "en")


@pytest.mark.parametrize("path", ["-rf", "--version", "etc", "=x", "a=b"])
def test_a_path_is_never_an_option(path: str) -> None:
    assert call(path, config={}).code == "invalid_payload"


def test_a_path_of_the_kernel_lies_on_no_disk() -> None:
    assert call("/proc", config={}).code == "not_found"


def test_only_the_allowed_paths_may_be_asked_for_with_what_is_below_them(machine: Machine) -> None:
    data, log = machine.mount("data"), machine.mount("data/log")
    other, twin = machine.mount("other"), machine.mount("data-2")
    (data / "link").symlink_to(other)
    allowed = [str(data)]
    assert machine.ask(str(log), allowed=allowed).mounts == [str(log)]
    assert sorted(machine.ask(allowed=allowed).mounts) == [str(data), str(log)]
    refused = [other, twin, machine.home, data / "link", data / ".." / "other", machine.home / "nothing"]
    for place in refused:
        told = machine.ask(str(place), allowed=allowed, locale="zh")
        assert told.code == "upstream_denied"
        assert "plugins.disk-usage.allowed" in told.message


def test_an_allowed_folder_stands_for_the_disk_that_it_lies_on(machine: Machine) -> None:
    disk = machine.mount("disk 一")
    machine.mount("other")
    (disk / "logs").mkdir()
    assert machine.ask(allowed=[str(disk / "logs")]).mounts == [str(disk)]


def test_a_file_system_that_does_not_answer_is_named_and_the_others_are_told(machine: Machine) -> None:
    dead, disk = machine.mount("dead disk"), machine.mount("disk")
    (dead / "hangs").touch()
    told = machine.ask()
    assert told.mounts == [str(disk)]
    assert told.envelope["warning"] == f"{dead} gave no answer in time."


def test_nothing_to_look_at_is_said(machine: Machine) -> None:
    assert machine.ask().code == "not_found"
    assert call(None, config={"mountinfo": str(machine.home / "none")}).code == "not_configured"


def test_a_long_text_full_of_escapes_beside_the_path_does_no_harm(machine: Machine) -> None:
    disk = machine.mount("磁盘 😀")
    text = '"path": "/etc", \\ \n 😀 ' * 20_000
    assert machine.ask(str(disk), text=text).mounts == [str(disk)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("磁盘还剩多少", {}),
        ("disk usage of /var", {"path": "/var"}),
        ("disk usage of /var/lib/.", {"path": "/var/lib/"}),
        ("/var还剩多少空间", {"path": "/var"}),
        ("/ 的使用率", {"path": "/"}),
        ("挂载点:/data", {"path": "/data"}),
        ("／ｖａｒ　还剩多少空间", {"path": "/var"}),
        ("看 “/数据 盘” 的用量", {"path": "/数据 盘"}),
        ("/数据的使用率", {"path": "/数据"}),
        ("disk usage of '/mnt/my disk'", {"path": "/mnt/my disk"}),
        ("is https://example.com/a on this partition", {}),
        ("cpu and/or disk", {}),
    ],
)
def test_the_path_is_found_in_the_sentence_and_never_guessed(text: str, found: dict[str, str]) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert Parameters(intent).fill(text, {}) == found


@pytest.mark.parametrize("path", ["var", "-rf", "", "/a\nb", 7])
def test_what_is_no_absolute_path_is_refused_by_the_manifest(path: str | int) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert Parameters(intent).problems({"path": path})


def test_the_allowed_paths_are_resolved_beside_hermes_yaml(tmp_path: Path) -> None:
    config = plugin_config(load_manifest(FOLDER), {"allowed": ["data", "/srv"]}, base_dir=tmp_path)
    assert config == {"allowed": [str(tmp_path / "data"), "/srv"]}
