"""Tables and facts: aligned for readers of Chinese and English, and safe whatever they hold."""

from __future__ import annotations

import pytest

from hermes.cli.terminal import local_time, print_facts, print_table, short


def test_columns_are_aligned_by_the_width_of_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "N", "TEXT"), [("流水线", 5, "a"), ("web", 1000, None), ("🎉", 0, "")])
    assert capsys.readouterr().out.splitlines() == [
        "NAME       N  TEXT",
        "流水线     5  a",
        "web     1000  –",
        "🎉         0  –",
    ]


def test_a_cell_is_one_line_and_controls_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("TEXT",), [("a\nb\x1b[2J [bold]c[/bold] :smile: \ud83d",)])
    assert capsys.readouterr().out == "TEXT\na b [bold]c[/bold] :smile:\n"


def test_a_long_line_is_left_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("TEXT",), [("字" * 500,)])
    print_facts({"text": "字 " * 500})
    assert [len(line.split("字")) - 1 for line in capsys.readouterr().out.splitlines()] == [0, 500, 500]


def test_facts_that_are_none_are_left_out_and_lines_stay_in_their_column(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_facts({"asked": "一\n二", "plugin": None, "n": 0})
    assert capsys.readouterr().out.splitlines() == ["asked   一", "        二", "n       0"]


def test_a_text_is_shortened_to_the_beginning_of_one_line() -> None:
    assert short("一\n二 " * 10) == "一 二 " * 9 + "一 二"
    assert (len(short("x" * 100)), short("x" * 100)[-2:]) == (60, "x…")


def test_no_time_is_none() -> None:
    assert local_time(None) is None
