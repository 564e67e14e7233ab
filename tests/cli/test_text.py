"""What results may print, and what not."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.text import json_text, one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m红\x1b[0m and \x1b[1;4mbold\x1b[m", "红 and bold"),
        ("\x1b]0;title\x07\x9b2Jx", "]0;title2Jx"),
        ("50%\r100%\r\ndone\n\tindented", "50%100%\ndone\n\tindented"),
        ("a\x00b\x7fc\x85d", "abcd"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("half \ud83d of a smile", "half  of a smile"),
        ("全角 ＡＢＣ 👨\u200d👩\u200d👧 🏳️\u200d🌈", "全角 ＡＢＣ 👨\u200d👩\u200d👧 🏳️\u200d🌈"),
    ],
)
def test_text_loses_control_characters_and_nothing_else(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_invariant_printable_text_holds_no_control_character(text: str) -> None:
    shown = printable(text)
    assert not [one for one in shown if unicodedata.category(one) in {"Cc", "Cs"} and one not in "\n\t"]
    assert one_line(text) == " ".join(shown.split())


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_invariant_json_can_be_printed_and_loses_nothing(value: object) -> None:
    written = json_text(value)
    assert json.loads(written) == value
    assert written == printable(written)


def test_json_shows_chinese_as_it_is_and_escapes_what_moves_a_cursor() -> None:
    assert json_text({"文": "好\x1b[2J\x9b\u202e"}) == '{\n  "文": "好\\u001b[2J\\u009b\\u202e"\n}'
