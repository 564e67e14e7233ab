from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hermes.config.document import Document
from hermes.config.yaml_file import MAX_VALUES, plain_value, read_yaml
from hermes.errors import ConfigError


def read(folder: Path, text: str | bytes) -> Document:
    file = folder / "a.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_yaml(file)


def problems(document: Document) -> list[str]:
    return [f"{problem.line} {problem.key}: {problem.detail}" for problem in document.problems]


def test_every_key_and_item_has_its_line(tmp_path: Path) -> None:
    document = read(tmp_path, "# 注释\na:\n  b: 1\n  c:\n  - x\n  - {d: 2,\n     e: 3}\n")
    assert document.data == {"a": {"b": 1, "c": ["x", {"d": 2, "e": 3}]}}
    assert document.lines[("a", "b")] == 3
    assert document.lines[("a", "c", 1)] == 6
    assert document.lines[("a", "c", 1, "e")] == 7


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("1:30", "1:30"),
        ("0600", "0600"),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("60", 60),
        ("-0.5", -0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("~", None),
        ("", None),
        ("null", None),
        ("流水线 🚀", "流水线 🚀"),
        ("|-\n  two\n  lines", "two\nlines"),
    ],
)
def test_words_mean_what_they_mean_in_json_and_all_else_is_text(
    tmp_path: Path, written: str, meant: Any
) -> None:
    value = read(tmp_path, f"key: {written}\n").data["key"]
    assert value == meant
    assert type(value) is type(meant)


def test_a_key_stays_the_word_that_was_written(tmp_path: Path) -> None:
    assert read(tmp_path, "on: 1\nyes: 2\n5: 3\n").data == {"on": 1, "yes": 2, "5": 3}


def test_a_key_that_is_there_twice_is_a_problem_that_names_both_lines(tmp_path: Path) -> None:
    document = read(tmp_path, "a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert problems(document) == ["4 a.b: is there twice; the first is in line 2, remove one"]


def test_tags_and_merge_keys_and_odd_keys_are_problems(tmp_path: Path) -> None:
    document = read(tmp_path, "a: &x {y: 1}\nb: !!python/name:os.system z\nc: {<<: *x}\n? [1]\n: 2\n")
    assert [problem.line for problem in document.problems] == [2, 3, 4]
    assert "tag" in problems(document)[0]
    assert "merge keys" in problems(document)[1]
    assert "single word" in problems(document)[2]


def test_an_escape_that_is_half_of_a_character_is_a_problem(tmp_path: Path) -> None:
    assert "half of a character" in problems(read(tmp_path, 'a: "\\ud800"\n'))[0]
    assert "half of a character" in problems(read(tmp_path, '"\\ud800": 1\n'))[0]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "is not valid YAML"),
        ("a: 1\n\tb: 2\n", 2, "is not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "single document"),
        ("a: *nobody\n", 1, "undefined alias"),
        (b"a: 1\nb: \x07\n", 2, "control character"),
        ("a: 1\nb: ]\n", 2, "is not valid YAML"),
    ],
)
def test_what_is_no_yaml_is_refused_with_its_line(
    tmp_path: Path, text: str | bytes, line: int, words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        read(tmp_path, text)
    assert raised.value.line == line


def test_an_alias_repeats_its_values(tmp_path: Path) -> None:
    assert read(tmp_path, "a: &x {y: 1}\nb: *x\n").data == {"a": {"y": 1}, "b": {"y": 1}}


def test_aliases_that_multiply_are_stopped(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(ConfigError, match=f"more than {MAX_VALUES} values"):
        read(tmp_path, "\n".join(rows))


@pytest.mark.parametrize("text", ["a: &x [*x]\n", "[" * 5000])
def test_endless_depth_is_stopped(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="nested too deeply"):
        read(tmp_path, text)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(1 - 10**18, 10**18 - 1)
        | st.text("ab中 :#'\"{}-[]🚀", max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text("ab中on", min_size=1), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_what_a_yaml_writer_writes_is_read_back(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    folder = tmp_path_factory.mktemp("yaml")
    document = read(folder, yaml.safe_dump({"key": value}, allow_unicode=True))
    assert document.data == {"key": value}
    assert document.problems == ()


@pytest.mark.parametrize("word", ["1e999", "9" * 400, "12345678901234567890", "-", "1.", ".5", "0x10", "+1"])
def test_what_does_not_fit_into_a_number_stays_text(word: str) -> None:
    assert plain_value(word) == word
