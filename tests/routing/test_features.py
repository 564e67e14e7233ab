from __future__ import annotations

import pytest

from hermes.routing.features import MOST, features


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Show the build logs", {"show", "show the", "the", "the build", "build", "build log", "log"}),
        ("看日志", {"看", "日", "志", "看日", "日志", "看日志"}),
        ("看日誌", {"看", "日", "志", "看日", "日志", "看日志"}),
        ("K8S集群", {"k8s", "集", "群", "集群"}),
        ("getUser", {"getuser", "get", "get user", "user"}),
        ("", set()),
        ("🚀 …", set()),
    ],
)
def test_words_and_pairs_of_them_and_pieces_of_chinese_are_features(text: str, expected: set[str]) -> None:
    assert set(features(text)[0]) == expected


def test_each_feature_knows_the_units_that_it_takes() -> None:
    found, units = features("build log 日志")
    assert units == 4
    assert {name: found[name] for name in ("build", "build log", "log", "日志")} == {
        "build": 0b1,
        "build log": 0b11,
        "log": 0b10,
        "日志": 0b1100,
    }


def test_a_word_may_be_taken_for_another() -> None:
    assert "restart web" in features("restrat web", lambda word: word.replace("rat", "art"))[0]


@pytest.mark.parametrize("text", ["x " * 100_000, "日志" * 100_000, "\ud800", "\u202e日\u200b志"])
def test_any_text_is_taken_and_no_more_than_its_beginning_is_looked_at(text: str) -> None:
    assert features(text)[1] <= MOST
