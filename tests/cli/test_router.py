"""`hermes router`: what is learned from labelled texts, how it is measured, and that a daemon takes it in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Hermes
from tests.conftest import StartDaemon
from tests.routing.learning.test_train import EXAMPLES, STRANGE
from tests.support.daemon import furnish, write_plugin
from tests.support.waiting import until

KEYS = {
    "accuracy",
    "answered_rate",
    "accuracy_answered",
    "oos_rejected",
    "auroc",
    "ece",
    "keywords_per_intent",
    "p50_us",
    "p99_us",
    "curve",
}
TEST = [
    {"text": "show me the new build logs", "label": "log.show", "split": "test"},
    {"text": "请重启数据库", "intent": "service.restart", "split": "test"},
    {"text": "sing another song", "label": "oos", "split": "test"},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    lines: list[dict[str, Any]] = [{"text": one.text, "label": one.label} for one in (*EXAMPLES, *STRANGE)]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in [*lines, *TEST]), "utf-8")
    return file


def test_what_is_learned_is_written_measured_and_told(lonely: Hermes, rows: Path, tmp_path: Path) -> None:
    done = lonely("router", "learn", "rows.jsonl", "--out", "learned.json")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].startswith(
        f"learned 4 intents from {len(EXAMPLES) + len(STRANGE)} rows, 5 of them for none: "
    )
    assert done.lines[1].startswith("under 30 examples, so keep their hand-written keywords: ")
    assert done.lines[-1] == "wrote learned.json"
    assert "log.show" in json.loads((tmp_path / "learned.json").read_text("utf-8"))["intents"]

    done = lonely("router", "eval", "rows.jsonl", "--weights", "learned.json", "--split", "test", "--json")
    told = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert told.keys() >= KEYS
    assert (told["texts"], told["oos"], told["accuracy"]) == (3, 1, 1.0)
    assert {"threshold", "answered_rate", "accuracy_answered", "oos_rejected"} == told["curve"][0].keys()

    done = lonely("router", "eval", "rows.jsonl", "--weights", "learned.json", "--split", "test")
    assert (done.code, done.err) == (0, "")
    assert any(line.split() == ["accuracy", "100.0%"] for line in done.lines)


def test_the_router_of_the_configuration_is_measured_with_its_plugins(
    lonely: Hermes, rows: Path, tmp_path: Path
) -> None:
    furnish(tmp_path)
    intents = [{"name": "log.show", "keywords": {"logs": 0.9}, "examples": ["show logs", "日志给我看看"]}]
    write_plugin(tmp_path, "logs", "async def handle(m, c): return 1", intents=intents)
    before = json.loads(lonely("router", "eval", rows.name, "--split", "test", "--json").out)
    assert (before["oos"], before["accuracy"]) == (2, 1.0)
    learned = json.loads(lonely("router", "learn", rows.name, "--json").out)
    assert (learned["file"], learned["rows"]) == ("router-weights.json", len(EXAMPLES) + len(STRANGE) + 2)
    after = json.loads(lonely("router", "eval", rows.name, "--split", "test", "--json").out)
    assert after["keywords_per_intent"] > before["keywords_per_intent"] == 1


def test_a_daemon_takes_new_weights_in_and_refuses_bad_ones(
    lonely: Hermes, rows: Path, tmp_path: Path, start_daemon: StartDaemon
) -> None:
    furnish(tmp_path, {"reload": {"debounce": 0.05}})
    for name in ("log.show", "service.restart"):
        intents = [{"name": name, "keywords": {f"k{len(name)}": 0.9}}]
        write_plugin(tmp_path, name.partition(".")[0], "async def handle(m, c): return 1", intents=intents)
    daemon = start_daemon()

    def led_to(text: str) -> str:
        decision = daemon.post("/v1/route", {"text": text}).json
        return str(decision["candidates"][0]["intent"] if decision["candidates"] else "")

    assert led_to("重启网站") == ""
    assert lonely("router", "learn", rows.name).code == 0
    until(lambda: led_to("重启网站") == "service.restart")
    assert daemon.line(event="router_weights")["intents"] == 4

    (tmp_path / "router-weights.json").write_text('{"format": 1}')
    refused = daemon.line(event="router_weights_refused")
    assert "router-weights.json" in str(refused["problems"])
    assert led_to("重启网站") == "service.restart"
    ready = daemon.get("/readyz").json
    assert ready["status"] == "degraded"
    assert any("weights are refused" in reason for reason in ready["reasons"])
    checked = lonely("check")
    assert (checked.code, "router-weights.json" in checked.out) == (1, True)

    (tmp_path / "router-weights.json").unlink()
    daemon.line(event="router_weights_gone")
    until(lambda: led_to("重启网站") == "")
    assert daemon.get("/readyz").json["status"] == "ok"


def test_a_file_that_is_named_has_to_be_there(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path, {"router": {"weights": "mine.json"}})
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "x", "label": "a"}))
    for words in (["check"], ["run"], ["router", "eval", "rows.jsonl"]):
        done = lonely(*words)
        assert done.code == 1
        assert "router.weights: there is no file" in done.out + done.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["learn"], 2, "FILE"),
        (["learn", "nothing.jsonl"], 1, "nothing.jsonl"),
        (["learn", "bad.jsonl"], 1, "bad.jsonl:2"),
        (["learn", "empty.jsonl"], 1, "nothing to learn from"),
        (["learn", "rows.jsonl", "--keywords", "0"], 2, "--keywords"),
        (["learn", "rows.jsonl", "--out", "no/where.json"], 1, "no/where.json"),
        (["eval", "nothing.jsonl"], 1, "nothing.jsonl"),
        (["eval", "empty.jsonl"], 1, "has no row"),
        (["eval", "rows.jsonl", "--split", "other"], 2, "other"),
        (["eval", "rows.jsonl", "--weights", "rows.jsonl"], 1, "rows.jsonl"),
        (["eval", "rows.jsonl"], 1, "no plugin"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    lonely: Hermes, rows: Path, tmp_path: Path, words: list[str], code: int, told: str
) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "x", "label": "a"}\n{"text": ""}\n')
    (tmp_path / "empty.jsonl").write_text("\n")
    done = lonely("router", *words)
    assert done.code == code
    assert told in done.err
    assert code == 2 or len(done.err.splitlines()) == 1
