from __future__ import annotations

import pytest

from hermes.routing.typos import Spelling

WORDS = ["account", "balance", "restart", "transfer", "transfers", "card", "日志"]


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("acount", "account"),
        ("acccount", "account"),
        ("accaunt", "account"),
        ("accuont", "account"),
        ("ccount", "account"),
        ("accountt", "account"),
        ("restrat", "restart"),
        ("carrd", "card"),
    ],
)
def test_a_word_that_is_one_slip_away_is_the_word_that_is_meant(slip: str, meant: str) -> None:
    assert Spelling(WORDS).word(slip) == meant


@pytest.mark.parametrize(
    "word",
    [
        "account",  # known
        "acuont",  # two slips
        "counter",
        "tarnsferss",
        "car",  # too short to tell
        "日记",
        "card1",
        "",
    ],
)
def test_any_other_word_is_left_as_it_is(word: str) -> None:
    assert Spelling(WORDS).word(word) == word


def test_a_word_between_two_is_left_as_it_is() -> None:
    assert Spelling(["bland", "blend"]).word("blund") == "blund"
    assert Spelling(["transfer", "transfers"]).word("transferz") == "transferz"


def test_a_word_that_is_known_beside_is_no_slip() -> None:
    assert Spelling(["from"]).word("form") == "from"
    assert Spelling(["from"], also=["form"]).word("form") == "form"
