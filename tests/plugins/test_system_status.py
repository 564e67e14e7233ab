"""system-status: on this machine, and on one whose /proc a test wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes.host.manifests.manifest import load_manifest, plugin_config
from hermes.sdk.testing import Call, load, run

FOLDER = Path(__file__).parents[2] / "plugins" / "system-status"
MEMINFO = "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    4000000 kB\nHugePages_Total: 0\n"

handle = load(FOLDER)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "meminfo").write_text(MEMINFO)
    (tmp_path / "uptime").write_text("86400.73 170000.11\n")
    return tmp_path


async def test_memory_and_uptime_are_read_from_proc(proc: Path) -> None:
    outcome = await run(handle, {}, config={"proc_dir": str(proc)})
    assert (outcome.error, outcome.warning) == (None, None)
    assert outcome.data["memory_total_bytes"] == 16_000_000 * 1024
    assert outcome.data["memory_available_bytes"] == 4_000_000 * 1024
    assert outcome.data["memory_used_percent"] == 75.0
    assert outcome.data["uptime_seconds"] == 86400


async def test_load_and_disks_are_those_of_this_machine(proc: Path, tmp_path: Path) -> None:
    outcome = await run(handle, {}, config={"proc_dir": str(proc)}, call=Call(data_dir=tmp_path))
    assert outcome.data["cpu_count"] == os.cpu_count()
    assert outcome.data["load_1m"] >= 0
    assert outcome.data["load_percent"] >= 0
    for disk in ("disk", "data_disk"):
        assert 0 < outcome.data[f"{disk}_free_bytes"] < outcome.data[f"{disk}_total_bytes"]
        assert 0 < outcome.data[f"{disk}_used_percent"] < 100


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="this machine has no /proc")
async def test_this_machine_can_say_everything() -> None:
    outcome = await run(handle, {})
    assert outcome.warning is None
    assert None not in outcome.data.values()
    assert outcome.data["memory_available_bytes"] < outcome.data["memory_total_bytes"]


@pytest.mark.parametrize(
    ("locale", "warning"),
    [
        ("zh", "这台机器无法提供：内存, 运行时间"),
        ("en", "not available on this machine: memory, uptime"),
    ],
)
async def test_a_machine_without_proc_tells_the_rest(tmp_path: Path, locale: str, warning: str) -> None:
    outcome = await run(handle, {}, config={"proc_dir": str(tmp_path)}, locale=locale)
    assert outcome.error is None
    assert outcome.warning == warning
    assert outcome.data["memory_total_bytes"] is None
    assert outcome.data["uptime_seconds"] is None
    assert outcome.data["disk_total_bytes"] > 0


@pytest.mark.parametrize(
    "text", ["", "MemTotal: 1000 kB\n", "MemTotal:\nMemAvailable:\n", "MemTotal: many kB\n", "\0"]
)
async def test_a_strange_meminfo_is_a_warning_and_no_failure(proc: Path, text: str) -> None:
    (proc / "meminfo").write_text(text)
    outcome = await run(handle, {}, config={"proc_dir": str(proc)})
    assert outcome.warning == "not available on this machine: memory"
    assert outcome.data["uptime_seconds"] == 86400


async def test_a_data_folder_that_is_gone_is_a_warning(proc: Path, tmp_path: Path) -> None:
    call = Call(data_dir=tmp_path / "gone")
    outcome = await run(handle, {}, config={"proc_dir": str(proc)}, locale="zh", call=call)
    assert outcome.warning == "这台机器无法提供：数据磁盘"
    assert str(tmp_path) not in repr(outcome)


async def test_the_digest_names_only_fields_that_are_there(proc: Path) -> None:
    outcome = await run(handle, {}, config={"proc_dir": str(proc)})
    assert set(load_manifest(FOLDER).summary.fields) <= set(outcome.data)


def test_the_place_of_proc_is_resolved_beside_hermes_yaml(tmp_path: Path) -> None:
    config = plugin_config(load_manifest(FOLDER), {"proc_dir": "host/proc"}, base_dir=tmp_path)
    assert config == {"proc_dir": str(tmp_path / "host" / "proc")}
