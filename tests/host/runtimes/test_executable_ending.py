from __future__ import annotations

import asyncio
import gc
import os
from typing import Any

import pytest

from hermes.errors import ConfigError
from hermes.host.programs.program import Program
from hermes.host.workers.failures import Crashed, Raised, ResultTooLarge
from hermes.host.workers.pipe import Pipe
from tests.support.bench import alive, eventually, file_text
from tests.support.scripts import data, result, script
from tests.support.shop import Shop

# How it ends.


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("exit 3", "exit code 3"),
        ("echo first >&2; echo '文件不存在' >&2; exit 1", "文件不存在"),
        ("echo reason >&2; echo '::progress:: on' >&2; exit 1", "reason"),
        ("echo reason >&2; echo >&2; echo '{\"data\": 1}'; exit 255", "reason"),
        ("printf 'without an end' >&2; exit 1", "without an end"),
        ("no_such_command", "run.sh: 2: no_such_command: not found"),
    ],
)
async def test_an_exit_code_is_an_error_with_the_last_line_of_stderr(
    shop: Shop, text: str, reason: str
) -> None:
    with pytest.raises(Raised) as ended:
        await result(shop, text)
    assert ended.value.reason.endswith(reason)


async def test_a_signal_is_a_crash(shop: Shop) -> None:
    with pytest.raises(Crashed, match="ended with signal SIGSEGV: 糟糕"):
        await result(shop, "echo 糟糕 >&2; kill -SEGV $$")


async def test_an_endless_loop_ends_at_its_limit_of_processor_time(shop: Shop) -> None:
    worker = await script(shop, "while :; do :; done", limits={"cpu_seconds": 1})
    with pytest.raises(Crashed, match=r"used more than limits\.cpu_seconds 1"):
        await shop.ask(worker)


async def test_open_files_are_limited_and_descriptors_of_the_daemon_are_not_there(shop: Shop) -> None:
    worker = await script(shop, "ulimit -n; ulimit -c; ls /dev/fd | wc -l", limits={"open_files": 64})
    files, core, there = (await shop.ask(worker)).split()
    assert (files, core) == ("64", "0")
    assert int(there) <= 4  # and that of the listing


async def test_a_result_over_the_limit_is_refused_and_the_program_ended(shop: Shop) -> None:
    with pytest.raises(ResultTooLarge):
        await result(shop, "echo $$ >$HERMES_DATA_DIR/pid; exec yes")
    assert not alive(int(data(shop, "pid").read_text()))
    assert len(await result(shop, "head -c 1048576 /dev/zero | tr '\\0' x")) == 1 << 20


async def test_a_child_that_holds_the_pipes_does_not_hold_the_call_and_is_ended(shop: Shop) -> None:
    assert await result(shop, 'sleep 600 &\necho $! >"$HERMES_DATA_DIR/pid"\necho ok') == "ok"
    await eventually(lambda: not alive(int(data(shop, "pid").read_text())))


async def test_cancelling_asks_the_whole_group_to_leave(shop: Shop) -> None:
    worker = await script(
        shop,
        'trap "echo tidied >$HERMES_DATA_DIR/tidied; exit 0" TERM\n'
        'sleep 600 & echo $! >"$HERMES_DATA_DIR/pid"\nwait',
    )
    job = shop.begin(worker)
    child = int(await file_text(data(shop, "pid")))
    [process] = await eventually(worker.processes)
    assert (process.pid > 0, process.busy) == (True, 1)
    worker.cancel(job.id)
    with pytest.raises(Raised, match="cancelled"):
        await job.result()
    assert data(shop, "tidied").exists()
    await eventually(lambda: not alive(child))
    assert worker.processes() == []
    assert (shop.idle, worker.busy) == (1, 0)


async def test_a_program_that_does_not_leave_is_killed(shop: Shop) -> None:
    worker = await script(shop, 'trap "" TERM\necho $$ >"$HERMES_DATA_DIR/pid"\nwhile :; do sleep 0.05; done')
    job = shop.begin(worker)
    pid = int(await file_text(data(shop, "pid")))
    worker.cancel(job.id)
    await asyncio.wait_for(job.pending.left.wait(), 15)
    assert not alive(pid)


async def test_a_stopped_program_is_killed_too(shop: Shop) -> None:
    worker = await script(shop, 'echo $$ >"$HERMES_DATA_DIR/pid"\nkill -STOP $$\necho on')
    job = shop.begin(worker)
    pid = int(await file_text(data(shop, "pid")))
    worker.cancel(job.id)
    await asyncio.wait_for(job.pending.left.wait(), 15)
    assert not alive(pid)


