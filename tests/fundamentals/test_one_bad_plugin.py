"""A plugin that is wrong is told with its place and what to do about it; Hermes starts, and all others work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, left_behind, write_plugin
from tests.support.saving import answer, make
from tests.support.waiting import until

GOOD = ("one", "two", "three")


def good(home: Path) -> None:
    for name in GOOD:
        make(home, name, name)


def check_good(daemon: Daemon) -> None:
    assert [answer(daemon, name) for name in GOOD] == list(GOOD)
    assert {daemon.plugin(name)["state"] for name in GOOD} == {"ready"}


def failure(daemon: Daemon, name: str) -> tuple[Any, Any, str]:
    """Return where and why a plugin failed, once it has."""
    error = until(lambda: daemon.plugin(name)["last_error"])
    assert daemon.plugin(name)["state"] == "failed"
    return error["file"], error["line"], error["message"]


def test_one_that_raises_when_it_is_imported_is_listed_as_failed_with_its_reason(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    good(tmp_path)
    write_plugin(tmp_path, "bad", "import json\n\nraise RuntimeError('没有许可证 no licence')\n")
    daemon = start_daemon()
    assert failure(daemon, "bad") == ("plugin.py", 3, "RuntimeError: 没有许可证 no licence")
    check_good(daemon)
    error = daemon.send(intent="bad")["envelope"]["error"]
    assert (error["code"], "没有许可证" in error["message"]) == ("plugin_unavailable", True)
    ready = daemon.get("/readyz")
    assert (ready.status, ready.json) == (200, {"status": "degraded", "reasons": ["plugin bad failed"]})


def test_a_key_of_old_and_a_wrong_type_put_out_that_plugin_alone_at_every_start(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    good(tmp_path)
    folder = write_plugin(tmp_path, "bad")
    text = '{\n  "name": "bad",\n  "intents": ["bad"],\n  "commands": ["bad"],\n  "timeout": "soon"\n}\n'
    (folder / "manifest.json").write_text(text)
    for _ in range(3):
        daemon = start_daemon()
        check_good(daemon)
        file, line, message = failure(daemon, "bad")
        (told,) = daemon.lines(event="plugin_refused")
        problems = "\n".join(told["problems"])
        assert (file, line) == ("manifest.json", 4)
        assert "commands: " in message
        assert f"{folder / 'manifest.json'}:4: commands: " in problems
        assert f"{folder / 'manifest.json'}:5: timeout: " in problems
        daemon.stop()


def test_what_is_no_plugin_is_left_alone_or_told_with_its_path(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    good(tmp_path)
    plugins = tmp_path / "plugins"
    for name in ("README.md", "helper.py", ".DS_Store", "Thumbs.db"):
        (plugins / name).write_text("raise SystemExit\n")
    for name in ("empty", "__MACOSX", ".git", "no-manifest"):
        (plugins / name).mkdir()
    (plugins / "no-manifest" / "plugin.py").write_text("raise SystemExit\n")
    (plugins / "__MACOSX" / "manifest.json").write_text("{}")
    (plugins / "nowhere").symlink_to(tmp_path / "nowhere")
    daemon = start_daemon()
    check_good(daemon)
    rows = {row["name"]: row["state"] for row in daemon.get("/v1/plugins").json["items"]}
    assert rows == dict.fromkeys(GOOD, "ready") | {"empty": "failed", "no-manifest": "failed"}
    told = [problem for line in daemon.lines(event="plugin_refused") for problem in line["problems"]]
    assert sorted(problem.split(": ")[0] for problem in told) == [
        str(plugins / name / "manifest.json") for name in ("empty", "no-manifest")
    ]


MANIFEST = {"name": "p", "version": "2.0.0", "description": "说明 🚀", "intents": ["p"]}
PLAIN = json.dumps(MANIFEST, ensure_ascii=False, indent=2)
REFUSED = {
    "UTF-16": (PLAIN.encode("utf-16"), 1, "save it as UTF-8"),
    "another character set": (PLAIN.replace("🚀", "").encode("gbk"), 4, "save it as UTF-8"),
    "a comma at the end": (PLAIN.replace("]\n}", "],\n}").encode(), 8, "remove the comma before the }"),
    "a key that is there twice": (
        PLAIN.replace("{\n", '{\n  "name": "q",\n', 1).encode(),
        3,
        "is there twice; the first is in line 2, remove one",
    ),
    "nothing at all": (b"", 1, "the file is empty"),
    "a name in Chinese": (PLAIN.replace('"p"', '"插件"', 1).encode(), 2, "must match"),
}


def test_a_manifest_may_be_saved_as_windows_does_and_anything_else_is_told_with_file_line_and_remedy(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    good(tmp_path)
    for number, text in enumerate(("\ufeff" + PLAIN, PLAIN.replace("\n", "\r\n"))):
        folder = make(tmp_path, f"fine{number}", "fine")
        (folder / "manifest.json").write_bytes(text.replace('"p"', f'"fine{number}"').encode())
    for number, (content, _, _) in enumerate(REFUSED.values()):
        (make(tmp_path, f"bad{number}") / "manifest.json").write_bytes(content)
    daemon = start_daemon()
    check_good(daemon)
    for number in range(2):
        row = daemon.plugin(f"fine{number}")
        assert (answer(daemon, f"fine{number}"), row["version"]) == ("fine", "2.0.0")
    for number, (case, (_, line, remedy)) in enumerate(REFUSED.items()):
        file, found, message = failure(daemon, f"bad{number}")
        assert (file, found, remedy in message) == ("manifest.json", line, True), (case, message)


RAISES = """
class Own(BaseException):
    pass

