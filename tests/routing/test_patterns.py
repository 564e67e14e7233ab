from __future__ import annotations

import pytest

from hermes.errors import ConfigError
from hermes.routing.patterns import Patterns


def patterns(*keywords: str) -> Patterns:
    return Patterns(dict.fromkeys(keywords, 0.5), where="intent 'i' (plugin 'p')")


@pytest.mark.parametrize(
    ("keyword", "words", "pairs", "spans"),
    [
        ("log", {"log", "logs", "logging"}, set(), set()),
        ("查", {"查"}, set(), set()),
        ("日志", set(), {"日志"}, set()),
        ("日誌", set(), {"日志"}, set()),
        ("流水线", set(), {"流水"}, {"流水线"}),
        ("构建 日志", set(), {"构建"}, {"构建 日志", "构建日志"}),
        ("k8s集群", set(), set(), {" k8s 集群"}),
        ("集群k8s", set(), {"集群"}, {"集群 k8s "}),
        ("查 k8s", set(), {"查 "}, {"查 k8s "}),
        ("the log", set(), set(), {" the log ", " the logs ", " the logging "}),
    ],
)
def test_a_keyword_is_found_by_words_pairs_and_spans(
    keyword: str, words: set[str], pairs: set[str], spans: set[str]
) -> None:
    found = patterns(keyword)
    assert set(found.words) == words
    assert set(found.pairs) == pairs
    assert spans <= set(found.spans)
    assert bool(found.spans) is bool(spans)


def test_openings_tell_how_long_what_begins_so_can_be() -> None:
    found = patterns("流水线", "流水线状态", "流水线日志 log")
    assert set(found.openings) == {"流水线"}
    assert {len(span) for span in found.spans} == set(found.openings["流水线"])
    assert found.pairs == {"流水": ()}


def test_keywords_that_share_a_form_are_both_found_by_it() -> None:
    assert [sense.match.keyword for sense in patterns("log", "logging").words["logging"]] == [
        "log",
        "logging",
    ]


def test_spellings_of_one_keyword_are_one() -> None:
    assert (
        len({id(sense) for senses in patterns("Log", "log", "LOGS").words.values() for sense in senses}) == 1
    )


@pytest.mark.parametrize(
    ("keywords", "reason"), [({"🚀": 0.5}, "no letter or digit"), ({"log": 1.5}, "weighs 1.5")]
)
def test_what_cannot_be_found_or_weighed_is_refused_by_name(keywords: dict[str, float], reason: str) -> None:
    with pytest.raises(ConfigError, match=f"keyword '{next(iter(keywords))}' of intent 'i' .* {reason}"):
        Patterns(keywords, where="intent 'i' (plugin 'p')")
