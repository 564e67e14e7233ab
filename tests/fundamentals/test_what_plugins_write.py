"""Whatever a plugin writes, and however much, is a result within its limit, progress, or lines of the log: never an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, write_plugin
from tests.support.saving import answer
from tests.support.waiting import until

PRINTS = """
import atexit, ctypes, os, subprocess, sys

FRAME = '{"jsonrpc": "2.0", "id": %d, "result": "no answer"}'
print("at import 导入")
print(FRAME % 1)
sys.stdout.write("at import without an end")
atexit.register(lambda: os.write(1, (FRAME % 2 + "\\nat exit 退出\\n").encode()))
libc = ctypes.CDLL(None)

async def handle(message, context):
    for number in range(1, 40):
        print(FRAME % number)
        os.write(1, (FRAME % number + "\\n").encode())
    print("in the handler 处理", flush=True)
    libc.printf(b"by C\\n")
    libc.puts(b'{"jsonrpc": "2.0", "method": "progress", "params": {"call": "c1", "text": "no progress"}}')
    libc.fflush(None)
    subprocess.run(["echo", "by a child"], check=True)
    sys.__stdout__.write("by the first stdout\\n")
    sys.__stdout__.flush()
    sys.stdout.write("without an end")
    return "the answer"
"""


def test_what_looks_like_a_frame_is_no_frame_whoever_prints_it_and_whenever(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    write_plugin(tmp_path, "p", PRINTS)
    daemon = start_daemon()
    for _ in range(3):
        record = daemon.send(intent="p")
        assert record["envelope"]["data"] == "the answer"
        assert [frame.event for frame in daemon.story(record["request_id"])] == [
            "TASK_RECEIVED",
            "TOOL_STARTED",
            "TOOL_SUCCEEDED",
        ]
    assert daemon.post("/v1/plugins/p/reload", None).status == 200
    assert answer(daemon) == "the answer"
    said = ("at import 导入", "at import without an end", "in the handler 处理", "by C", "by a child")
    for text in (
        *said,
        "by the first stdout",
        "without an end",
        '{"jsonrpc": "2.0", "id": 1, "result": "no answer"}',
    ):
        daemon.line(event="plugin_log", plugin="p", text=text)
    assert daemon.plugin("p")["failures"] == 0
    assert daemon.lines(event="worker_exited") == []


FLOODS = """
import ctypes, os, subprocess, sys

LINE = "x" * 1023 + "\\n"
COUNT = 10 * 1024

def by_stderr():
    for _ in range(COUNT):
        sys.stderr.write(LINE)
    sys.stderr.flush()

def by_print():
    for _ in range(COUNT):
        print(LINE, end="")

def by_print_without_an_end():
    for _ in range(COUNT):
        sys.stdout.write("y" * 1024)

def by_one_line():
    print("z" * (10 << 20))

def by_descriptor():
    for _ in range(COUNT // 64):
        os.write(1, (LINE * 64).encode())

def by_c():
    libc = ctypes.CDLL(None)
    for _ in range(COUNT):
        libc.printf(b"%s", LINE.encode())
    libc.fflush(None)

def by_a_child():
    subprocess.run(["sh", "-c", "yes " + "x" * 1023 + f" | head -n {COUNT}"], check=True)

async def handle(message, context):
    globals()[message["payload"]["how"]]()
    return "done"
"""


def test_ten_megabytes_beside_the_wire_hold_nobody_up_and_do_not_fill_the_log(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    write_plugin(tmp_path, "p", FLOODS)
    daemon = start_daemon()
    prints = ("by_print", "by_print_without_an_end", "by_one_line")
    for how in ("by_stderr", *prints, "by_descriptor", "by_c", "by_a_child"):
        assert daemon.send(intent="p", payload={"how": how})["envelope"]["data"] == "done", how
    assert daemon.plugin("p")["failures"] == 0
    assert daemon.lines(event="worker_exited") == []
    assert (tmp_path / "log").stat().st_size < 25 << 20  # of 70 MB
    assert max(len(line["text"]) for line in daemon.lines(event="plugin_log")) < 8300


KIB, MIB = 1 << 10, 1 << 20


@pytest.mark.parametrize("size", [63 * KIB, 65 * KIB, MIB, 15 * MIB])
def test_a_result_of_any_size_up_to_the_limit_comes_whole(daemon: Daemon, size: int) -> None:
    record = daemon.send(intent="lab.big", payload={"size": size})
    assert record["status"] == "succeeded"
    raw = daemon.get(f"/v1/messages/{record['request_id']}/raw")
    assert raw.json == {"text": "x" * size}


def test_a_result_beyond_the_limit_is_an_error_of_its_call_and_the_worker_goes_on(daemon: Daemon) -> None:
    pid = daemon.send(intent="lab.process")["envelope"]["data"]["pid"]
    for locale, text in (("zh", "超过"), ("en", "over the limit of 16777216 bytes")):
        words = {"text": "很大" if locale == "zh" else "large"}
        error = daemon.send(intent="lab.big", payload={"size": 50 * MIB, **words})["envelope"]["error"]
        assert (error["code"], text in error["message"]) == ("result_too_large", True)
    assert daemon.send(intent="lab.process")["envelope"]["data"]["pid"] == pid


def test_a_line_of_progress_of_any_length_is_cut_and_told(start_daemon: StartDaemon, tmp_path: Path) -> None:
    code = """
async def handle(message, context):
    for size in (999, 1001, 100_000, 3_000_000):
        await context["progress"]("长" * size)
    return "done"
"""
    write_plugin(tmp_path, "p", code)
    daemon = start_daemon()
    record = daemon.send(intent="p")
    assert record["envelope"]["data"] == "done"
    told = [frame.data["text"] for frame in daemon.story(record["request_id"]) if frame.event == "PROGRESS"]
    assert told[-1].startswith("长" * 990)
    assert max(map(len, told)) <= 1000
    assert until(lambda: [one["busy"] for one in daemon.plugin("p")["workers"]]) == [0]
