from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.errors import ConfigError, NotFound
from hermes.host.plugin import Plugin
from tests.support.bench import OBEY, Bench, alive, eventually
from tests.support.logbook import Logbook
from tests.support.waiting import until

SHOW_ENVIRONMENT = (
    "import os\nasync def handle(message, context):\n    return dict(os.environ), context['secrets']\n"
)


async def test_a_call_runs_in_a_process_of_its_own_and_returns_what_the_handler_returned(
    bench: Bench,
) -> None:
    pid = await bench.begin_plugin(
        "import os\nasync def handle(message, context):\n    return os.getpid(), message['payload']\n"
    )
    assert pid != os.getpid()
    assert await bench.run("p", {"text": "你是谁 🚀"}) == [pid, {"text": "你是谁 🚀"}]


async def test_a_worker_sees_the_safe_part_of_the_environment_and_what_its_manifest_names(
    tmp_path: Path, book: Logbook
) -> None:
    safe = {"PATH": os.environ["PATH"], "HOME": "/somewhere", "LANG": "C.UTF-8", "TZ": "Asia/Shanghai"}
    secret = {"GITLAB_TOKEN": "令牌", "DATABASE_URL": "not for everyone", "PYTHONPATH": "/elsewhere"}
    bench = Bench(tmp_path, book, safe | secret)
    bench.write("one", SHOW_ENVIRONMENT, env=["GITLAB_TOKEN"])
    bench.write("two", SHOW_ENVIRONMENT)
    bench.start()
    environment, secrets = await bench.run("one")
    assert environment.pop("HERMES_WORKER")  # the mark by which its processes are known
    assert environment == safe | {"GITLAB_TOKEN": "令牌", "PYTHONUTF8": "1"}
    assert secrets == {"GITLAB_TOKEN": "令牌"}
    environment, secrets = await bench.run("two")
    assert (environment.keys(), secrets) == ({*safe, "PYTHONUTF8", "HERMES_WORKER"}, {})
    await bench.stop()