RAISED = {
    "Exception": lambda: Exception("没有 nothing"),
    "Own": lambda: Own("自己的 own"),
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "MemoryError": MemoryError,
    "StopIteration": StopIteration,
    "ExceptionGroup": lambda: ExceptionGroup("多个 several", [ValueError("a"), TypeError("b")]),
}

def deeper():
    return deeper()

async def handle(message, context):
    import os
    what = message["payload"].get("what")
    if what == "RecursionError":
        deeper()
    if what:
        raise RAISED[what]()
    return os.getpid()
"""


def test_whatever_a_handler_raises_ends_its_call_alone_with_one_line_and_the_log_has_the_trace(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    write_plugin(tmp_path, "p", RAISES)
    daemon = start_daemon({"circuit_breaker": {"failure_threshold": 1000}})
    pid = answer(daemon)
    kinds = ("Exception", "Own", "SystemExit", "KeyboardInterrupt", "GeneratorExit", "MemoryError")
    for what in (*kinds, "RecursionError", "StopIteration", "ExceptionGroup"):
        record = daemon.send(intent="p", payload={"what": what})
        error = record["envelope"]["error"]
        assert (error["code"], "\n" in error["message"], "Traceback" in error["message"]) == (
            "plugin_error",
            False,
            False,
        ), what
        line = daemon.line(event="plugin_log", level="error", request_id=record["request_id"])
        assert "Traceback" in line["text"]
        assert answer(daemon) == pid, what


HANGS = "import time\ntime.sleep(600)\n"


def test_one_that_is_imported_for_ever_holds_up_nobody_at_the_start_nor_when_it_is_saved(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    good(tmp_path)
    (make(tmp_path, "saved", "old") / "plugin.py").write_text(
        "async def handle(message, context):\n    return 'old'\n"
    )
    write_plugin(tmp_path, "bad", HANGS)
    daemon = start_daemon()
    waiting = daemon.accept(intent="bad")
    check_good(daemon)
    assert answer(daemon, "saved") == "old"
    (tmp_path / "plugins" / "saved" / "plugin.py").write_text(HANGS)
    staged = daemon.state_dir / "staged" / "saved"
    until(lambda: len(list(staged.iterdir())) == 2)  # it is being tried
    for _ in range(5):
        check_good(daemon)
        assert answer(daemon, "saved") == "old"
    (tmp_path / "plugins" / "one" / "plugin.py").write_text(
        "async def handle(message, context):\n    return 'one anew'\n"
    )
    until(lambda: daemon.plugin("one")["reloads"] == 1)
    assert answer(daemon, "one") == "one anew"
    assert daemon.get("/healthz").status == 200
    row = daemon.plugin("saved")
    assert (row["state"], row["reloads"], answer(daemon, "saved")) == ("ready", 0, "old")
    assert daemon.record(waiting)["status"] == "accepted"
    assert daemon.delete(f"/v1/messages/{waiting}").status == 202
    daemon.stop()
    assert left_behind(tmp_path) == []
