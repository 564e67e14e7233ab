"""What an admin asks of a plugin, what the configuration says of it, and reloads while it is in use."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hermes import errors
from hermes.config import Document
from hermes.errors import Conflict, NotFound
from hermes.host.workers.failures import Superseded, Unavailable
from tests.support.bench import HOLD, OBEY, Bench, eventually


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


BROKEN = "import os\n\ndef broken(:\n"


def says(word: str, before: str = "") -> str:
    """Return the code of a plugin that answers with a word."""
    return f"{before}\nasync def handle(message, context):\n    return {word!r}\n"


def row_of(bench: Bench, name: str, *members: str) -> list[Any]:
    row = bench.plugin(name)
    return [row[member] for member in members]


async def test_a_change_of_its_section_replaces_a_plugin_and_no_other(bench: Bench) -> None:
    code = "async def handle(message, context):\n    return context['config'].get('word')\n"
    schema = {"type": "object", "properties": {"word": {"type": "string"}}}
    bench.write("p", code, config=schema)
    bench.write("q", OBEY)
    bench.configs = {"p": {"word": "one"}}
    host = bench.start()
    assert await bench.run("p") == "one"
    other = await bench.worker("q")
    await host.reconfigure({"p": {"word": "two"}}, Document())
    await host.settle()
    assert await bench.run("p") == "two"
    assert [row_of(bench, name, "reloads") for name in "pq"] == [[1], [0]]
    assert await bench.run("q") == other
    await host.reconfigure({"p": {"word": 3}}, Document())
    await host.settle()
    assert await bench.run("p") == "two"
    assert "word" in bench.plugin("p")["last_error"].message


async def test_a_reload_can_be_asked_for_and_tells_why_it_failed(bench: Bench) -> None:
    folder = bench.write("p", OBEY)
    host = bench.start()
    pid = await bench.worker("p")
    await host.reload("p")
    assert await bench.run("p") == await bench.worker("p", other_than=pid)
    assert row_of(bench, "p", "reloads") == [1]
    write(folder / "plugin.py", BROKEN)
    with pytest.raises(
        Conflict, match=r"plugin\.py:3: SyntaxError: .*; version 0\.0\.0 \(\w{16}\) serves on"
    ):
        await host.reload("p")
    with pytest.raises(NotFound):
        await host.reload("nobody")


async def test_a_disabled_plugin_takes_no_calls_until_it_is_enabled_over_restarts_too(bench: Bench) -> None:
    folder = bench.write("p", HOLD)
    host = bench.start()
    running = bench.run("p", request_id="r1")
    await running.started.wait()
    await host.disable("p")
    assert row_of(bench, "p", "state") == ["disabled"]
    with pytest.raises(Unavailable, match="disabled"):
        await bench.run("p")
    (bench.data("p") / "go").touch()
    assert await running == "r1"
    write(folder / "plugin.py", says("new"))
    await bench.look()
    await eventually(lambda: row_of(bench, "p", "state", "workers") == ["disabled", []])
    await bench.stop()
    host = bench.start()
    assert row_of(bench, "p", "state") == ["disabled"]
    with pytest.raises(Unavailable, match="disabled"):
        await bench.run("p")
    await host.enable("p")
    assert await bench.run("p") == "new"
    assert row_of(bench, "p", "state", "reloads") == ["ready", 0]


async def test_no_call_fails_or_runs_twice_while_a_plugin_is_reloaded_over_and_over(bench: Bench) -> None:
    code = "async def handle(message, context):\n    return message['request_id']\n"
    folder = bench.write("p", code, concurrency=2)
    bench.start()
    done: list[str] = []

    async def call(name: str) -> None:
        while True:
            try:
                done.append(await bench.run("p", request_id=name))
            except Superseded:
                continue
            return

    async def load() -> None:
        for number in range(400):
            await asyncio.gather(*(call(f"r{number}.{part}") for part in range(3)))

    loading = asyncio.ensure_future(load())
    for number in range(15):
        write(folder / "plugin.py", f"# {number}\n{code}")
        await bench.look()
    await loading
    assert sorted(done) == sorted(f"r{number}.{part}" for number in range(400) for part in range(3))
    assert row_of(bench, "p", "reloads", "failures") == [15, 0]


async def test_an_order_that_a_later_one_overtakes_says_so_and_the_later_one_holds(bench: Bench) -> None:
    folder = bench.write("p", says("old"))
    host = bench.start()
    await host.disable("p")
    write(folder / "plugin.py", says("slow", "import time\ntime.sleep(600)"))
    enabling = asyncio.ensure_future(host.enable("p"))
    await eventually(lambda: bench.host is not None and bench.host._folders.named("p").task is not None)
    await host.disable("p")
    with pytest.raises(Conflict, match="later order"):
        await enabling
    await bench.stop()
    bench.start()
    assert row_of(bench, "p", "state") == ["disabled"]


async def test_a_candidate_that_was_given_up_for_a_change_that_came_to_nothing_is_tried_again(
    bench: Bench,
) -> None:
    folder = bench.write("p", says("old"))
    host = bench.start()
    assert await bench.run("p") == "old"
    slow = (
        f"import pathlib, time\nwhile not pathlib.Path({str(bench.home / 'go')!r}).exists(): time.sleep(0.01)"
    )
    write(folder / "plugin.py", says("new", slow))
    await host.look()
    (folder / "beside.txt").touch()
    await host.look()
    (folder / "beside.txt").unlink()
    (bench.home / "go").touch()
    await bench.look()
    await bench.look()
    assert await bench.run("p") == "new"
    assert row_of(bench, "p", "last_error") == [None]


async def test_what_cannot_be_kept_for_the_next_start_is_not_done_and_told(bench: Bench) -> None:
    bench.write("p", OBEY)
    host = bench.start()
    pid = await bench.worker("p")
    in_the_way = bench.home / "state" / "disabled"
    in_the_way.write_text("a file where a folder is to be")
    with pytest.raises(errors.Unavailable, match=r"p stays as it is: .*disabled cannot be written \(.+\)"):
        await host.disable("p")
    assert (await bench.run("p"), row_of(bench, "p", "state")) == (pid, ["ready"])
    assert bench.book.lines(event="plugin_disabled") == []
    in_the_way.unlink()
    await host.disable("p")
    (in_the_way / "p").unlink()
    (in_the_way / "p").mkdir()
    with pytest.raises(errors.Unavailable, match="p stays as it is"):
        await host.enable("p")
    assert row_of(bench, "p", "state") == ["disabled"]
    with pytest.raises(Unavailable, match="disabled"):
        await bench.run("p")
    assert bench.book.lines(event="plugin_enabled") == []
    (in_the_way / "p").rmdir()
    (in_the_way / "p").touch()
    await host.enable("p")
    assert (row_of(bench, "p", "state"), list(in_the_way.iterdir())) == (["ready"], [])
