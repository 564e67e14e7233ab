"""A plugin is loaded anew once for each change of it, when the change is whole, and never for anything else."""

from __future__ import annotations

import json
import shutil
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from hermes.host.files.fingerprint import content_hash
from tests.conftest import StartDaemon
from tests.support.daemon import Daemon
from tests.support.saving import (
    PATIENT,
    answer,
    make,
    nth_reload,
    save_by_truncating,
    save_like_sed,
    save_like_vim,
    says,
)
from tests.support.strays import strays
from tests.support.waiting import until

QUICK = {"reload": {"sweep": 3600, "debounce": 0.05}}
CALM = {"reload": {"sweep": 3600, "debounce": 0.5}}  # longer than a busy machine holds up who writes


def reloads(daemon: Daemon, name: str = "p") -> tuple[int, int, int]:
    """Return how many reloads there were by the list, the metric and the log, once all that was saved has been seen."""
    other = Path(daemon.home / "plugins" / "other")
    before = daemon.plugin("other")["reloads"]
    (other / "plugin.py").write_text(says(f"other {before}"))
    until(lambda: daemon.plugin("other")["reloads"] == before + 1)
    swapped = f'hermes_reloads_total{{plugin="{name}",result="swapped"}} '
    lines = [line for line in daemon.get("/metrics").body.decode().splitlines() if line.startswith(swapped)]
    return (
        daemon.plugin(name)["reloads"],
        int(float(lines[0].removeprefix(swapped))) if lines else 0,
        len(daemon.lines(event="plugin_reloaded", plugin=name)),
    )


