from __future__ import annotations

from typing import Any

import pytest

from hermes.config.validation import InvalidPart
from hermes.host.manifests.schema import Problem, Schema, converted


def test_each_missing_and_each_unknown_field_is_a_problem_of_its_own() -> None:
    schema = Schema(
        {
            "properties": {"a": {}, "b": {}},
            "required": ["a", "b"],
            "additionalProperties": False,
            "type": "object",
        }
    )
    assert sorted(schema.problems({"c": 1, "项目": 2}), key=lambda problem: problem.field) == [
        Problem("a", "a is missing", missing=True),
        Problem("b", "b is missing", missing=True),
        Problem("c", "c is not known; known are a, b"),
        Problem("项目", "项目 is not known; known are a, b"),
    ]
    assert [problem.message for problem in schema.problems({"a": 1}, locale="zh")] == ["缺少参数 b"]


def test_a_fault_deep_inside_is_named_with_its_way() -> None:
    inner = {"type": "object", "required": ["id"]}
    schema = Schema({"properties": {"list": {"type": "array", "items": inner}}})
    assert schema.problems({"list": [{"id": 1}, {}]}) == [
        Problem("list.1.id", "list.1.id is missing", missing=True)
    ]


def test_huge_values_and_names_are_cut() -> None:
    schema = Schema({"properties": {"x": {"type": "integer"}}, "additionalProperties": False})
    problems = schema.problems({"x": "字" * 100_000, "y" * 100_000: 1})
    assert len(problems) == 2
    assert all(len(problem.message) < 250 and len(problem.field) <= 80 for problem in problems)


def test_no_more_problems_are_told_than_somebody_reads() -> None:
    assert len(Schema({"additionalProperties": False}).problems({str(n): n for n in range(10_000)})) == 20


def test_values_are_not_told_when_they_may_be_secret() -> None:
    problems = Schema({"properties": {"x": {"maxLength": 1}}}).problems({"x": "secret"}, shown=False)
    assert problems == [Problem("x", "x must have at most 1 characters")]


def test_a_value_without_bottom_is_a_problem_and_no_crash() -> None:
    schema = Schema({"properties": {"x": {"type": "integer"}}})
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"x": deep}
    assert schema.problems(deep) == [Problem("", "the payload is nested too deeply or holds invalid text")]
    assert schema.problems({"x": "\ud800"})[0].field == ""


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"properties": {"a": {"type": "objekt"}}}, ("properties", "a", "type")),
        ({"required": "a"}, ("required",)),
        ({"properties": {"a": {"pattern": "("}}}, ("properties", "a", "pattern")),
        ({"$ref": "#/nowhere"}, ()),
        ({"$ref": "file:///etc/hostname"}, ()),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, ()),
    ],
)
def test_what_is_no_schema_or_looks_outside_is_refused(schema: dict[str, Any], path: tuple[str, ...]) -> None:
    with pytest.raises(InvalidPart, match="is not a valid JSON Schema") as raised:
        Schema(schema)
    assert raised.value.path == path


@pytest.mark.parametrize(
    ("text", "wanted", "value"),
    [
        ("12", "integer", 12),
        ("-3", "integer", -3),
        ("1.5", "integer", "1.5"),
        ("12", "number", 12),
        ("1.5e2", "number", 150.0),
        ("nan", "number", "nan"),
        ("1e999", "number", "1e999"),
        ("True", "boolean", True),
        ("否", "boolean", False),
        ("maybe", "boolean", "maybe"),
        ("12", "string", "12"),
        ("12", ["string", "integer"], "12"),
        ("12", ["integer", "null"], 12),
        ("12", None, "12"),
        ("１２", "integer", 12),
    ],
)
def test_text_becomes_what_the_schema_asks_for_or_stays_text(text: str, wanted: Any, value: Any) -> None:
    result = converted(text, {} if wanted is None else {"type": wanted})
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("2", 2), ("1.5", 1.5), ("TRUE", True), ("null", None), ("web", "web"), ("9", "9"), ("8", "8")],
)
def test_text_becomes_the_one_of_a_list_that_is_written_so(text: str, value: Any) -> None:
    result = converted(text, {"enum": [2, 1.5, True, None, "web", "9", 9]})
    assert result == value
    assert type(result) is type(value)
