"""What is loaded follows what lies in the plugins' folders, and never gets worse by it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hermes.host.workers.failures import Superseded
from tests.support.bench import HOLD, OBEY, Bench, alive, eventually


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


async def test_an_edit_replaces_the_code_and_counts_as_one_reload(bench: Bench) -> None:
    folder = bench.write("p", says("old"))
    bench.start()
    assert await bench.run("p") == "old"
    before = bench.plugin("p")
    write(folder / "plugin.py", says("new"))
    await bench.look()
    assert await bench.run("p") == "new"
    after = bench.plugin("p")
    assert (before["reloads"], after["reloads"]) == (0, 1)
    assert before["hash"] != after["hash"]
    assert bench.metric("hermes_reloads_total", plugin="p", result="swapped") == 1
    await eventually(lambda: not alive(before["workers"][0]["pid"]))


async def test_looking_at_what_has_not_changed_does_nothing(bench: Bench) -> None:
    folder = bench.write("p", OBEY)
    bench.start()
    pid = await bench.worker("p")
    write(folder / "plugin.py", OBEY)
    write(folder / "__pycache__" / "plugin.cpython-311.pyc", "bytecode")
    write(folder / "out.log", "a line")
    await bench.look()
    assert await bench.run("p") == pid
    assert row_of(bench, "p", "reloads", "last_error") == [0, None]


async def test_a_broken_edit_leaves_the_old_version_serving_and_says_where_it_is_broken(bench: Bench) -> None:
    folder = bench.write("p", says("old"))
    bench.start()
    assert await bench.run("p") == "old"
    serving = bench.plugin("p")["hash"]
    write(folder / "plugin.py", BROKEN)
    await bench.look()
    assert await bench.run("p") == "old"
    assert row_of(bench, "p", "state", "hash", "reloads") == ["ready", serving, 0]
    error = bench.plugin("p")["last_error"]
    assert (error.file, error.line) == ("plugin.py", 3)
    assert "SyntaxError" in error.message
    [line] = bench.book.lines(event="plugin_refused")
    assert (line["plugin"], line["file"], line["line"], line["serving"]) == ("p", "plugin.py", 3, serving)
    assert bench.metric("hermes_reloads_total", plugin="p", result="failed") == 1
    write(folder / "plugin.py", says("mended"))
    await bench.look()
    assert await bench.run("p") == "mended"
    assert row_of(bench, "p", "reloads", "last_error") == [1, None]


async def test_going_back_to_what_serves_is_no_reload_and_clears_the_error(bench: Bench) -> None:
    folder = bench.write("p", says("old"))
    bench.start()
    assert await bench.run("p") == "old"
    write(folder / "plugin.py", BROKEN)
    await bench.look()
    write(folder / "plugin.py", says("old"))
    await bench.look()
    assert row_of(bench, "p", "reloads", "last_error", "state") == [0, None, "ready"]
    assert await bench.run("p") == "old"


async def test_a_broken_manifest_leaves_the_old_version_serving(bench: Bench) -> None:
    folder = bench.write("p", says("old"))
    bench.start()
    write(folder / "manifest.json", '{\n  "name": "p",\n  "intents": 3\n}\n')
    await bench.look()
    assert await bench.run("p") == "old"
    error = bench.plugin("p")["last_error"]
    assert (error.file, error.line) == ("manifest.json", 3)
    [line] = bench.book.lines(event="plugin_refused")
    assert str(folder / "manifest.json") in line["problems"][0]


async def test_a_helper_a_data_file_and_a_subpackage_are_part_of_the_plugin(bench: Bench) -> None:
    folder = bench.write(
        "p",
        "from pathlib import Path\nimport helper\nfrom sub import deep\n\nDATA = Path('data.txt').read_text()\n"
        "async def handle(message, context):\n    return [helper.WORD, deep.WORD, DATA]\n",
    )
    write(folder / "helper.py", "WORD = 'a'\n")
    write(folder / "sub" / "__init__.py", "")
    write(folder / "sub" / "deep.py", "WORD = 'b'\n")
    write(folder / "data.txt", "c")
    bench.start()
    assert await bench.run("p") == ["a", "b", "c"]
    for file, text, result in (
        ("helper.py", "WORD = 'A'\n", ["A", "b", "c"]),
        ("sub/deep.py", "WORD = 'B'\n", ["A", "B", "c"]),
        ("data.txt", "C", ["A", "B", "C"]),
    ):
        write(folder / file, text)
        await bench.look()
        assert await bench.run("p") == result
    (folder / "helper.py").unlink()
    await bench.look()
    assert await bench.run("p") == ["A", "B", "C"]
    assert row_of(bench, "p", "reloads") == [3]
    assert "helper" in bench.plugin("p")["last_error"].message


async def test_running_calls_finish_on_the_version_that_they_began_on(bench: Bench) -> None:
    folder = bench.write("p", HOLD)
    bench.start()
    running = bench.run("p", request_id="r1")
    await running.started.wait()
    [old] = bench.plugin("p")["workers"]
    write(folder / "plugin.py", says("new"))
    await bench.look()
    assert await bench.run("p") == "new"
    assert alive(old["pid"])
    (bench.data("p") / "go").touch()
    assert await running == "r1"
    await eventually(lambda: not alive(old["pid"]))
    staged = bench.home / "state" / "staged" / "p"
    await eventually(lambda: len(list(staged.iterdir())) == 1)


async def test_who_waits_for_a_place_is_sent_to_the_new_version(bench: Bench) -> None:
    folder = bench.write("p", HOLD, concurrency=1)
    bench.start()
    running = bench.run("p", request_id="r1")
    await running.started.wait()
    waiting = bench.run("p")
    await eventually(lambda: bench.plugin("p")["queue_depth"] == 1)
    write(folder / "plugin.py", says("new"))
    await bench.look()
    with pytest.raises(Superseded):
        await waiting
    (bench.data("p") / "go").touch()
    assert await running == "r1"


async def test_a_new_folder_is_taken_in_and_one_that_is_gone_is_let_go(bench: Bench) -> None:
    bench.write("p", HOLD)
    bench.start()
    q = bench.write("q", says("here"))
    await bench.look()
    assert await bench.run("q") == "here"
    assert row_of(bench, "q", "reloads") == [0]
    running = bench.run("p", request_id="r1")
    await running.started.wait()
    shutil.rmtree(bench.home / "plugins" / "p")
    shutil.rmtree(q)
    assert bench.host is not None
    await bench.host.look()
    await eventually(lambda: bench.host is not None and bench.host.find("p") is None)
    assert row_of(bench, "p", "state") == ["draining"]
    (bench.data("p") / "go").touch()
    assert await running == "r1"
    await eventually(lambda: bench.host is not None and bench.host.describe() == [])


async def test_a_renamed_folder_is_the_same_plugin_and_no_reload(bench: Bench) -> None:
    folder = bench.write("p", OBEY)
    bench.start()
    pid = await bench.worker("p")
    folder.rename(folder.with_name("other-name"))
    await bench.look()
    assert await bench.run("p") == pid
    assert row_of(bench, "p", "reloads", "state", "last_error") == [0, "ready", None]
    write(folder.with_name("other-name") / "plugin.py", says("new"))
    await bench.look()
    assert await bench.run("p") == "new"


async def test_a_plugin_that_changes_its_name_leaves_nothing_of_the_old_one(bench: Bench) -> None:
    folder = bench.write("p", says("p"))
    bench.start()
    assert await bench.run("p") == "p"
    write(folder / "manifest.json", json.dumps({"name": "q", "intents": ["q"]}))
    await bench.look()
    assert await bench.run("q") == "p"
    assert bench.host is not None
    await eventually(lambda: [row["name"] for row in bench.host.describe()] == ["q"] if bench.host else None)


async def test_an_intent_can_move_from_one_plugin_to_another_at_once(bench: Bench) -> None:
    a, z = bench.write("a", says("a")), bench.write("z", says("z"))
    bench.start()
    write(a / "manifest.json", json.dumps({"name": "a", "intents": ["a", "z"]}))
    write(z / "manifest.json", json.dumps({"name": "z", "intents": ["other"]}))
    await bench.look()
    assert [await bench.run(intent) for intent in ("a", "z", "other")] == ["a", "a", "z"]
    assert row_of(bench, "a", "last_error") == [None]


async def test_of_two_folders_with_one_name_the_second_waits_for_the_first_to_go(bench: Bench) -> None:
    first = bench.write("p", says("first"))
    second = bench.write("zz", says("second"))
    write(second / "manifest.json", json.dumps({"name": "p", "intents": ["p"]}))
    bench.start()
    assert await bench.run("p") == "first"
    assert "rename one" in bench.plugin("zz")["last_error"].message
    shutil.rmtree(first)
    await bench.look()
    await eventually(lambda: row_of(bench, "p", "state") == ["ready"])
    await bench.look()
    assert await bench.run("p") == "second"


async def test_a_candidate_that_hangs_holds_nothing_up_and_is_given_up_for_a_newer_one(bench: Bench) -> None:
    folder = bench.write("p", says("old"))
    bench.write("q", says("q1"))
    bench.start()
    assert await bench.run("p") == "old"
    write(folder / "plugin.py", says("slow", "import time\ntime.sleep(600)"))
    assert bench.host is not None
    await bench.host.look()
    write(bench.home / "plugins" / "q" / "plugin.py", says("q2"))
    await bench.host.look()
    await eventually(lambda: bench.plugin("q")["reloads"] == 1)
    assert [await bench.run("p"), await bench.run("q")] == ["old", "q2"]
    write(folder / "plugin.py", says("fast"))
    await bench.look()
    assert await bench.run("p") == "fast"
    assert row_of(bench, "p", "reloads", "last_error") == [1, None]