async def test_a_plugin_may_write_to_a_folder_of_its_own_that_nobody_else_can_read(bench: Bench) -> None:
    code = """
from pathlib import Path

async def handle(message, context):
    note = Path(context["data_dir"]) / "note"
    note.write_text(note.read_text() + "x" if note.exists() else "x")
    return str(note), note.read_text()
"""
    await bench.begin_plugin(code)
    file = str(bench.data("p") / "note")
    assert [await bench.run("p") for _ in range(2)] == [[file, "x"], [file, "xx"]]
    assert mode(bench.data("p")) == 0o700


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_running_a_plugin_leaves_its_folder_as_it_is(bench: Bench) -> None:
    folder = bench.write("p", "import words\nasync def handle(message, context):\n    return words.HELLO\n")
    write(folder / "words.py", "HELLO = '你好'\n")
    before = bench.load().describe()
    bench.start()
    assert await bench.run("p") == "你好"
    assert names(folder) == ["manifest.json", "plugin.py", "words.py"]
    assert bench.plugin("p")["hash"] == before[0]["hash"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


async def test_an_intent_is_found_with_its_plugin_and_its_timeout(bench: Bench) -> None:
    bench.write(
        "quick", OBEY, timeout=2.5, intents=["a.b", {"name": "a.c", "writes": True, "idempotent": True}]
    )
    bench.write("plain", OBEY)
    host = bench.load(default_timeout=30)
    assert {(target.service.intent.name, target.timeout) for target in host.targets} == {
        ("a.b", 2.5),
        ("a.c", 2.5),
        ("plain", 30),
    }
    target = host.find("a.c")
    assert target is not None
    assert (target.plugin.manifest.name, target.service.repeatable) == ("quick", True)
    assert host.find("a.d") is None


async def test_what_is_broken_is_listed_with_its_reason_and_everything_else_goes_on(bench: Bench) -> None:
    write(bench.home / "plugins" / "broken" / "manifest.json", '{\n  "name": "broken",\n  "intents": []\n}')
    write(bench.home / "plugins" / "broken" / "plugin.py", OBEY)
    write(bench.home / "plugins" / "no-manifest" / "plugin.py", "")
    bench.write("secretive", OBEY, env=["NOT_SET_ANYWHERE"])
    bench.write("twin-a", OBEY)
    twin = bench.write("twin-b", OBEY)
    write(twin / "manifest.json", json.dumps({"name": "twin-a", "intents": ["other"]}))
    thief = bench.write("zz-thief", OBEY)
    write(thief / "manifest.json", json.dumps({"name": "zz-thief", "intents": ["new", "twin-a"]}))
    bench.start()
    rows = {row["name"]: row for row in bench.host.describe()} if bench.host else {}
    assert {name: row["state"] for name, row in rows.items()} == {
        "broken": "failed",
        "no-manifest": "failed",
        "secretive": "failed",
        "twin-a": "ready",
        "twin-b": "failed",
        "zz-thief": "failed",
    }
    errors = {name: row["last_error"] for name, row in rows.items() if row["last_error"]}
    assert (errors["broken"].file, errors["broken"].line) == ("manifest.json", 3)
    assert "NOT_SET_ANYWHERE" in errors["secretive"].message
    assert "twin-a already" in errors["twin-b"].message
    assert "belongs to the plugin twin-a already" in errors["zz-thief"].message
    assert bench.host is not None
    assert bench.host.find("new") is None
    assert {line["plugin"] for line in bench.book.lines(event="plugin_refused")} == errors.keys()
    assert isinstance(await bench.run("twin-a"), int)


async def test_names_that_are_no_utf8_spoil_nothing(bench: Bench) -> None:
    bench.write("good", OBEY)
    os.mkdir(os.fsencode(bench.home / "plugins") + b"/\xb2\xe5\xbc\xfe")
    os.close(os.open(os.fsencode(bench.home / "plugins" / "good") + b"/\xb2\xe5", os.O_CREAT))
    bench.start()
    assert isinstance(await bench.run("good"), int)
    assert bench.host is not None
    described = json.dumps(bench.host.describe(), default=str, ensure_ascii=False).encode()
    assert "\ufffd".encode() in described
    assert len(bench.book.lines(event="plugin_refused")) == 1


async def test_the_host_can_be_told_to_refuse_a_plugin(bench: Bench) -> None:
    def check(plugin: Plugin) -> None:
        if plugin.manifest.name == "bad":
            raise ConfigError("没有关键词", file="bad/manifest.json", line=4, key="intents[0]")

    bench.write("bad", OBEY)
    bench.write("good", OBEY)
    host = bench.load(check)
    assert [row["state"] for row in host.describe()] == ["failed", "ready"]
    error = host.plugin("bad")["last_error"]
    assert (error.message, error.file, error.line) == ("intents[0]: 没有关键词", "manifest.json", 4)


async def test_only_folders_that_are_not_hidden_are_plugins_and_none_at_all_is_fine(
    bench: Bench, tmp_path: Path
) -> None:
    assert bench.load().describe() == []
    bench.write("visible", OBEY)
    write(tmp_path / "plugins" / ".git" / "HEAD", "")
    write(tmp_path / "plugins" / "__pycache__" / "x", "")
    write(tmp_path / "plugins" / "README.md", "")
    assert [row["name"] for row in bench.load().describe()] == ["visible"]


async def test_a_plugin_is_described_as_the_contract_says(bench: Bench) -> None:
    bench.write("p", OBEY, version="1.2.3", intents=["b", "a"])
    bench.load()
    row = bench.plugin("p")
    assert list(row) == [
        *("name", "version", "hash", "state", "runtime", "intents", "loaded_at", "last_error", "breaker"),
        *("workers", "queue_depth", "calls", "failures", "p50_ms", "p95_ms", "reloads"),
    ]
    assert (row["name"], row["version"], row["intents"], row["reloads"]) == ("p", "1.2.3", ["a", "b"], 0)
    assert row["breaker"] == {"state": "closed", "failures": 0, "retry_at": None}
    write(bench.home / "plugins" / "broken" / "manifest.json", "{")
    bench.start()
    await bench.worker("p")
    assert list(bench.plugin("p")["workers"][0]) == ["pid", "busy", "rss_bytes", "since"]
    assert list(bench.plugin("broken")) == list(row)
    with pytest.raises(NotFound, match="'nobody'"):
        bench.plugin("nobody")


async def test_the_hash_is_of_what_a_plugin_is_and_not_of_what_running_it_leaves(bench: Bench) -> None:
    folder = bench.write("p", OBEY)
    first = bench.load().plugin("p")["hash"]
    write(folder / "__pycache__" / "plugin.pyc", "x")
    write(folder / ".hidden", "x")
    assert bench.load().plugin("p")["hash"] == first
    write(folder / "words.txt", "x")
    assert bench.load().plugin("p")["hash"] != first


LITTLE_HOST = """
import asyncio, sys
from pathlib import Path
import uvloop
from tests.support.bench import Bench
from tests.support.logbook import Logbook

async def main():
    bench = Bench(Path(sys.argv[1]), Logbook())
    bench.start()
    for name in ("idle", "busy"):
        print(await bench.worker(name), flush=True)
    await bench.run("busy")

uvloop.run(main())
"""


@pytest.fixture
def host_process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process with a host, and the folder of its plugins."""
    process = subprocess.Popen(
        [sys.executable, "-c", LITTLE_HOST, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.fixture
def two_plugins(tmp_path: Path, book: Logbook) -> None:
    plugins = Bench(tmp_path, book)
    plugins.write("idle", OBEY)
    plugins.write(
        "busy",
        "import pathlib\n"
        "async def handle(message, context):\n"
        "    pathlib.Path(context['data_dir'], 'began').touch()\n"
        "    while True: pass\n",
    )


def test_workers_do_not_outlive_a_host_that_was_killed_even_in_a_busy_loop(
    tmp_path: Path, two_plugins: None, host_process: subprocess.Popen[str]
) -> None:
    assert host_process.stdout is not None
    pids = [int(host_process.stdout.readline()) for _ in range(2)]
    until((tmp_path / "state" / "plugins" / "busy" / "began").exists)
    assert all(map(alive, pids))
    host_process.kill()
    until(lambda: not any(map(alive, pids)))


async def test_when_the_host_stops_a_worker_has_left_even_if_it_runs_something(bench: Bench) -> None:
    pid = await bench.begin_plugin()
    run = bench.run("p", {"do": "sleep"})
    await eventually((bench.data("p") / "began").exists)
    await bench.stop()
    assert not alive(pid)
    with pytest.raises(Exception, match="exit code 0"):
        await run


async def test_many_plugins_start_beside_each_other(bench: Bench) -> None:
    for number in range(6):
        bench.write(f"p{number}", OBEY)
    bench.start()
    pids = await asyncio.gather(*(bench.run(f"p{number}") for number in range(6)))
    assert len(set(pids)) == 6
