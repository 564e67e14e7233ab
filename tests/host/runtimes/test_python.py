from __future__ import annotations

from typing import Any

import pytest

from hermes.errors import ConfigError
from hermes.host.workers.failures import Crashed, Raised
from hermes.host.workers.worker import Worker
from tests.support.shop import Shop

HANDLE = """
import os, resource

async def handle(message, context):
    if message["payload"].get("hungry"):
        return len(bytearray(2 << 30))
    await context["progress"]("正在看", 40)
    files, core = (resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE))
    return {"data": [files, core, os.environ.get("GITLAB_TOKEN"), os.getcwd()], "error": None}
"""


async def plugin(shop: Shop, text: str = HANDLE, **manifest: Any) -> Worker:
    shop.write({"plugin.py": text}, **manifest)
    return await shop.open()


async def test_a_handler_runs_within_its_limits_and_sees_what_its_manifest_names(shop: Shop) -> None:
    shop.environ = {"GITLAB_TOKEN": "geheim", "OTHER": "no"}
    worker = await plugin(shop, env=["GITLAB_TOKEN"], limits={"open_files": 99, "memory_mb": 512})
    job = shop.begin(worker)
    assert (await job.result())["data"] == [99, 0, "geheim", str(shop.home / "p")]
    assert job.progress == [("正在看", 40)]


async def test_memory_over_the_limit_fails_the_call_and_not_the_worker(shop: Shop) -> None:
    worker = await plugin(shop, limits={"memory_mb": 512})
    with pytest.raises(Raised, match="MemoryError"):
        await shop.ask(worker, {"hungry": True})
    assert (await shop.ask(worker))["error"] is None


async def test_the_entry_may_be_another_function_of_a_package(shop: Shop) -> None:
    folder = shop.write({}, entry="tool.main:run")
    (folder / "tool").mkdir()
    (folder / "tool" / "main.py").write_text("async def run(message, context):\n    return '跑'\n")
    assert await shop.ask(await shop.open()) == "跑"


async def test_a_plugin_that_raises_while_it_is_imported_says_where(shop: Shop) -> None:
    with pytest.raises(Raised, match="RuntimeError: 坏了") as refused:
        await plugin(shop, "\nraise RuntimeError('坏了')\n")
    assert refused.value.where == {"file": "plugin.py", "line": 2}


async def test_a_plugin_that_leaves_while_it_is_imported_has_crashed(shop: Shop) -> None:
    with pytest.raises(Crashed, match="exit code 3"):
        await plugin(shop, "import os\nos._exit(3)\n")


def test_the_entry_may_be_a_module_or_a_package_and_must_be_there(shop: Shop) -> None:
    folder = shop.write({}, entry="tool:run")
    with pytest.raises(ConfigError) as refused:
        shop.load()
    assert str(refused.value).endswith(":1: entry: there is no tool.py beside it for the entry tool:run")
    (folder / "tool").mkdir()
    (folder / "tool" / "__init__.py").touch()
    assert shop.load().manifest.options.entry == "tool:run"
    (folder / "tool" / "main.py").touch()
    shop.write({}, entry="tool.main:run")
    assert shop.load().manifest.options.entry == "tool.main:run"
