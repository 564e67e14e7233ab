from __future__ import annotations

from typing import Any

import pytest

from hermes.digest.digest import digest, error_digest


def short(data: Any, *, fields: tuple[str, ...] = (), max_chars: int = 1200, locale: str = "zh") -> str:
    return digest(data, fields=fields, max_chars=max_chars, locale=locale)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("已完成 🚀", "已完成 🚀"),
        ("**as** the plugin\nwrote it", "**as** the plugin\nwrote it"),
        (None, "–"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (2.5, "2.5"),
        ({}, ""),
        ([], ""),
        (["一", 2, None], "- 一\n- 2\n- –"),
        ([[1, 2], {"a": 1}], "- 1, 2\n- a: 1"),
    ],
)
def test_plain_values_and_lists_are_shown_as_words(data: Any, text: str) -> None:
    assert short(data) == text


def test_an_object_is_a_line_for_each_field() -> None:
    data = {
        "状态": "成功",
        "count": 3,
        "done": True,
        "stages": ["build", "test"],
        "last": {"id": 7, "by": "小明"},
    }
    assert short(data) == (
        "**状态**: 成功\n**count**: 3\n**done**: true\n**stages**: build, test\n**last**: id: 7, by: 小明"
    )


def test_only_the_chosen_fields_are_shown_in_their_order_and_missing_ones_left_out() -> None:
    data = {"a": 1, "b": None, "c": 3}
    assert short(data, fields=("c", "missing", "b")) == "**c**: 3\n**b**: –"
    assert short([1], fields=("c",)) == "- 1"
    assert short("text", fields=("c",)) == "text"


def test_a_list_of_objects_is_a_table() -> None:
    rows = [{"name": "web", "state": "成功"}, {"name": "api", "seconds": 12.5}, {"state": None}]
    assert short(rows) == (
        "| name | state | seconds |\n| --- | --- | --- |\n| web | 成功 |  |\n| api |  | 12.5 |\n|  | – |  |"
    )
    assert (
        short({"rows": rows[:1], "n": 1})
        == "**rows**\n\n| name | state |\n| --- | --- |\n| web | 成功 |\n\n**n**: 1"
    )


def test_what_is_in_a_cell_cannot_break_the_table() -> None:
    rows = [{"a|b": "x|y", "text\nmore": "line one\nline two", "c": [1, {"d": "e|f"}]}]
    assert short(rows).splitlines() == [
        "| a\\|b | text more | c |",
        "| --- | --- | --- |",
        "| x\\|y | line one line two | 1, d: e\\|f |",
    ]


@pytest.mark.parametrize(("locale", "rest"), [("zh", "… 还有 5 行"), ("en", "… 5 more")])
def test_of_a_long_list_the_first_ten_are_shown_and_how_many_there_are_more(locale: str, rest: str) -> None:
    table = short([{"n": number} for number in range(15)], locale=locale).splitlines()
    assert table[2:] == [*(f"| {number} |" for number in range(10)), "", rest]
    plain = short(list(range(15)), locale=locale).splitlines()
    assert plain == [*(f"- {number}" for number in range(10)), "", rest]
    assert short([{"n": number} for number in range(10)], locale=locale).endswith("| 9 |")


def test_long_values_inside_lists_and_tables_are_cut() -> None:
    long = "长" * 500
    assert short([{"text": long}]).splitlines()[2] == f"| {'长' * 119}… |"
    assert short([long]) == f"- {'长' * 119}…"
    assert short({"inner": {"text": long}}) == f"**inner**: text: {'长' * 119}…"
    assert short({"text": long}) == f"**text**: {long}"


def test_what_is_deep_or_wide_inside_is_left_out() -> None:
    assert short({"a": {"b": {"c": {"d": {"e": 1}}}}}) == "**a**: b: c: d: …"
    assert short({"a": list(range(12))}) == "**a**: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"


@pytest.mark.parametrize("max_chars", [1, 2, 10, 100])
@pytest.mark.parametrize("data", ["长" * 300, {"a": "x" * 300}, [{"a": "x"}] * 50, list(range(500))])
def test_invariant_a_digest_is_never_longer_than_allowed(data: Any, max_chars: int) -> None:
    text = short(data, max_chars=max_chars)
    assert len(text) <= max_chars
    assert len(text) < max_chars or text.endswith("…")


def test_a_failure_is_its_code_and_its_sentence() -> None:
    assert (
        error_digest("plugin_timeout", "该工具执行超时（20 秒）")
        == "`plugin_timeout` 该工具执行超时（20 秒）"
    )
