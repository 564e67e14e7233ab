"""The plugins that the page for authors shows are right, and do what it says."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import uvloop

from hermes.cli.inspection import check_keyword
from hermes.cli.plugins.examples import lost_examples
from hermes.entries import entries_of
from hermes.host.manifests.inspection import Inspection
from hermes.host.manifests.manifest import load_manifest
from hermes.routing.decision import Thresholds
from hermes.routing.router import Router
from tests.support.samples import SAMPLES
from tests.support.shop import Shop

DOCS = Path(__file__).parents[2] / "docs"
ENTRIES = {"python": "plugin.py", "executable": "run.sh", "process": "worker.sh"}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run these tests on the daemon's own kind of loop."""
    return {"uvloop": uvloop.new_event_loop}


def blocks(page: str) -> list[tuple[str, str]]:
    text = (DOCS / page).read_text("utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def shown() -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """Return the manifest and the files of each plugin of the page, by its name."""
    found: dict[str, tuple[dict[str, Any], dict[str, str]]] = {}
    (worker,) = (code for kind, code in blocks("wire.md") if kind == "javascript")
    page = blocks("plugins.md")
    for number, (kind, text) in enumerate(page):
        manifest = json.loads(text) if kind == "json" else {}
        if "intents" not in manifest:
            continue
        runtime = manifest.get("runtime", "python")
        if "node" in manifest.get("command", ()):
            files = {"worker.mjs": worker}
        elif runtime == "http":
            files = {}
        else:
            code = "python" if runtime == "python" else "shell"
            files = {ENTRIES[runtime]: next(text for kind, text in page[number:] if kind == code)}
        found[manifest["name"]] = manifest, files
    return found


SHOWN = shown()


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    await shop.close()


def test_every_runtime_is_shown() -> None:
    kinds = {manifest.get("runtime", "python") for manifest, _ in SHOWN.values()}
    assert kinds == {"python", "executable", "process", "http"}


@pytest.mark.parametrize("name", SHOWN)
def test_a_plugin_of_the_page_is_right_and_its_examples_lead_to_it(shop: Shop, name: str) -> None:
    manifest, files = SHOWN[name]
    look = Inspection(check_keyword).look(shop.write(files, **manifest))
    assert look.problems == ()
    assert look.manifest is not None
    assert list(lost_examples(look.manifest, look.document)) == []


def test_every_example_arrives_where_all_samples_and_the_plugins_of_all_pages_are(tmp_path: Path) -> None:
    readme = blocks("../README.md")
    first, code = (next(text for kind, text in readme if kind == wanted) for wanted in ("json", "python"))
    folders = []
    for manifest, files in [*SHOWN.values(), (json.loads(first), {"plugin.py": code})]:
        folders.append(tmp_path / manifest["name"])
        folders[-1].mkdir()
        for name, text in (files | {"manifest.json": json.dumps(manifest)}).items():
            (folders[-1] / name).write_text(text, encoding="utf-8")
            (folders[-1] / name).chmod(0o755)
    manifests = map(load_manifest, (*folders, *SAMPLES.values()))
    entries = [entry for one in manifests for entry in entries_of(one)]
    router = Router(("prefix", "keyword"), Thresholds(), entries=entries)
    wanted = {
        text: one.name for folder in folders for one in load_manifest(folder).intents for text in one.examples
    }
    decisions = {text: router.route(text).decision for text in wanted}
    assert {text: one.intent for text, one in decisions.items()} == wanted
    assert {one.warning for one in decisions.values()} == {None}


async def test_the_handler_of_the_page_counts_days(shop: Shop) -> None:
    manifest, files = SHOWN["days-until"]
    shop.write(files, **manifest)
    worker = await shop.open()
    good, bad = shop.begin(worker, {"date": "2027-01-01"}), shop.begin(worker, {"date": "2027-13-01"})
    assert isinstance((await good.result())["data"]["days"], int)
    assert good.progress == [("正在数日子 / counting the days until 2027-01-01", 50)]
    assert (await bad.result())["error"]["code"] == "invalid_payload"


async def test_ten_lines_of_shell_are_a_plugin_with_progress(shop: Shop) -> None:
    manifest, files = SHOWN["disk-free"]
    assert len(files["run.sh"].splitlines()) == 10
    shop.write(files, **manifest)
    job = shop.begin(await shop.open(), {})
    assert 0 <= (await job.result())["data"]["used_percent"] <= 100
    assert [percent for _, percent in job.progress] == [10, 100]
    assert ("info", "asked in en", job.id) in shop.lines


async def test_the_shell_that_speaks_the_wire_remembers(shop: Shop) -> None:
    manifest, files = SHOWN["counter"]
    shop.write(files, **manifest)
    worker = await shop.open()
    assert await worker.ping() == {}
    first = shop.begin(worker, {"text": '你好 "id":7,"method":"ping",'})
    assert (await first.result())["data"] == {"count": 1}
    assert (await shop.ask(worker))["data"] == {"count": 2}
    assert first.progress == [("在数 / counting", None)]
