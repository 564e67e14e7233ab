from __future__ import annotations

from pathlib import Path

import pytest

from hermes.host.files.mounts import Mounts

ROOT = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard"


def mount(place: object, kind: str, options: str = "rw") -> str:
    return f"31 27 0:28 / {place} rw,nosuid master:2 propagate_from:1 - {kind} source {options}"


def mounts(folder: Path, *lines: str) -> Mounts:
    file = folder / "mountinfo"
    file.write_text("\n".join([ROOT, *lines]) + "\n")
    return Mounts(file)


@pytest.mark.parametrize(
    "kind",
    [
        *("9p", "nfs", "nfs4", "cifs", "smb3", "ceph", "virtiofs", "vboxsf", "drvfs", "prl_fs", "fakeowner"),
        *("fuse", "fuse.sshfs", "fuse.grpcfuse", "fuse.osxfs", "fuse.vmhgfs-fuse", "fuse.glusterfs"),
    ],
)
def test_file_systems_that_others_write_to_are_silent(tmp_path: Path, kind: str) -> None:
    assert mounts(tmp_path, mount(tmp_path, kind)).silent_type(tmp_path / "plugins") == kind


@pytest.mark.parametrize(
    "kind",
    ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuse.fuse-overlayfs", "fuseblk", "nfsd", "f2fs"],
)
def test_file_systems_of_this_machine_tell(tmp_path: Path, kind: str) -> None:
    assert mounts(tmp_path, mount(tmp_path, kind)).silent_type(tmp_path / "plugins") is None


def test_the_innermost_mount_is_what_a_path_lies_on(tmp_path: Path) -> None:
    inner = mount(tmp_path / "plugins", "tmpfs")
    one = mounts(tmp_path, inner, mount(tmp_path, "9p"), mount(tmp_path / "plug", "nfs"))
    assert one.silent_type(tmp_path / "plugins" / "a") is None
    assert one.silent_type(tmp_path / "plugins2") == "9p"
    assert one.silent_type(tmp_path.parent) is None


def test_of_two_mounts_on_one_place_the_later_is_seen(tmp_path: Path) -> None:
    assert mounts(tmp_path, mount(tmp_path, "ext4"), mount(tmp_path, "nfs4")).silent_type(tmp_path) == "nfs4"
    assert mounts(tmp_path, mount(tmp_path, "nfs4"), mount(tmp_path, "ext4")).silent_type(tmp_path) is None


def test_names_with_spaces_and_in_chinese_are_read_as_the_system_writes_them(tmp_path: Path) -> None:
    one = mounts(tmp_path, mount(f"{tmp_path}/my\\040插件\\134x", "cifs"))
    assert one.silent_type(tmp_path / "my 插件\\x") == "cifs"


def test_a_link_lies_where_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("shared")
    assert (
        mounts(tmp_path, mount(tmp_path / "shared", "virtiofs")).silent_type(tmp_path / "link") == "virtiofs"
    )


def test_a_file_that_is_mounted_by_itself_is_known(tmp_path: Path) -> None:
    one = mounts(tmp_path, mount(tmp_path / "hermes.yaml", "ext4"))
    assert one.is_mount(tmp_path / "hermes.yaml")
    assert not one.is_mount(tmp_path / "other.yaml")


def test_where_the_system_tells_nothing_nothing_is_known(tmp_path: Path) -> None:
    assert Mounts(tmp_path / "none").silent_type(tmp_path) is None


def test_the_mounts_of_this_process_can_be_read() -> None:
    assert Mounts().is_mount(Path("/proc"))
