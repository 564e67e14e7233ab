from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hermes.errors import ConfigError, ConfigErrors
from hermes.routing.weights import IntentWeights, Trial, Weights, read_weights, write_weights

WEIGHTS = Weights(
    {
        "log.show": IntentWeights(3, -0.5, {"build log": 1.25, "日志": 0.9}, {"flow": -0.3}),
        "service.restart": IntentWeights(2, -0.75, {"重启": 1.1}, {}),
    },
    rows=6,
    strangers=1,
    learned_at="2026-11-30T09:00:00+00:00",
    calibration=(-1.5, 0.5, 1.0, 0.25, 0.0, 0.0),
    trials=(
        Trial("log.show", 4, 3, (("log.show", 0.4, 2), ("service.restart", -0.9, 1))),
        Trial(None, 2, 0, ()),
    ),
    words=frozenset({"please", "the"}),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_weights(WEIGHTS, tmp_path / "weights.json")
    return tmp_path / "weights.json"


def test_what_is_written_is_read_again(file: Path) -> None:
    assert read_weights(file) == WEIGHTS
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert [path.name for path in file.parent.iterdir()] == ["weights.json"]


def test_people_can_read_it(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    assert '    "build log": 1.25,' in lines
    assert '    "日志": 0.9' in lines


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 2}, "format"),
        ({"intents": {"a": {"examples": 1, "bias": 0, "keywords": {"x": -1}}}}, "intents.a.keywords.x"),
        ({"intents": {"a": {"examples": 1, "bias": 0, "keywords": {"x": 101}}}}, "intents.a.keywords.x"),
        ({"intents": {"a": {"examples": 1, "bias": 0, "keywords": {}, "against": {"x": 1}}}}, "against"),
        ({"intents": {"a": {"examples": -1, "bias": 0, "keywords": {}}}}, "intents.a.examples"),
        ({"intents": []}, "intents"),
        ({"learned": None}, "learned"),
        ({"calibration": {"factors": ["x"] * 6, "trials": []}}, "calibration.factors"),
        ({"calibration": {"factors": [], "trials": []}}, "calibration.factors: must be 6 numbers"),
        ({"calibration": {"factors": [0.5] * 7, "trials": []}}, "calibration.factors: must be 6 numbers"),
        ({"calibration": {"factors": [0.5] * 6, "trials": [["a", 1, 1]]}}, "calibration.trials"),
        (
            {"calibration": {"factors": [0.5] * 6, "trials": [["a", 1, 1, [["b", 0.5]]]]}},
            "calibration.trials",
        ),
        (
            {"calibration": {"factors": [0.5] * 6, "trials": [["a", 10**400, 1, []]]}},
            "calibration.trials[0][1]",
        ),
        (
            {"calibration": {"factors": [0.5] * 6, "trials": [["a", 1, 1, [["b", 0.5, -1]]]]}},
            "calibration.trials[0][3][0][2]",
        ),
        ({"words": 5}, "words"),
        ({"more": 1}, "more"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(file: Path, change: dict[str, Any], told: str) -> None:
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | change))
    with pytest.raises((ConfigError, ConfigErrors)) as refused:
        read_weights(file)
    assert told in str(refused.value)
    assert "weights.json" in str(refused.value)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff", b'{"format": NaN}', b"[" * 100_000, b'"\\ud800"', b"1" * 5_000]
)
def test_what_is_no_such_file_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises((ConfigError, ConfigErrors)):
        read_weights(file)


def test_a_file_that_is_not_there_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="make it anew with hermes router learn"):
        read_weights(tmp_path / "nothing.json")


def test_what_is_no_plain_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path, tmp_path / "pipe.json"):
        with pytest.raises(ConfigError, match="is not a file"):
            read_weights(path)


def test_where_nothing_can_be_written_the_old_file_stays(file: Path) -> None:
    before = file.read_bytes()
    (file.parent / "folder").mkdir()
    with pytest.raises(OSError, match=r"folder"):
        write_weights(WEIGHTS, file.parent / "folder")
    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["folder", "weights.json"]
