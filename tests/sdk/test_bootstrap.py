"""A plugin's process has its limits, its descriptors and its parent before anything of the plugin runs in it."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes.sdk import bootstrap
from tests.support.by_hand import ByHand
from tests.support.waiting import until

LIMITS = """
import json, resource
kinds = resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_CORE
print(json.dumps([resource.getrlimit(kind) for kind in kinds]))
"""
PYTHON = (sys.executable, "-I", "-S", "-c")
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has it")


def line(limits: dict[str, int], *command: str) -> list[str]:
    """Return the command line that runs a command through the bootstrap."""
    return [sys.executable, "-I", "-S", bootstrap.__file__, json.dumps(limits), *command]


def run(
    *command: str, limits: dict[str, int] | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        line(limits or {}, *command), capture_output=True, timeout=30, check=False, **options
    )


def test_the_limits_hold_for_the_command_and_cannot_be_raised_again() -> None:
    limits = {"address_space": 1 << 30, "open_files": 64, "cpu_seconds": 20}
    done = run(*PYTHON, LIMITS, limits=limits)
    assert json.loads(done.stdout) == [[1 << 30, 1 << 30], [64, 64], [20, 21], [0, 0]]


def test_what_is_not_limited_stays_as_it_is_but_there_are_no_core_dumps() -> None:
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)
    ours = [list(resource.getrlimit(kind)) for kind in kinds]
    assert json.loads(run(*PYTHON, LIMITS).stdout) == [*ours, [0, 0]]


@pytest.mark.parametrize(("wanted", "held"), [(200, 100), (50, 50), (2**70, 100)])
def test_a_lower_limit_that_is_there_already_stays(wanted: int, held: int) -> None:
    script = 'ulimit -n 100; exec "$0" "$@"'
    command = ["/bin/sh", "-c", script, *line({"open_files": wanted}, *PYTHON, LIMITS)]
    done = subprocess.run(command, capture_output=True, timeout=30, check=True)
    assert json.loads(done.stdout)[1] == [held, held]


def test_too_much_memory_is_an_error_of_the_program_that_wants_it() -> None:
    done = run(*PYTHON, "bytearray(1 << 30)", limits={"address_space": 300 << 20})
    assert (done.returncode, b"MemoryError" in done.stderr) == (1, True)


@pytest.mark.parametrize(("heed", "number"), [("", signal.SIGXCPU), ("trap '' XCPU; ", signal.SIGKILL)])
def test_endless_work_ends_at_its_cpu_seconds_whether_it_heeds_the_signal_or_not(
    heed: str, number: signal.Signals
) -> None:
    done = run("/bin/sh", "-c", f"{heed}while :; do :; done", limits={"cpu_seconds": 1})
    assert -done.returncode == number


def test_a_crash_leaves_no_core_dump(tmp_path: Path) -> None:
    command = line({}, *PYTHON, "import os; os.kill(os.getpid(), 11)")
    pid = os.spawnv(os.P_NOWAIT, command[0], command)
    status = os.waitpid(pid, 0)[1]
    assert (os.WTERMSIG(status), os.WCOREDUMP(status)) == (signal.SIGSEGV, False)


@linux
@pytest.mark.parametrize(("before", "after"), [("0", "500"), ("700", "700")])
def test_the_kernel_is_offered_the_plugin_before_the_daemon(before: str, after: str) -> None:
    script = f'echo {before} > /proc/self/oom_score_adj; exec "$0" "$@"'
    command = ["/bin/sh", "-c", script, *line({}, "/bin/cat", "/proc/self/oom_score_adj")]
    assert (
        subprocess.run(command, capture_output=True, timeout=30, check=True).stdout.decode().strip() == after
    )


def test_only_stdin_stdout_and_stderr_are_handed_on() -> None:
    reading, writing = os.pipe()
    try:
        listing = (
            "import os; print(sorted(map(int, os.listdir('/dev/fd')))[:-1])"  # the last is the listing's own
        )
        done = run(*PYTHON, listing, pass_fds=(reading, writing))
    finally:
        os.close(reading)
        os.close(writing)
    assert done.stdout == b"[0, 1, 2]\n"


@linux
def test_no_signal_is_ignored_or_blocked() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
    try:
        status = run("/bin/cat", "/proc/self/status").stdout.decode().splitlines()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    words = dict(entry.split(":\t", 1) for entry in status)
    # Signals 32 and 33 are the C library's own: who starts us may have left them ignored, and nobody else can reset them.
    own = 0b11 << 31
    assert (int(words["SigIgn"], 16) & ~own, int(words["SigBlk"], 16) & ~own) == (0, 0)


def test_a_pipeline_ends_with_its_reader() -> None:
    done = run("/bin/sh", "-c", "{ yes 前进; echo $? >&2; } | head -n 2")
    assert (done.stdout.decode(), done.stderr.decode()) == ("前进\n前进\n", f"{128 + signal.SIGPIPE}\n")


def test_stdin_exit_code_and_arguments_are_passed_through() -> None:
    done = run("/bin/sh", "-c", 'cat; echo "$1"; exit 7', "sh", "磁盘 'full' $(no)", input="进来\n".encode())
    assert (done.returncode, done.stdout.decode()) == (7, "进来\n磁盘 'full' $(no)\n")


@pytest.mark.parametrize(
    "environment",
    [
        {b"PATH": b"/usr/bin:/bin"},
        {b"PATH": b"/usr/bin:/bin", b"LANG": b"C"},
        {b"PATH": b"/usr/bin:/bin", b"LC_CTYPE": b"C.UTF-8"},
        {
            b"PATH": b"/usr/bin:/bin",
            b"NAME": "名字\n=".encode(),
            b"BYTES": b"\xff\xfe",
            b"PYTHONHOME": b"/nowhere",
        },
    ],
)
def test_the_environment_is_the_given_one_and_nothing_else(environment: dict[bytes, bytes]) -> None:
    done = run("env", "-0", env=environment)
    assert dict(entry.split(b"=", 1) for entry in done.stdout.split(b"\0")[:-1]) == environment


def script(folder: Path, text: str, mode: int = 0o755) -> str:
    file = folder / "工具.sh"
    file.write_text(text, encoding="utf-8", newline="")
    file.chmod(mode)
    return f"./{file.name}"


REFUSED = [
    ("#!/bin/sh\n", 0o644, 126, "chmod +x"),
    ("echo no first line\n", 0o755, 126, "#!"),
    ("#!/no/such/interpreter -x\n", 0o755, 127, "/no/such/interpreter -x"),
    ("#!/bin/sh\r\necho hi\r\n", 0o755, 127, r"/bin/sh\r"),
]


@pytest.mark.parametrize(("text", "mode", "code", "reason"), REFUSED)
def test_a_script_that_cannot_be_run_is_one_line_that_says_what_to_do(
    tmp_path: Path, text: str, mode: int, code: int, reason: str
) -> None:
    done = run(script(tmp_path, text, mode), cwd=tmp_path)
    (told,) = done.stderr.decode().splitlines()
    assert done.returncode == code
    assert "./工具.sh" in told
    assert reason in told


@pytest.mark.parametrize("program", ["./not-there", "no-such-program-anywhere", "/etc/passwd/sub", "没有"])
def test_a_program_that_is_not_there_is_named(tmp_path: Path, program: str) -> None:
    done = run(program, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
    (told,) = done.stderr.decode().splitlines()
    assert (done.returncode, program in told) == (127, True)


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    done = run("./", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (126, 1)


@pytest.mark.parametrize("arguments", [[], ["{}"]])
def test_without_a_command_it_says_how_it_is_used(arguments: list[str]) -> None:
    command = [sys.executable, "-I", "-S", bootstrap.__file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, "LIMITS command" in done.stderr) == (2, True)


def test_a_limit_that_nobody_knows_is_refused() -> None:
    done = run("/bin/echo", "ran", limits={"height": 3})
    assert (done.returncode, done.stdout, b"height" in done.stderr) == (1, b"", True)


@pytest.mark.parametrize("text", ["nonsense", '{"open_files": "many"}', '{"open_files": 1.5}', "[1]"])
def test_limits_that_are_no_integers_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        bootstrap.parse(text)


@pytest.mark.parametrize("spaces", [None, (",", ":")])
def test_limits_are_read_however_the_json_is_spaced(spaces: tuple[str, str] | None) -> None:
    for limits in ({}, {"parent": 17}, {"parent": 17, "open_files": 3, "cpu_seconds": 10**12}):
        assert bootstrap.parse(json.dumps(limits, separators=spaces)) == limits


def test_it_goes_without_the_modules_that_would_cost_more_than_all_it_does() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import bootstrap; print(*sys.modules)"
    folder = str(Path(bootstrap.__file__).parent)
    done = subprocess.run([*PYTHON, code, folder], capture_output=True, text=True, timeout=30, check=True)
    assert (
        set(done.stdout.split()) & {"json", "re", "ctypes", "signal", "enum", "contextlib", "collections"}
        == set()
    )


# The parent.

INTERMEDIATE = """
import subprocess, sys
print(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid, flush=True)
sys.stdin.read()
"""


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z"


@linux
@pytest.mark.parametrize(
    "program",
    [("/bin/sleep", "600"), ("/bin/sh", "-c", "trap '' TERM HUP INT PIPE; while :; do :; done")],
    ids=["asleep", "busy"],
)
def test_the_death_of_the_parent_ends_it_whatever_it_does(program: tuple[str, ...]) -> None:
    command = [*PYTHON, INTERMEDIATE, *line({}, *program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        name = Path(program[0]).resolve().name
        until(lambda: Path(f"/proc/{pid}/comm").read_text().strip() in {Path(program[0]).name, name})
        assert not gone(pid)
        parent.kill()
    until(lambda: gone(pid))


def test_it_does_not_begin_if_its_parent_is_gone_already(tmp_path: Path) -> None:
    done = run("/bin/sh", "-c", "echo ran > ran", limits={"parent": os.getppid()}, cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
    assert run("/bin/echo", "ran", limits={"parent": os.getpid()}).stdout == b"ran\n"


# The worker of a plugin in Python does the same.

SHOW = """
import resource, sys

async def handle(message, context):
    if message["payload"].get("much"):
        bytearray(1 << 30)
    kinds = resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE
    return {"limits": [resource.getrlimit(kind) for kind in kinds], "arguments": sys.argv[1:]}
"""


def test_a_python_worker_limits_itself_and_survives_what_the_limit_refuses(tmp_path: Path) -> None:
    limits = {"parent": os.getpid(), "address_space": 500 << 20, "open_files": 99}
    with ByHand(tmp_path, SHOW, arguments=[json.dumps(limits)]) as worker:
        worker.initialize()
        answer, _ = worker.answer(worker.handle(much=True))
        assert answer["error"]["message"] == "MemoryError"
        held = [[500 << 20] * 2, [99, 99], [0, 0]]
        assert worker.result() == {"limits": held, "arguments": []}


def test_a_python_worker_whose_parent_is_gone_does_not_begin(tmp_path: Path) -> None:
    with ByHand(tmp_path, SHOW, arguments=[json.dumps({"parent": os.getppid()})]) as worker:
        assert worker.end() == (1, "")
