from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.messages import Match
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.negation import negated
from hermes.values import value

RESTART = IntentEntry("restart", "services", {"重启": 0.9, "restart": 0.9, "web": -0.1}, writes=True)
LEXICON = Lexicon([RESTART, IntentEntry("zz", "other", {"流水线": 0.9, "pipeline": 0.9})])


def says_not_to(text: str) -> bool:
    return negated(text, LEXICON, position=0)


def rows() -> Iterator[tuple[str, bool]]:
    """Return each sentence of the table, and whether it says not to."""
    for line in Path(__file__).with_name("golden").joinpath("negations.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("--"):
            answer, _, text = line.partition(" | ")
            yield text, {"yes": True, "no": False}[answer.strip()]


@pytest.mark.parametrize(("text", "expected"), list(rows()))
def test_a_sentence_says_not_to_or_does_not(text: str, *, expected: bool) -> None:
    assert says_not_to(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("不\u200b要重启", True),
        ("不要关机\n重启", False),
        ("", False),
        ("do\u200bn't restart", True),
        ("do not shut down\nrestart", False),
    ],
)
def test_line_ends_and_invisible_signs_are_seen_through(text: str, *, expected: bool) -> None:
    assert says_not_to(text) is expected


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("不重启", "请选不重启"),
        ("别提醒", "今天别提醒我了"),
        ("停止服务", "停止服务 web"),
        ("stop service", "stop service web"),
        ("stop", "stop the service"),
        ("don't disturb", "Don’t disturb me"),
        ("without tests", "deploy without tests"),
    ],
)
def test_a_negation_that_is_a_keyword_itself_is_meant(keyword: str, text: str) -> None:
    entry = IntentEntry("i", "p", {keyword: 0.9, "服务": 0.3, "service": 0.3, "提醒": 0.3, "重启": 0.3})
    assert not negated(text, Lexicon([entry]), position=0)


def test_another_negation_beside_one_that_is_a_keyword_counts() -> None:
    entry = IntentEntry("i", "p", {"不用登录": 0.9, "重启": 0.9})
    assert not negated("不用登录重启", Lexicon([entry]), position=0)
    assert negated("不用登录，别重启", Lexicon([entry]), position=0)
    assert negated("不用登录别重启", Lexicon([entry]), position=0)


def test_only_the_intent_asked_about_and_what_speaks_for_it_counts() -> None:
    assert not negated("不要流水线", LEXICON, position=0)
    assert negated("不要流水线", LEXICON, position=1)
    assert not negated("don't touch web", LEXICON, position=0)


@value
class Found:
    intent: str
    confidence: float
    matched: tuple[Match, ...]


class BySomeWords:
    """A learned scorer that goes by a word that tells much, and by one that tells little."""

    def score(self, text: str) -> list[Found]:
        weights = {"reboot": 1.5, "the": 0.2}
        found = tuple(Match(word, weight) for word, weight in weights.items() if word in text.split())
        return [Found("zz", 0.1, found), Found("restart", 0.9, found)] if found else []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't reboot", True),
        ("it does not reboot", True),
        ("reboot it, don't wait", False),
        ("reboot web , don't touch the database", False),
        ("reboot web and do not restart it", True),
    ],
)
def test_learned_keywords_count_too_those_that_tell_much(text: str, *, expected: bool) -> None:
    assert negated(text, Lexicon([RESTART], BySomeWords()), position=0) is expected


@given(st.text(st.characters(), max_size=80) | st.text("不别没要能重启restart not'don ,，.。", max_size=80))
def test_no_text_is_an_error(text: str) -> None:
    assert negated(text, LEXICON, position=0) in {True, False}


@pytest.mark.parametrize(
    "unit", ["不", "别", "不要", "not ", "don't ", "不要，", "没重启不", "(", "\u0301", "a"]
)
def test_a_megabyte_of_negations_is_read(unit: str) -> None:
    assert negated(unit * (1_000_000 // len(unit)) + "，不要重启", LEXICON, position=0)
