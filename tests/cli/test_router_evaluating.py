"""`hermes router eval`: what is measured, and what is told when figures mean less than they seem to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hermes.routing.weights import write_weights
from tests.cli.command import Hermes
from tests.routing.test_learned import WEIGHTS
from tests.support.daemon import furnish, write_plugin

ROWS = [
    ("看日志", "log.show", "test"),
    ("show the logs", "log.show", "train"),
    ("讲个笑话", "oos", "test"),
    ("开灯", "light.on", "test"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a configuration, weights and rows; it has no plugin."""
    furnish(tmp_path)
    write_weights(WEIGHTS, tmp_path / "router-weights.json")
    write_rows(tmp_path, ROWS)
    return tmp_path


def write_rows(folder: Path, rows: Sequence[tuple[str, str, str]]) -> None:
    lines = [{"text": text, "intent": label, "split": split} for text, label, split in rows]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, lines)))


def measured(hermes: Hermes, *words: str) -> dict[str, Any]:
    done = hermes("router", "eval", "rows.jsonl", *words, "--json")
    assert done.code == 0, done.err
    told: dict[str, Any] = json.loads(done.out)
    return told


def test_where_there_are_no_plugins_the_weights_are_measured_alone(lonely: Hermes, home: Path) -> None:
    told = measured(lonely, "--split", "test")
    assert told["measured"] == "the weights in router-weights.json alone"
    assert (told["texts"], told["accuracy"], told["keywords_per_intent"]) == (3, 1.0, 2.7)
    assert measured(lonely, "--split", "test", "--weights", "router-weights.json")["accuracy"] == 1.0


def test_with_plugins_it_is_their_keywords_and_the_weights_of_their_intents(
    lonely: Hermes, home: Path
) -> None:
    write_plugin(home, "lights", intents=[{"name": "light.on", "keywords": {"开灯": 0.9, "不": -0.5}}])
    told = measured(lonely, "--split", "test")
    assert told["measured"] == "the keywords of the plugins here, and the weights in router-weights.json"
    assert (told["accuracy"], told["oos"], told["unknown_intents"]) == (1.0, 2, ["log.show"])
    assert told["keywords_per_intent"] == 1
    alone = measured(lonely, "--split", "test", "--weights", "router-weights.json")
    assert alone["unknown_intents"] == ["light.on"]


def test_rows_for_other_intents_and_rows_that_were_learned_are_warned_about(
    lonely: Hermes, home: Path
) -> None:
    done = lonely("router", "eval", "rows.jsonl")
    assert done.code == 0
    assert done.err.splitlines() == [
        "warning: 1 rows are for intents that this router does not have, so out of scope: light.on",
        "warning: 1 of 4 rows are for training; if they were learned, this is no measure: --split test",
    ]
    write_rows(home, [row for row in ROWS if row[1] != "light.on"])
    assert lonely("router", "eval", "rows.jsonl", "--split", "test").err == ""


def test_of_few_rows_no_thresholds_are_suggested(lonely: Hermes, home: Path) -> None:
    lines = lonely("router", "eval", "rows.jsonl", "--split", "test").lines
    assert lines[-1].startswith("No thresholds are suggested: only ")


def test_a_split_that_no_row_has_is_an_error_that_names_those_there_are(lonely: Hermes, home: Path) -> None:
    done = lonely("router", "eval", "rows.jsonl", "--split", "validation")
    assert done.code == 1
    assert done.err == (
        "Error: rows.jsonl: has no row of the split validation; the splits of its rows: test, train\n"
    )


def test_without_plugins_and_weights_there_is_nothing_to_measure(lonely: Hermes, home: Path) -> None:
    (home / "router-weights.json").unlink()
    done = lonely("router", "eval", "rows.jsonl")
    assert done.code == 1
    assert done.err.endswith("name some with --weights\n")
