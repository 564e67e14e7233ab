"""Tables and facts: aligned for readers of Chinese and English, and safe whatever they hold."""

from __future__ import annotations

import re

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


def test_columns_leave_a_table_only_where_it_is_too_wide(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    header, rows = ("NAME", "HASH", "TEXT"), [("网站", "0123", "一, 二, three"), ("b", None, "x" * 30)]
    least = ("TEXT", "HASH")
    print_table(header, rows, least=least)
    assert len(capsys.readouterr().out.splitlines()) == 3
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    for columns, lines in {
        60: ["NAME  HASH  TEXT", "网站  0123  一, 二, three", "b     –     " + "x" * 30],
        22: ["NAME  HASH", "网站  0123", "    text 一, 二,", "    three", "b     –", "    text " + "x" * 30],
        9: [
            "NAME",
            "网站",
            "    hash 0123",
            "    text 一,",
            "    二,",
            "    three",
            "b",
            "    text " + "x" * 30,
        ],
    }.items():
        monkeypatch.setenv("COLUMNS", str(columns))
        print_table(header, rows, least=least)
        assert _plain(capsys.readouterr().out) == lines


def _plain(out: str) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines()


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
