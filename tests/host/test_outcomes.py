"""What plugins came to is counted by their names, and the names of those that are gone do not pile up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.bench import Bench, eventually
from tests.support.saving import says

HTTP = {"runtime": "http", "http": {"url": "http://127.0.0.1:9/"}}


def write(bench: Bench, name: str, text: str | None = None) -> Path:
    """Write a plugin that needs no process."""
    folder = bench.home / "plugins" / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(text or json.dumps({"name": name, "intents": [name]} | HTTP))
    return folder


def counted(bench: Bench, metric: str) -> set[str]:
    """Return the plugins that a metric has a sample of."""
    return {
        sample.labels["plugin"]
        for family in bench.metrics.registry.collect()
        for sample in family.samples
        if sample.name == metric
    }


async def test_the_counters_of_the_last_hundred_that_are_gone_stay_and_no_more(bench: Bench) -> None:
    write(bench, "stays")
    bench.start()
    names = [f"p{number}" for number in range(104)]
    for name in names:
        write(bench, name)
    broken = [f"broken{number}" for number in range(3)]
    for name in broken:
        write(bench, name, "{")
    await bench.look()
    assert counted(bench, "hermes_reloads_total") == {"stays", *names, *broken}
    for name in (*broken, *names):
        shutil.rmtree(bench.home / "plugins" / name)
        if name in {*broken, *names[:3]}:
            await bench.look()
    await bench.look()
    await eventually(lambda: counted(bench, "hermes_queue_depth") == {"stays"})
    assert counted(bench, "hermes_breaker_state") == {"stays"}
    left = counted(bench, "hermes_reloads_total")
    assert "stays" in left
    assert len(left) == 101
    assert not left & {*broken, names[0]}
    assert bench.metric("hermes_reloads_total", plugin=names[-1], result="removed") == 1


async def test_one_that_comes_back_counts_on(bench: Bench) -> None:
    bench.start()
    for _ in range(3):
        folder = write(bench, "p")
        await bench.look()
        shutil.rmtree(folder)
        await bench.look()
        await eventually(lambda: counted(bench, "hermes_queue_depth") == set())
    assert bench.metric("hermes_reloads_total", plugin="p", result="loaded") == 3
    assert bench.metric("hermes_reloads_total", plugin="p", result="removed") == 3


async def test_a_folder_that_is_mended_is_counted_by_the_name_of_its_plugin_from_then_on(
    bench: Bench,
) -> None:
    folder = write(bench, "folder", "{")
    bench.start()
    assert counted(bench, "hermes_reloads_total") == {"folder"}
    (folder / "manifest.json").write_text(json.dumps({"name": "p", "intents": ["p"]}))
    (folder / "plugin.py").write_text(says("here"))
    await bench.look()
    assert bench.metric("hermes_reloads_total", plugin="p", result="loaded") == 1
    assert bench.metric("hermes_reloads_total", plugin="folder", result="failed") == 1
