from __future__ import annotations

from typing import Any

import pytest

from hermes.host.manifests.misfits import Locale, description
from hermes.host.manifests.schema import Problem, Schema


def message(schema: dict[str, Any] | bool, value: Any, locale: Locale = "en") -> str:
    (problem,) = Schema({"properties": {"x": schema}}).problems({"x": value}, locale=locale)
    assert problem.field == "x"
    return problem.message


@pytest.mark.parametrize(
    ("schema", "value", "english", "chinese"),
    [
        ({"type": "integer"}, "a", 'x must be a whole number, not "a"', 'x 必须是整数，现在是 "a"'),
        ({"type": ["null", "string"]}, 1, "x must be null or text, not 1", "x 必须是null或文本，现在是 1"),
        (
            {"enum": ["开", "关"]},
            1,
            'x must be one of "开", "关", not 1',
            'x 必须是其中之一："开"、"关"，现在是 1',
        ),
        ({"const": 4}, 5, "x must be 4, not 5", "x 必须是 4，现在是 5"),
        ({"minimum": 3}, 1, "x must be at least 3, not 1", "x 不能小于 3，现在是 1"),
        ({"exclusiveMaximum": 3}, 3, "x must be less than 3, not 3", "x 必须小于 3，现在是 3"),
        (
            {"minLength": 2},
            "a",
            'x must have at least 2 characters, not "a"',
            'x 至少要有 2 个字符，现在是 "a"',
        ),
        ({"maxItems": 1}, [1, 2], "x must have at most 1 items, not [1, 2]", "x 最多 1 项，现在是 [1, 2]"),
        (
            {"maxProperties": 1},
            {"a": 1, "b": 2},
            'x must have at most 1 members, not {"a": 1, "b": 2}',
            'x 最多 1 个成员，现在是 {"a": 1, "b": 2}',
        ),
        (
            {"contains": {"type": "integer"}},
            ["a"],
            'x must have an item of a kind that it lacks, not ["a"]',
            "缺少必需的一种项",
        ),
        (
            {"pattern": r"^\d+$"},
            "a",
            r'x must match the regular expression ^\d+$, not "a"',
            r'x 必须符合正则表达式 ^\d+$，现在是 "a"',
        ),
        (
            {"pattern": r"^v\d+$", "description": "版本号，例如 v2\n或 v3。"},
            "a",
            'x must be of this form: 版本号，例如 v2 或 v3, not "a"',
            'x 必须是这种形式：版本号，例如 v2 或 v3，现在是 "a"',
        ),
        (
            {"format": "date"},
            "a",
            'x must be a date such as 2026-01-31, not "a"',
            'x 必须是日期，例如 2026-01-31，现在是 "a"',
        ),
        (
            {"format": "regex"},
            "(",
            'x must be a valid regex, not "("',
            'x 必须是有效的 regex，现在是 "("',
        ),
        (False, 1, "x must not be given, not 1", "x 不能提供，现在是 1"),
        ({"not": {}}, 1, "x does not fit what the tool accepts, not 1", "x 不符合该工具的要求，现在是 1"),
        (
            {"not": {"const": "root"}, "title": "Anybody but root"},
            "root",
            'x must be of this form: Anybody but root, not "root"',
            'x 必须是这种形式：Anybody but root，现在是 "root"',
        ),
        (
            {"propertyNames": {"pattern": "^x"}},
            {"y": 1},
            'x has a member whose name is not allowed, not {"y": 1}',
            'x 的成员名称不符合要求，现在是 {"y": 1}',
        ),
    ],
)
def test_a_wrong_value_is_told_in_words_with_its_name(
    schema: dict[str, Any] | bool, value: Any, english: str, chinese: str
) -> None:
    assert message(schema, value) == english
    assert chinese in message(schema, value, "zh")


