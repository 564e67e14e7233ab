"""What /proc says of real processes, with the oddest names that there are, and of those that are gone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from hermes.host.custody import processes
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")

NONE_SUCH = 2**22 + 1  # above every pid there can be


@contextmanager
def running(*command: str, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    """Give a process in a session of its own that has been started; its group is killed afterwards."""
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], **environ}
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextmanager
def family() -> Iterator[tuple[int, list[int]]]:
    """Give a shell and the two children of its, one of which has a child too: [child, child, grandchild]."""
    script = "sleep 600 & first=$!; sh -c 'sleep 600 & echo $!; wait' & echo $first $!; wait"
    with running("/bin/sh", "-c", script) as shell:
        assert shell.stdout is not None
        lines = sorted([shell.stdout.readline().split(), shell.stdout.readline().split()], key=len)
        yield shell.pid, [int(pid) for line in reversed(lines) for pid in line]


def asleep(pid: int) -> processes.Stat | None:
    """Return what there is on a process that has become its program and sleeps: nothing as long as it has not."""
    found = processes.stat(pid)
    return found if found is not None and found.state == "S" else None


def test_children_are_the_next_generation_and_descendants_all_parents_first() -> None:
    with family() as (shell, (first, second, grandchild)):
        assert sorted(processes.children(shell)) == sorted([first, second])
        found = processes.descendants(shell)
        assert sorted(found) == sorted([first, second, grandchild])
        assert found.index(second) < found.index(grandchild)
        assert processes.children(first) == []
        assert shell in processes.children(os.getpid())


def test_the_children_that_another_thread_has_started_count_too() -> None:
    code = """
import subprocess, threading
threading.Thread(target=lambda: print(subprocess.Popen(["sleep", "600"]).wait())).start()
"""
    with running(sys.executable, "-c", code) as process:
        (child,) = until(lambda: processes.children(process.pid))
        until(lambda: (found := processes.stat(child)) is not None and found.name == "sleep")


def test_a_family_without_end_is_looked_at_up_to_a_bound() -> None:
    with family() as (shell, _):
        assert len(processes.descendants(shell, most=2)) == 2


def test_a_session_is_named_after_the_process_that_began_it() -> None:
    with family() as (shell, (first, _, grandchild)):
        assert [processes.session(pid) for pid in (shell, first, grandchild)] == [shell] * 3
        assert processes.session(os.getpid()) == os.getsid(0) != shell


@pytest.mark.parametrize("name", [") (", "a) S 1 (b", "名字) Z", "x y", "))((", "("])
def test_a_name_may_hold_what_the_line_is_made_of(tmp_path: Path, name: str) -> None:
    program = str(tmp_path / name)
    shutil.copy(shutil.which("sleep") or "", program)
    with running(program, "600") as process:
        found = until(lambda: asleep(process.pid))
        assert (found.name, found.parent, found.session) == (name, os.getpid(), process.pid)


def test_a_name_that_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    program = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe)")
    shutil.copy(shutil.which("sleep") or "", program)
    with running(program, "600") as process:
        found = until(lambda: asleep(process.pid))
        assert (found.name, found.parent) == ("��)", os.getpid())


def test_the_start_tells_a_process_from_all_others_and_never_changes() -> None:
    with running("sleep", "600") as process:
        since = processes.started(process.pid)
        assert since is not None
        assert since == processes.started(process.pid)
        ticks = os.sysconf("SC_CLK_TCK")
        boot = psutil.boot_time()
        assert psutil.Process(process.pid).create_time() == pytest.approx(boot + since / ticks, abs=1)


def test_memory_is_what_the_process_holds_in_bytes() -> None:
    code = "import time; held = b'x' * (64 << 20); print(1, flush=True); time.sleep(600)"
    with running(sys.executable, "-c", code) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert 64 << 20 <= (processes.rss_bytes(process.pid) or 0) <= 100 << 20


@pytest.mark.parametrize("mark", ["s1:7", "带中文:1", ""])
def test_the_mark_is_found_wherever_it_stands_in_the_environment(mark: str) -> None:
    environ = {
        "A": "1",
        "NOT_HERMES_WORKER": "x",
        processes.MARK: mark,
        "LARGE": "x" * 100_000,
        "Z": "HERMES_WORKER=y",
    }
    with running("sleep", "600", **environ) as process:
        until(lambda: processes.mark(process.pid) == mark)
    with running("sleep", "600", HERMES_WORKERS="x") as process:
        assert processes.mark(process.pid) is None


def test_the_state_is_told_from_sleeping_to_the_entry_that_nobody_has_reaped() -> None:
    with running("sleep", "600", HERMES_WORKER="s1:1") as process:
        until(lambda: asleep(process.pid))
        process.send_signal(signal.SIGSTOP)
        until(lambda: processes.state(process.pid) == "T")
        process.kill()
        until(lambda: processes.state(process.pid) == "Z")
        found = processes.stat(process.pid)
        assert found is not None
        assert (found.ended, found.session, found.parent) == (True, process.pid, os.getpid())
        assert (processes.mark(process.pid), processes.rss_bytes(process.pid)) == (None, 0)
        assert process.pid in processes.children(os.getpid())


def test_of_a_process_that_is_gone_there_is_nothing_to_say() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    for pid in (process.pid, NONE_SUCH):
        answers = [
            ask(pid) for ask in (processes.stat, processes.state, processes.session, processes.started)
        ]
        assert answers == [None] * 4
        assert (processes.mark(pid), processes.rss_bytes(pid)) == (None, None)
        assert (processes.children(pid), processes.descendants(pid)) == ([], [])


def test_processes_that_come_and_go_meanwhile_disturb_nothing() -> None:
    script = "echo; while :; do true & sh -c 'true & true' & wait; done"
    with running("/bin/sh", "-c", script) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen: set[int] = set()
        while len(seen) < 100:
            for pid in processes.descendants(process.pid):
                seen.add(pid)
                assert processes.session(pid) in {process.pid, None}
                assert (processes.rss_bytes(pid) or 0) >= 0
                processes.mark(pid)


def test_everyone_of_a_user_is_listed_and_nobody_elses() -> None:
    with running("sleep", "600") as process:
        found = set(processes.everyone(os.geteuid()))
        assert {process.pid, os.getpid()} <= found
        assert process.pid not in set(processes.everyone(os.geteuid() + 1))
