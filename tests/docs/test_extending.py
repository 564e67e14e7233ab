"""The runtime that the documentation shows can be installed beside Hermes, and runs the worker that it shows."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest
import uvloop

from hermes.errors import ConfigError
from tests.support.shop import Shop

DOCS = Path(__file__).parents[2] / "docs"


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run these tests on the daemon's own kind of loop."""
    return {"uvloop": uvloop.new_event_loop}


def block(page: str, heading: str, language: str) -> str:
    """Return the first example below a heading."""
    text = (DOCS / page).read_text("utf-8").split(f"\n## {heading}\n")[1]
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
async def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    """A shop where the runtime of the page is installed."""
    site = tmp_path / "site"
    info = site / "node_runtime-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: node-runtime\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hermes.host.runtimes]\nnode = node_runtime:NodeRuntime\n")
    (site / "node_runtime.py").write_text(block("extending.md", "A runtime", "python"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "node_runtime", raising=False)
    shop = Shop(tmp_path)
    yield shop
    await shop.close()


async def test_the_runtime_of_the_page_runs_the_worker_of_the_wire(shop: Shop) -> None:
    shop.write({"worker.mjs": block("wire.md", "A whole worker", "javascript")}, runtime="node")
    assert await shop.ask(await shop.open(), {"name": "小王"}) == {
        "data": {"greeting": "你好 小王"},
        "error": None,
    }


def test_the_runtime_of_the_page_checks_its_manifests(shop: Shop) -> None:
    shop.write({}, runtime="node", module="gone.mjs")
    with pytest.raises(ConfigError, match=r"module: there is no gone\.mjs in the plugin's folder"):
        shop.load()
    shop.write({}, runtime="node", modul="gone.mjs", limits={"cpu_seconds": 3})
    with pytest.raises(ConfigError) as refused:
        shop.load()
    assert {problem.key for problem in refused.value.problems} == {"modul", "module", "limits.cpu_seconds"}
