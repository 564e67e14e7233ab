"""What is wrong is told with names that its reader knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes.cli.problems import problem_line, problem_objects, shown
from hermes.errors import ConfigError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_file_below_the_current_folder_is_named_from_there(tmp_path: Path) -> None:
    assert shown(tmp_path / "插件" / "a") == "插件/a"
    assert shown(tmp_path.parent / "b") == str(tmp_path.parent / "b")


def test_a_problem_is_one_line_of_what_is_known(tmp_path: Path) -> None:
    whole = ConfigError("is\nwrong\x1b[2J", file=str(tmp_path / "a.json"), line=3, key="k")
    assert problem_line(whole) == "a.json:3: k: is wrong"
    assert problem_line(ConfigError("is odd", key="k"), "warning: ") == "k: warning: is odd"
    assert problem_line(ConfigError("is odd")) == "is odd"


def test_a_script_gets_the_parts(tmp_path: Path) -> None:
    problems = [ConfigError("坏了", file=str(tmp_path / "a.json"), line=3, key="k"), ConfigError("odd")]
    assert problem_objects(problems) == [
        {"file": "a.json", "line": 3, "key": "k", "detail": "坏了"},
        {"file": None, "line": None, "key": None, "detail": "odd"},
    ]