@pytest.mark.parametrize(
    ("schema", "value", "english", "chinese"),
    [
        (
            {"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
            "a",
            'x must be an IPv4 address such as 192.0.2.1, or must be an IPv6 address such as 2001:db8::1, not "a"',
            'x 必须是IPv4 地址，例如 192.0.2.1，或者必须是IPv6 地址，例如 2001:db8::1，现在是 "a"',
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]},
            1,
            "x must be text, or must be at least 3, not 1",
            "x 必须是文本，或者不能小于 3，现在是 1",
        ),
        (
            {"oneOf": [{"type": "number"}, {"type": "integer"}]},
            1,
            "x fits more than one of the forms of which it may have one, not 1",
            "x 同时符合几种只能选一的形式，现在是 1",
        ),
        (
            {"anyOf": [{"required": ["id"]}, {"properties": {"n": {"type": "integer"}}}]},
            {"n": "a"},
            'x.id is missing, or x.n must be a whole number, not {"n": "a"}',
            '缺少参数 x.id，或者x.n 必须是整数，现在是 {"n": "a"}',
        ),
    ],
)
def test_of_several_forms_each_is_told(
    schema: dict[str, Any], value: Any, english: str, chinese: str
) -> None:
    assert message(schema, value) == english
    assert message(schema, value, "zh") == chinese


def test_a_long_list_of_values_is_cut_and_counted() -> None:
    told = message({"enum": [f"value-{number}" for number in range(1000)]}, "x")
    assert told.startswith('x must be one of "value-0", "value-1", ')
    assert told.endswith('… (1000 in all), not "x"')
    assert len(told) < 300
    assert "…（共 1000 个）" in message({"enum": [f"值{number}" for number in range(1000)]}, "x", "zh")


def test_what_is_missing_is_told_with_what_it_is_for() -> None:
    properties = {
        "a": {"description": "Path of the project."},
        "b": {"title": "Branch"},
        "c": {"enum": ["x", "y"]},
        "d": {},
    }
    schema = Schema({"properties": properties, "required": list("abcd")})
    assert [problem.message for problem in schema.problems({})] == [
        "a is missing (Path of the project)",
        "b is missing (Branch)",
        'c is missing ("x", "y")',
        "d is missing",
    ]
    assert schema.problems({}, locale="zh")[0] == Problem(
        "a", "缺少参数 a（Path of the project）", missing=True
    )


def test_what_another_field_makes_necessary_is_missing_too() -> None:
    schema = Schema({"properties": {"b": {"description": "B"}}, "dependentRequired": {"a": ["b"]}})
    assert schema.problems({"a": 1}) == [Problem("b", "b is missing (B)", missing=True)]
    schema = Schema({"if": {"required": ["a"]}, "then": {"required": ["b"]}})
    assert schema.problems({"a": 1}) == [Problem("b", "b is missing", missing=True)]


def test_a_schema_that_is_referred_to_is_looked_up() -> None:
    reference = {"$defs": {"v": {"pattern": "^v", "description": "a version"}}}
    schema = Schema({"properties": {"x": {"$ref": "#/$defs/v"}}, **reference})
    assert schema.problems({"x": "1"})[0].message == 'x must be of this form: a version, not "1"'


def test_a_fault_of_the_whole_says_so() -> None:
    assert Schema({"minProperties": 1}).problems({}) == [
        Problem("", "the payload must have at least 1 members")
    ]
    assert Schema({"minProperties": 1}).problems({}, locale="zh")[0].message == "参数 至少要有 1 个成员"
    either = Schema({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert either.problems({}) == [Problem("", "a is missing, or b is missing")]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"description": " One\n line. ", "title": "T"}, "One line"),
        ({"description": "", "title": "标题。"}, "标题"),
        ({"description": 7}, ""),
        (True, ""),
        (None, ""),
    ],
)
def test_a_schema_is_called_by_its_description_on_one_line(schema: Any, told: str) -> None:
    assert description(schema) == told
    assert len(description({"description": "长" * 1000})) == 160
