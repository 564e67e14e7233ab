"""Every plugin runs in a process of its own; what it does there harms nobody else."""

from __future__ import annotations

import pytest

from tests.support.daemon import Daemon
from tests.support.waiting import until


def test_a_plugin_runs_in_its_own_process_under_the_daemon(daemon: Daemon) -> None:
    data = daemon.send(intent="lab.process")["envelope"]["data"]
    assert data["pid"] != daemon.pid
    assert data["parent"] == daemon.pid
    assert data["folder"] == "lab"
    (worker,) = daemon.plugin("lab")["workers"]
    assert worker["pid"] == data["pid"]
    assert worker["rss_bytes"] > 0


def test_a_plugin_keeps_its_process_from_call_to_call(daemon: Daemon) -> None:
    pids = {daemon.send(intent="lab.process")["envelope"]["data"]["pid"] for _ in range(3)}
    assert len(pids) == 1


def test_what_a_plugin_prints_becomes_lines_of_the_log_and_never_an_answer(daemon: Daemon) -> None:
    record = daemon.send(intent="lab.print", payload={"line": "打印出来的 🖨"})
    assert record["envelope"]["data"] == "printed"
    request_id = record["request_id"]
    for text in (
        "打印出来的 🖨",
        '{"jsonrpc": "2.0", "id": 1, "result": "not an answer"}',
        "half a line, and the rest of it",
    ):
        daemon.line(event="plugin_log", text=text, request_id=request_id)
    for text in ("a complaint", "written past Python", "said by a child"):
        daemon.line(event="plugin_log", text=text, plugin="lab")


def test_a_plugin_that_raises_ends_with_one_sentence_and_no_trace(daemon: Daemon) -> None:
    record = daemon.send(intent="lab.raise")
    error = record["envelope"]["error"]
    assert error == {
        "code": "plugin_error",
        "message": "The tool failed: ValueError: that went wrong",
        "retryable": False,
    }
    assert record["envelope"]["data"] is None
    log = daemon.line(event="plugin_log", request_id=record["request_id"], level="error")
    assert "Traceback" in log["text"]
    assert daemon.send(intent="lab.process")["status"] == "succeeded"


def test_a_plugin_that_raises_is_told_of_in_chinese_too(daemon: Daemon) -> None:
    record = daemon.send(intent="lab.raise", payload={"reason": "数据库不见了"})
    assert record["envelope"]["error"]["message"] == "该工具出错：ValueError: 数据库不见了"


def test_an_error_does_not_tell_where_things_lie_on_the_host(daemon: Daemon) -> None:
    message = daemon.send(intent="lab.raise", payload={"file": "orders.csv"})["envelope"]["error"]["message"]
    assert message == "The tool failed: FileNotFoundError: [Errno 2] No such file or directory: 'orders.csv'"


def test_a_plugin_may_fail_with_a_code_of_its_own(daemon: Daemon) -> None:
    error = {"code": "not_found", "message": "没有这个项目", "retryable": True}
    envelope = daemon.send(intent="lab.fail", payload={"error": error, "data": [1], "warning": "w"})[
        "envelope"
    ]
    assert (envelope["error"], envelope["data"], envelope["warning"]) == (error, [1], "w")


@pytest.mark.parametrize(
    "error", ["it just did not work", {"message": "it just did not work", "code": "Not A Code!"}]
)
def test_an_error_without_a_proper_code_is_a_plugin_error(daemon: Daemon, error: object) -> None:
    envelope = daemon.send(intent="lab.fail", payload={"error": error})["envelope"]
    assert envelope["error"] == {
        "code": "plugin_error",
        "message": "it just did not work",
        "retryable": False,
    }


@pytest.mark.parametrize(
    ("what", "data", "warning"),
    [
        ("none", None, None),
        ("text", "just text", None),
        ("number", 42, None),
        ("list", [1, "二", None], None),
        ("other keys", {"data": 1, "more": 2}, None),
        ("warning", 1, "only the first page"),
        ("surrogate", "half ? of a smile", None),
    ],
)
def test_whatever_has_a_json_form_is_a_result(
    daemon: Daemon, what: str, data: object, warning: str | None
) -> None:
    envelope = daemon.send(intent="lab.give", payload={"what": what})["envelope"]
    assert (envelope["data"], envelope["error"], envelope["warning"]) == (data, None, warning)


@pytest.mark.parametrize("what", ["set", "bytes", "nan", "infinity", "huge", "deep", "deeper"])
def test_what_has_no_json_form_is_a_plugin_error(daemon: Daemon, what: str) -> None:
    record = daemon.send(intent="lab.give", payload={"what": what})
    assert record["status"] == "failed"
    assert record["envelope"]["error"]["code"] == "plugin_error"
    assert "\n" not in record["envelope"]["error"]["message"]
    assert daemon.send(intent="lab.process")["status"] == "succeeded"


def test_a_handler_is_told_the_facts_of_its_call_and_nothing_of_others(daemon: Daemon) -> None:
    record = daemon.send(intent="lab.context", payload={"text": "上下文"})
    context = record["envelope"]["data"]
    assert context["request_id"] == context["idempotency_key"] == record["request_id"]
    assert context["principal"] == record["principal"]
    assert (context["config"], context["secrets"], context["locale"]) == ({}, {}, "zh")
    assert context["data_dir"] == str(daemon.state_dir / "plugins" / "lab")
    assert {"progress", "log", "deadline"} <= set(context["others"])


def test_the_list_of_plugins_tells_versions_states_and_counts(daemon: Daemon) -> None:
    daemon.send(intent="lab.process")
    before = daemon.plugin("lab")
    daemon.send(intent="lab.raise")
    after = daemon.plugin("lab")
    assert (after["version"], after["state"], after["runtime"], after["reloads"]) == (
        "1.2.3",
        "ready",
        "python",
        0,
    )
    assert after["intents"] == sorted(after["intents"])
    assert "lab.process" in after["intents"]
    assert (after["calls"] - before["calls"], after["failures"] - before["failures"]) == (1, 1)
    assert after["p50_ms"] <= after["p95_ms"]
    assert until(lambda: [one["busy"] for one in daemon.plugin("lab")["workers"]]) == [0]