def test_each_of_many_quick_edits_is_served_as_it_was_saved_and_shown_with_its_hash(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """Of one size, and of one time: a file that was only copied over another keeps its own."""
    folder = make(tmp_path, word="w00")
    daemon = start_daemon(QUICK)
    stamp = (folder / "plugin.py").stat()
    for number in range(1, 13):
        fresh = folder / "plugin.py.tmp"
        fresh.write_text(says(f"w{number:02}"))
        shutil.copystat(folder / "plugin.py", fresh)
        fresh.replace(folder / "plugin.py")
        line = nth_reload(daemon, number)
        assert answer(daemon) == f"w{number:02}"
        assert daemon.plugin("p")["hash"] == line["hash"] == content_hash(folder)
    after = (folder / "plugin.py").stat()
    assert (after.st_size, after.st_mtime_ns) == (stamp.st_size, stamp.st_mtime_ns)


@pytest.mark.parametrize("save", [save_like_vim, save_like_sed, save_by_truncating])
def test_a_saved_manifest_is_one_reload_too(
    start_daemon: StartDaemon, tmp_path: Path, save: Callable[[Path, str], None]
) -> None:
    folder = make(tmp_path)
    make(tmp_path, "other")
    daemon = start_daemon(PATIENT)
    save(folder / "manifest.json", json.dumps({"name": "p", "intents": ["p", "p.more"], "version": "2.0.0"}))
    nth_reload(daemon, 1)
    assert answer(daemon, "p.more") == "one"
    assert (daemon.plugin("p")["version"], reloads(daemon)) == ("2.0.0", (1, 1, 1))


def test_many_files_at_once_and_many_saves_in_a_row_are_one_reload_each(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    folder = make(tmp_path)
    make(tmp_path, "other")
    daemon = start_daemon(CALM)
    fresh = tmp_path / "fresh"
    shutil.copytree(folder, fresh)
    for number in range(30):
        (fresh / f"part{number % 3}").mkdir(exist_ok=True)
        (fresh / f"part{number % 3}" / f"m{number}.py").write_text(f"WORD = {number}\n")
    (fresh / "plugin.py").write_text("from part2.m29 import WORD\n" + says("x").replace("'x'", "WORD"))
    shutil.copytree(fresh, folder, dirs_exist_ok=True)
    nth_reload(daemon, 1)
    assert (answer(daemon), reloads(daemon)) == (29, (1, 1, 1))
    for number in range(10):
        (folder / "plugin.py").write_text(says(f"save {number}"))
        time.sleep(0.05)
    until(lambda: daemon.plugin("p")["reloads"] == 2)
    assert (answer(daemon), reloads(daemon)) == ("save 9", (2, 2, 2))


LITTERS = """
import importlib, sys
from pathlib import Path

sys.dont_write_bytecode = False

async def handle(message, context):
    number = message["payload"]["n"]
    module = importlib.import_module(f"late.m{number % 15}")
    Path("cache.json").write_text(f'{{"n": {number}}}')
    Path("cache.sqlite").write_bytes(b"x" * number)
    origin = Path(message["payload"]["origin"])
    (origin / "__pycache__").mkdir(exist_ok=True)
    for name in ("__pycache__/m.pyc", ".cache", "run.log", "state.tmp", ".plugin.py.swp", "plugin.py~", "p.pid"):
        (origin / name).write_text(str(number))
    return module.WORD
"""


def test_what_a_plugin_and_peoples_tools_write_beside_the_code_reloads_nothing(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    folder = make(tmp_path)
    make(tmp_path, "other")
    (folder / "plugin.py").write_text(LITTERS)
    (folder / "late").mkdir()
    for number in range(15):
        (folder / "late" / f"m{number}.py").write_text(f"WORD = {number}\n")
    daemon = start_daemon({"reload": {"sweep": 0.2, "debounce": 0.05}})  # looked at all the time
    (worker,) = until(lambda: daemon.plugin("p")["workers"])
    for number in range(60):
        record = daemon.send(intent="p", payload={"n": number, "origin": str(folder)})
        assert record["envelope"]["data"] == number % 15
    (staged,) = (daemon.state_dir / "staged" / "p").iterdir()
    assert (staged / "late" / "__pycache__").is_dir()
    assert (staged / "cache.json").read_text() == '{"n": 59}'
    assert reloads(daemon) == (0, 0, 0)
    assert [one["pid"] for one in daemon.plugin("p")["workers"]] == [worker["pid"]]
    assert daemon.lines(event="plugin_refused") == []
    until(lambda: not strays(daemon))
    assert [
        one for one in psutil.Process(daemon.pid).children() if one.status() == psutil.STATUS_ZOMBIE
    ] == []


PARTS = textwrap.dedent(
    """
    async def handle(message, context):
        return PART

    PART = 1
    """
)


def watch(daemon: Daemon, seen: list[object]) -> None:
    seen.append(answer(daemon))


def test_a_file_that_is_written_piece_by_piece_is_served_when_it_is_whole(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """Every piece makes a plugin that would work."""
    folder = make(tmp_path, word="old")
    make(tmp_path, "other")
    daemon = start_daemon(CALM)
    seen: list[object] = []
    with (folder / "plugin.py").open("w") as stream:
        stream.write(PARTS)
        for number in range(2, 11):
            stream.write(f"PART = {number}\n")
            stream.flush()
            watch(daemon, seen)
            time.sleep(0.1)
    nth_reload(daemon, 1)
    watch(daemon, seen)
    assert seen == ["old"] * 9 + [10]
    assert reloads(daemon) == (1, 1, 1)


SIZE = "from pathlib import Path\nasync def handle(message, context):\n    return Path('data.bin').stat().st_size\n"


def test_a_slow_copy_is_served_when_it_is_whole_however_often_it_is_looked_at(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    folder = make(tmp_path)
    make(tmp_path, "other")
    (folder / "plugin.py").write_text(SIZE)
    (folder / "data.bin").write_bytes(b"x")
    daemon = start_daemon({"reload": {"sweep": 0.1, "debounce": 0.5}})  # looked at in the middle too
    seen: list[object] = []
    with (folder / "data.bin").open("wb") as stream:
        for _ in range(15):
            stream.write(b"y" * (5 << 17))
            stream.flush()
            watch(daemon, seen)
            time.sleep(0.1)
    until(lambda: answer(daemon) == 15 * (5 << 17))
    assert seen == [1] * 15
    assert reloads(daemon) == (1, 1, 1)


@pytest.mark.parametrize("order", [("manifest.json", "plugin.py"), ("plugin.py", "manifest.json")])
def test_whichever_file_comes_first_the_old_plugin_serves_until_both_are_there(
    start_daemon: StartDaemon, tmp_path: Path, order: tuple[str, str]
) -> None:
    """The new manifest has an entry that only the new code has, and the new code no longer has the old one."""
    folder = make(tmp_path, word="old")
    make(tmp_path, "other")
    daemon = start_daemon(CALM)
    fresh = {
        "manifest.json": json.dumps({"name": "p", "intents": ["p"], "entry": "plugin:run"}),
        "plugin.py": says("new").replace("handle", "run"),
    }
    first, second = order
    (folder / first).write_text(fresh[first])
    until(lambda: daemon.plugin("p")["last_error"])  # somebody was interrupted
    assert (answer(daemon), daemon.plugin("p")["state"]) == ("old", "ready")
    (folder / second).write_text(fresh[second])
    nth_reload(daemon, 1)
    assert (answer(daemon), daemon.plugin("p")["last_error"], reloads(daemon)) == ("new", None, (1, 1, 1))
