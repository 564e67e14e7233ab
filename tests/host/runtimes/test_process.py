from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from hermes.errors import ConfigError
from hermes.host.workers.failures import Crashed, Raised, ResultTooLarge
from hermes.host.workers.worker import Worker
from tests.support.bench import alive, eventually
from tests.support.shop import Shop

ROOT = Path(__file__).parents[3]
SHELL = (ROOT / "tests" / "support" / "wire_workers" / "worker.sh").read_text("utf-8")
WIRE = (ROOT / "docs" / "wire.md").read_text("utf-8")


async def shell(shop: Shop, text: str = SHELL, **manifest: Any) -> Worker:
    shop.write({"worker.sh": text}, runtime="process", command=["./worker.sh"], **manifest)
    return await shop.open()


@pytest.fixture
async def node(shop: Shop) -> Worker:
    """The worker that docs/wire.md shows, run by Node."""
    assert shutil.which("node"), "this needs Node.js; install it (Debian, Ubuntu: apt install nodejs)"
    found = re.search(r"^```javascript\n(.*?)^```$", WIRE, re.MULTILINE | re.DOTALL)
    assert found is not None
    shop.write({"worker.mjs": found[1]}, runtime="process", command=["node", "worker.mjs"])
    return await shop.open()


async def test_a_worker_in_posix_shell_is_a_whole_worker(shop: Shop) -> None:
    worker = await shell(shop)
    job = shop.begin(worker, {"text": "磁盘 disk"})
    assert await job.result() == {"data": "磁盘 disk", "error": None}
    assert job.progress == [("正在看", 40)]
    assert shop.lines == [("warning", "慢", job.id)]
    assert await asyncio.wait_for(worker.ping(), 20) == {}
    assert [(one.pid, one.busy) for one in worker.processes()] == [(worker.pid, 0)]


async def test_the_worker_of_the_documentation_runs_in_node(shop: Shop, node: Worker) -> None:
    job = shop.begin(node, {"name": "小王"}, locale="zh")
    assert await job.result() == {"data": {"greeting": "你好 小王"}, "error": None}
    assert job.progress == [("正在想", 50)]
    many = [shop.begin(node, {"name": str(number), "ms": 20}) for number in range(4)]
    assert [(await one.result())["data"]["greeting"] for one in many] == [
        f"你好 {number}" for number in range(4)
    ]


async def test_a_call_in_node_can_be_cancelled_and_the_worker_lives_on(shop: Shop, node: Worker) -> None:
    job = shop.begin(node, {"name": "x", "ms": 600_000})
    await eventually(lambda: job.progress)
    node.cancel(job.id)
    with pytest.raises(Raised, match="the handler was cancelled"):
        await job.result()
    assert (await shop.ask(node, {"name": "y"}))["data"]["greeting"] == "你好 y"


async def test_a_worker_leaves_when_its_wire_is_closed(shop: Shop, node: Worker) -> None:
    node.close()
    await asyncio.wait_for(node.exited.wait(), 20)
    assert shop.exits == ["the worker ended with exit code 0"]


async def test_an_error_fails_its_call_alone(shop: Shop) -> None:
    worker = await shell(shop)
    with pytest.raises(Raised, match="坏了: it broke"):
        await shop.ask(worker, {"text": "fail"})
    with pytest.raises(ResultTooLarge):
        await shop.ask(worker, {"text": "large"})
    assert (await shop.ask(worker, {"text": "again"}))["data"] == "again"


async def test_a_worker_that_dies_fails_its_calls(shop: Shop) -> None:
    worker = await shell(shop)
    with pytest.raises(Crashed, match="ended with signal SIGSEGV: about to fall"):
        await shop.ask(worker, {"text": "die"})
    assert not alive(worker.pid)


async def test_its_limits_hold_before_it_begins(shop: Shop) -> None:
    text = SHELL.replace(
        '"result\\":{\\"data\\":\\"$text\\"', '"result\\":{\\"data\\":\\"$(ulimit -n) $(ulimit -c)\\"'
    )
    worker = await shell(shop, text, limits={"open_files": 77})
    assert (await shop.ask(worker, {"text": "x"}))["data"] == "77 0"


@pytest.mark.parametrize(
    ("text", "failure", "reason"),
    [
        ("#!/bin/sh\necho 没有配置 >&2; exit 1\n", Crashed, "ended with exit code 1: 没有配置"),
        ("#!/no/such/interpreter\n", Crashed, "exit code 127: hermes: ./worker.sh cannot be run"),
        (SHELL.replace('"protocol":1', '"protocol":2'), Raised, "does not speak protocol 1"),
    ],
)
async def test_a_worker_that_does_not_come_up_says_why(
    shop: Shop, text: str, failure: type[Exception], reason: str
) -> None:
    with pytest.raises(failure, match=reason):
        await shell(shop, text)


async def test_a_program_that_is_not_on_the_path_is_told(shop: Shop) -> None:
    shop.write({}, runtime="process", command=["no-such-program"])
    with pytest.raises(Raised, match="no program no-such-program on PATH"):
        await shop.open()


def test_a_worker_that_is_not_there_is_told_when_the_manifest_is_read(shop: Shop) -> None:
    shop.write({}, runtime="process", command=["./gone"])
    with pytest.raises(ConfigError, match=r"there is no file \./gone in the plugin's folder"):
        shop.load()


async def test_stderr_can_be_opened_by_its_name(shop: Shop) -> None:
    """Scripts write to /dev/stderr as often as to descriptor 2, and a socket cannot be opened."""
    await shell(shop, SHELL.replace("#!/bin/sh\n", "#!/bin/sh\necho 出错了 >/dev/stderr\n", 1))
    await eventually(lambda: "出错了" in [text for _, text, _ in shop.lines])
