from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.config.document import Document, KeyPath
from hermes.config.json_file import read_json
from hermes.errors import ConfigError


def read(folder: Path, text: str) -> Document:
    (folder / "a.json").write_bytes(text.encode())
    return read_json(folder / "a.json")


def paths(value: Any, here: KeyPath = ()) -> set[KeyPath]:
    """Return the way to every value inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {here}.union(*(paths(item, (*here, key)) for key, item in inner))


def test_every_key_and_item_has_its_line(tmp_path: Path) -> None:
    text = '{\r\n "a": [1,\r\n  {"b": "x]}, \\"",\r\n   "流水线": []}],\r\n "c": {}}\r\n'
    document = read(tmp_path, text)
    assert document.lines == {
        (): 1,
        ("a",): 2,
        ("a", 0): 2,
        ("a", 1): 3,
        ("a", 1, "b"): 3,
        ("a", 1, "流水线"): 4,
        ("c",): 5,
    }


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text('ab中 :,\\"{}[]🚀\n'),
        lambda inner: st.lists(inner) | st.dictionaries(st.text('ab中:"\\'), inner),
        max_leaves=10,
    ),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
)
def test_any_json_is_read_back_with_a_line_for_each_value(
    tmp_path_factory: pytest.TempPathFactory, value: Any, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    document = read(tmp_path_factory.mktemp("json"), text)
    assert document.data == value
    assert set(document.lines) == paths(value)
    assert max(document.lines.values()) <= text.count("\n") + 1


def test_a_key_that_is_there_twice_is_a_problem_that_names_both_lines(tmp_path: Path) -> None:
    document = read(tmp_path, '{"a": {"b": 1},\n "c": [{"d": 1,\n  "d": 2}],\n "a": {"b": 2}}')
    assert [str(problem).partition("a.json:")[2] for problem in document.problems] == [
        "3: c[0].d: is there twice; the first is in line 2, remove one",
        "4: a: is there twice; the first is in line 1, remove one",
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"a": 1,\n "b": }', 2, "is not valid JSON"),
        ('{"a": 1,\n}', 1, "is not valid JSON: .*; remove the comma before the }"),
        ('{"a": [1, 2,\n ]}', 2, "is not valid JSON: .*; remove the comma before the ]"),
        ("{'a': 1}", 1, "is not valid JSON: .*; write texts in double quotes"),
        ('{"a": 1, // 一\n "b": 2}', 1, "is not valid JSON: .*; remove the comments, JSON has none"),
        ("", 1, "is not valid JSON: .*; the file is empty"),
        ("\n ", 1, "is not valid JSON: .*; the file is empty"),
        ('{"a": NaN}', None, "NaN is not a number of JSON"),
        ('{"a": "\\ud800"}', None, "half of a character"),
        ("[" * 100_000, None, "nested too deeply"),
        ("1" * 5_000, None, "too many digits"),
    ],
)
def test_what_is_no_json_is_refused(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        read(tmp_path, text)
    if line:
        assert raised.value.line in (line, line + 1)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    assert read(tmp_path, '\ufeff{"名": "值"}').data == {"名": "值"}
