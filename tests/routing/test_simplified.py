from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.routing.folding import is_cjk
from hermes.routing.simplified import simplified

HAN = st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF)


@pytest.mark.parametrize(
    ("traditional", "written"),
    [
        ("構建日誌", "构建日志"),
        ("流水線過了嗎", "流水线过了吗"),
        ("重啟", "重启"),
        ("重啓", "重启"),
        ("後臺裡的檔案", "后台里的档案"),
        ("乾坤", "干坤"),
        ("看著", "看着"),
        ("妳們", "你们"),
        ("ａ說b", "ａ说b"),
        ("構建日志", "构建日志"),
        ("查看日志", "查看日志"),
        ("build log", "build log"),
        ("", ""),
        ("\ud800", "\ud800"),
    ],
)
def test_traditional_characters_become_the_usual_simplified_ones(traditional: str, written: str) -> None:
    assert simplified(traditional) == written


@given(st.text(HAN | st.characters(), max_size=40))
def test_one_character_stays_one_and_simplifying_again_changes_nothing(text: str) -> None:
    once = simplified(text)
    assert simplified(once) == once
    assert len(once) == len(text)


def test_every_character_is_taken_to_one_that_stays() -> None:
    changed = [chr(code) for code in range(0x110000) if simplified(chr(code)) != chr(code)]
    assert len(changed) > 2_900
    assert all(is_cjk(one) and is_cjk(simplified(one)) for one in changed)
    assert all(simplified(simplified(one)) == simplified(one) for one in changed)