async def test_killing_the_worker_ends_every_call_at_once(shop: Shop) -> None:
    worker = await script(
        shop, 'trap "" TERM\necho x >>"$HERMES_DATA_DIR/pids"\nwhile :; do sleep 0.05; done'
    )
    jobs = [shop.begin(worker) for _ in range(3)]
    await eventually(lambda: len(worker.processes()) == 3)
    worker.kill("used too much")
    await worker.exited.wait()
    for job in jobs:
        with pytest.raises(Crashed, match="used too much"):
            await job.result()
    assert shop.exits == ["the worker used too much"]


async def test_calls_run_side_by_side_and_leave_no_descriptors(shop: Shop) -> None:
    worker = await script(shop, "read line; echo $HERMES_REQUEST_ID")
    await shop.ask(worker)
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        jobs = [shop.begin(worker) for _ in range(10)]
        assert len({await job.result() for job in jobs}) == 10
    await eventually(lambda: len(os.listdir("/dev/fd")) <= before)


# What is wrong before a call.


@pytest.mark.parametrize(
    ("files", "command", "reason"),
    [
        ({}, ["./run.sh"], "there is no file ./run.sh in the plugin's folder"),
        ({}, ["/no/such/program"], "there is no file /no/such/program"),
        ({"run.sh": "echo"}, ["./run.sh"], "./run.sh is not executable; run chmod +x ./run.sh"),
        ({"run.sh": "#!/bin/sh\r\necho\r\n"}, ["./run.sh"], "./run.sh has line ends of Windows"),
        ({}, ["../p/manifest.json"], "must lie in the plugin's folder"),
        ({}, ["sub/../../x.sh"], "must lie in the plugin's folder"),
    ],
)
def test_a_program_that_cannot_be_started_is_told_when_the_manifest_is_read(
    shop: Shop, files: dict[str, str], command: list[str], reason: str
) -> None:
    shop.write(files, runtime="executable", command=command)
    with pytest.raises(ConfigError) as refused:
        shop.load()
    assert reason in refused.value.detail
    assert (refused.value.key, refused.value.line) == ("command[0]", 1)


def test_a_script_without_an_interpreter_is_told_when_the_manifest_is_read(shop: Shop) -> None:
    folder = shop.write({"run.sh": "echo hi\n"}, runtime="executable", command=["./run.sh"])
    (folder / "run.sh").chmod(0o755)
    with pytest.raises(ConfigError, match=r"a first line such as #!/bin/sh"):
        shop.load()


@pytest.mark.parametrize("command", ["./run.sh", [], [""], ["a\0b"], [3], {"a": 1}])
def test_a_command_is_a_list_of_words(shop: Shop, command: Any) -> None:
    shop.write({}, runtime="executable", command=command)
    with pytest.raises(ConfigError) as refused:
        shop.load()
    assert (refused.value.key or "").startswith("command")


async def test_a_program_that_is_not_on_the_path_is_told_when_the_worker_starts(shop: Shop) -> None:
    with pytest.raises(Raised, match=r"no program run\.sh on PATH.*in the plugin's folder write \./run\.sh"):
        await script(shop, "", command=["run.sh"])


async def test_an_interpreter_that_is_not_there_is_told_in_one_line(shop: Shop) -> None:
    shop.write({"run.sh": "#!/no/such/interpreter\n"}, runtime="executable", command=["./run.sh"])
    with pytest.raises(Raised, match="no such interpreter"):
        await shop.ask(await shop.open())


async def test_what_the_kernel_does_not_start_fails_the_call_alone(shop: Shop) -> None:
    shop.config = {"huge": "x" * 3_000_000}  # more than an environment may have
    worker = await script(shop, "echo ok")
    with pytest.raises(Raised, match="the program could not be started: Argument list too long"):
        await shop.ask(worker)
    assert worker.busy == 0


@pytest.mark.parametrize("last", ["", "exit 1", "printf NaN]"])
async def test_what_it_printed_is_not_kept_until_garbage_is_collected(shop: Shop, last: str) -> None:
    worker = await script(shop, f"printf '[1'; head -c 500000 /dev/zero | tr '\\0' ' '; printf ,; {last}")
    gc.collect()
    gc.disable()
    try:
        await asyncio.wait([shop.begin(worker).pending.answer], timeout=20)
        await eventually(lambda: worker.busy == 0)
        kept = [one for one in gc.get_objects() if isinstance(one, Program | Pipe)]
        assert all(not one.output for one in kept if isinstance(one, Program))
        assert all(one.take.__name__ == "_ignore" for one in kept if isinstance(one, Pipe))
    finally:
        gc.enable()
