from __future__ import annotations

from pathlib import Path

import pytest

from hermes.config.document import ABSENT, Document, dotted, read_text
from hermes.errors import ConfigError, ConfigErrors


def test_a_path_is_written_as_a_person_would_write_it() -> None:
    assert dotted(("router", "strategies", 0)) == "router.strategies[0]"
    assert dotted(("intents", 1, "keywords", "流水线")) == "intents[1].keywords.流水线"
    assert dotted(()) == ""


def test_a_problem_of_something_missing_stands_at_the_nearest_line_above() -> None:
    document = Document("a.yaml", {"router": {}}, {(): 1, ("router",): 4})
    problem = document.problem(("router", "min_confidence"), "is required")
    assert str(problem) == "a.yaml:4: router.min_confidence: is required"


def test_values_are_found_by_their_path_and_absent_ones_are_told_apart_from_null() -> None:
    document = Document(data={"a": [None, {"b": 1}]})
    assert document.at(("a", 0)) is None
    assert document.at(("a", 1, "b")) == 1
    assert document.at(("a", 2)) is ABSENT
    assert document.at(("a", 1, "b", "c")) is ABSENT


def test_all_problems_are_raised_together_in_the_order_of_their_lines() -> None:
    document = Document("a.yaml", lines={("x",): 9, ("y",): 2})
    with pytest.raises(ConfigErrors) as raised:
        document.refuse(document.problem(("x",), "is late"), document.problem(("y",), "is early"))
    assert str(raised.value) == "a.yaml:2: y: is early\na.yaml:9: x: is late"
    assert (raised.value.line, raised.value.key, raised.value.detail) == (2, "y", "is early")
    assert [problem.line for problem in raised.value.problems] == [2, 9]


def test_a_single_error_is_its_own_only_problem() -> None:
    error = ConfigError("is wrong")
    assert error.problems == (error,)


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\ufeff流水线\r\n".encode())
    assert read_text(tmp_path / "a") == "流水线\r\n"


def test_a_file_in_another_encoding_is_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo\n" + "三".encode("gbk"))
    with pytest.raises(ConfigError, match="a:3: is not UTF-8 text"):
        read_text(tmp_path / "a")


def test_a_folder_in_place_of_a_file_is_told_as_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_text(tmp_path)
