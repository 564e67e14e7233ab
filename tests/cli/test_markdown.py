"""Digests on a terminal: laid out, with every line and every character that can be shown."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from hermes.cli.markdown import layout


def shown(text: str, *, width: int = 60) -> str:
    """Return what a terminal without colours would show."""
    out = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, markup=False)
    out.print(layout(text))
    assert isinstance(out.file, io.StringIO)
    written = out.file.getvalue()
    return "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", written).splitlines())


def test_line_ends_stay_where_they_are() -> None:
    assert shown("**状态**: 成功\n**耗时**: 3 s") == "状态: 成功\n耗时: 3 s"


def test_what_looks_like_html_is_shown() -> None:
    assert shown("List<int> </kbd></kbd> <script>x</script>") == "List<int> </kbd></kbd> <script>x</script>"
    assert "<div>" in shown("<div>\nx\n</div>")


def test_what_looks_like_the_markup_of_the_printer_is_shown() -> None:
    assert shown("[bold]x[/bold] [/] :smile:") == "[bold]x[/bold] [/] :smile:"


def test_a_link_shows_where_it_leads() -> None:
    assert shown("[bank](https://elsewhere.example/x)") == "bank (https://elsewhere.example/x)"


def test_a_table_keeps_its_columns_under_each_other() -> None:
    table = shown("| 名称 | n |\n| --- | --- |\n| 流水线 | 7 |\n| web | 8 |")
    before = [
        cell_len(line[: found.start()]) for line in table.splitlines() if (found := re.search("[n78]", line))
    ]
    assert before == [before[0]] * 3


@pytest.mark.parametrize("text", ["\x1b[2Jx", "&#27;[2Jx", "&#x202e;x", "`\x1b]0;t\x07x`", "![\x9bx](y)"])
def test_no_control_character_is_let_through(text: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown(text))


MARKS = st.sampled_from(
    [*"*_`~#>-+|[]()!<>&;:\\ \n\t1.", "```", "---", "</kbd>", "<b>", "中", "🎉", "x", "&#27;"]
)


@given(st.lists(MARKS | st.text(max_size=3), max_size=30).map("".join))
@settings(max_examples=300)
def test_invariant_any_text_can_be_shown(text: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown(text))
