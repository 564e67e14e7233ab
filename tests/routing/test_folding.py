from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.routing.folding import is_cjk, readings

ANY_TEXT = st.text(st.characters(), max_size=60)
TRICKY = st.text(
    "aA1ßİ ﬁ①ﷺé\u0301\u0327\u0345\u1100\u1161\u11a8\u200b\ufe0f\ud83d\ude00日ー・ｶﾞ_-.🚀", max_size=40
)


def fold(text: str) -> str:
    """The text as it stands, folded: the first of its readings."""
    return " ".join(readings(text)[0])


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ＧｉｔＬａｂ　流水线", "gitlab 流水线"),
        ("ＣＰＵ：９０％", "cpu 90"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("cafe\u0301", "café"),
        ("ﬁle ①", "file 1"),
        ("ｶﾞｲﾄﾞ・한국어", "ガイド 한국어"),
        ("查\u200b询\u00ad日\ufeff志", "查询日志"),
        ("\u202eright\u202c to \u2066left\u2069", "right to left"),
        ("1️⃣ 👩‍👩‍👧 ❤️ 流水线🚀", "1 流水线"),
        ("重启nginx服务", "重启 nginx 服务"),
        ("web-api_v2.log/error:5xx", "web api v2 log error 5xx"),
        ("don’t, don't", "don t don t"),
        ("a\tb\r\nc\x00d", "a b cd"),
        ("……！？", ""),
        ("\ud800", ""),
        ("", ""),
    ],
)
def test_what_a_reader_would_not_tell_apart_folds_alike(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(ANY_TEXT | TRICKY)
def test_folding_again_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert len(readings(fold(text))) == 1


@given(ANY_TEXT)
def test_a_reading_has_no_empty_words_and_no_separators(text: str) -> None:
    for words in readings(text):
        assert words == " ".join(words).split()


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("getUserName", "get user name"),
        ("GitLab", "git lab"),
        ("HTTPServer", "http server"),
        ("ipv4Address", "ipv4 address"),
        ("ｇｅｔＵｓｅｒ", "get user"),
    ],
)
def test_camel_case_reads_whole_and_split(text: str, split: str) -> None:
    assert [" ".join(words) for words in readings(text)] == [split.replace(" ", ""), split]


@pytest.mark.parametrize("text", ["APIs", "VMs", "K8S", "URL", "Show me", "流水线", "B2B"])
def test_capitals_alone_are_no_camel_case(text: str) -> None:
    assert len(readings(text)) == 1


@pytest.mark.parametrize("text", ["日志", "log 日", "カナ", "한", "𠀀", "〇"])
def test_cjk_is_seen(text: str) -> None:
    assert is_cjk(text)


@pytest.mark.parametrize("text", ["", "log", "é", "🚀", "，。", "\ud800"])
def test_what_is_not_cjk_is_not(text: str) -> None:
    assert not is_cjk(text)


def test_of_a_very_long_text_head_and_tail_are_read() -> None:
    words = readings("pipeline " + "x " * 500_000 + "流水线")[0]
    assert words[0] == "pipeline"
    assert words[-1] == "流水线"
    assert len(words) < 10_000


def test_a_word_that_the_cut_breaks_is_not_read() -> None:
    [words] = readings("catalog" * 100_000 + " end")
    assert words == ["end"]


@pytest.mark.parametrize(
    "sign", ["\u0301\u0327", "\u05b0\u064b", "🚀", "\ufe0f", "\ud800", "\ufdfa", "aB", "，", "'"]
)
def test_a_megabyte_of_one_sign_is_read(sign: str) -> None:
    words = readings("流水线 " + sign * (1_000_000 // len(sign)) + " pipeline")[0]
    assert words[0] == "流水线"
    assert words[-1] == "pipeline"
