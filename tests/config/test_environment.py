from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hermes.config.document import Document, Substituted
from hermes.config.environment import substitute


def filled(value: Any, environ: dict[str, str], base_dir: Path = Path("/nowhere")) -> Document:
    return substitute(Document("a.yaml", {"key": value}, {("key",): 7}), environ, base_dir=base_dir)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${NAME}", "工具"),
        ("a ${NAME} and ${OTHER}!", "a 工具 and x$y!"),
        ("$${NAME}", "${NAME}"),
        ("$$${NAME}", "$${NAME}"),
        ("${EMPTY}", ""),
        ("$NAME $ {NAME}", "$NAME $ {NAME}"),
        ("${NESTED}", "${NAME}"),
    ],
)
def test_places_in_a_text_are_filled_once(written: str, meant: str) -> None:
    environ = {"NAME": "工具", "OTHER": "x$y", "EMPTY": "", "NESTED": "${NAME}"}
    document = filled(written, environ)
    assert document.data == {"key": meant}
    assert document.problems == ()


def test_places_are_filled_at_any_depth_and_never_in_keys() -> None:
    document = filled([{"${A}": ["${A}", 5, None]}], {"A": "1"})
    assert document.data == {"key": [{"${A}": ["1", 5, None]}]}


def test_only_what_was_filled_in_is_marked_as_such() -> None:
    document = filled(["${A}", "plain"], {"A": "secret"})
    assert [isinstance(value, Substituted) for value in document.data["key"]] == [True, False]


def test_a_file_is_taken_without_the_newlines_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes("密钥 x\r\n\n".encode())
    assert filled(f"${{file:{tmp_path}/token}}", {}).data["key"] == "密钥 x"
    assert filled("${file:token}", {}, tmp_path).data["key"] == "密钥 x"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("${GONE}", "the environment variable GONE is not set"),
        ("${file:/nowhere/token}", "the file /nowhere/token: there is no such file"),
        ("${NAME:-x}", "is neither ${NAME} nor ${file:/path}"),
        ("${}", "is neither ${NAME} nor ${file:/path}"),
        ("${NAME", "without its }"),
    ],
)
def test_what_cannot_be_filled_is_a_problem_that_names_the_key(written: str, words: str) -> None:
    document = filled(written, {"NAME": "x"})
    (problem,) = document.problems
    assert str(problem).startswith("a.yaml:7: key: ")
    assert words in problem.detail


def test_a_variable_that_is_no_text_is_a_problem_and_not_shown() -> None:
    (problem,) = filled("${BYTES}", {"BYTES": os.fsdecode(b"secret\xff")}).problems
    assert "is not UTF-8 text" in problem.detail
    assert "secret" not in problem.detail
