from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.errors import ConfigError
from hermes.routing.lexicon import IntentEntry, Lexicon

WORDS = st.sampled_from(
    ["log", "logs", "Log", "build log", "日志", "构建", "构建 日志", "k8s集群", "GitLab", "git", "集群"]
)
WEIGHTS = st.sampled_from([0.9, 0.5, -0.5])
KEYWORDS = st.dictionaries(WORDS, WEIGHTS, max_size=5)
TEXTS = st.lists(WORDS | st.sampled_from([" ", "，", "🚀", "的", "catalog", "logging"]), max_size=8).map(
    "".join
)


def matched(text: str, *keywords: str) -> set[str]:
    """The keywords of one intent that match `text`."""
    lexicon = Lexicon([IntentEntry("i", "p", dict.fromkeys(keywords, 0.8))])
    return {match.keyword for match in lexicon.match(text).get(0, [])}


def by_intent(entries: list[IntentEntry], text: str) -> dict[tuple[str, str], set[tuple[str, float]]]:
    lexicon = Lexicon(entries)
    return {
        (lexicon.entries[position].intent, lexicon.entries[position].plugin): {
            (m.keyword, m.weight) for m in found
        }
        for position, found in lexicon.match(text).items()
    }


def by_match(lexicon: Lexicon, text: str) -> set[tuple[str, float]]:
    return {(match.keyword, match.weight) for found in lexicon.match(text).values() for match in found}


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("日誌", "看看今天的日志吧"),
        ("日志", "看看今天的日誌吧"),
        ("café bar", "the CAFÉ-bar"),
        ("log", "show the LOG, please"),
        ("log", "logs"),
        ("log", "it is logging too much"),
        ("logs", "the last log"),
        ("log", "build.log"),
        ("log", "error_log:42"),
        ("log", "最近的log呢"),
        ("log", "ｌｏｇ"),
        ("日志", "看看今天的日志吧"),
        ("日志", "log日志log"),
        ("日志", "日\u200b志🚀"),
        ("k8s集群", "查看K8S集群状态"),
        ("k8s集群", "k8s 集群"),
        ("k8s 集群", "ｋ８ｓ集群"),
        ("集群k8s", "集群 k8s"),
        ("build log", "Build-Log"),
        ("build log", "build: logs"),
        ("build log", "the buildLog field"),
        ("restart service", "restarting the services? no: restarting services"),
        ("don't restart", "Don’t restart it"),
        ("构建 日志", "构建日志"),
        ("构建 日志", "构建, 日志"),
        ("GitLab", "gitlab"),
        ("GitLab", "GITLAB"),
        ("GitLab", "GitLab"),
        ("GitLab", "git lab"),
        ("gitlab", "GitLab"),
        ("user name", "getUserName"),
        ("getUserName", "get_user_name"),
        ("流水线/pipeline", "流水线 pipeline"),
        ("café", "CAFE\u0301"),
        ("straße", "STRASSE"),
        ("ログ", "ﾛｸﾞを見せて"),
        ("로그", "로그를 보여줘"),
        ("404", "error 404!"),
    ],
)
def test_a_keyword_is_found_where_a_reader_would_see_it(keyword: str, text: str) -> None:
    assert matched(text, keyword) == {keyword}


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("log", "the catalog"),
        ("log", "login, logged, blog, log2"),
        ("log", "目录catalog"),
        ("build log", "log build"),
        ("build log", "build the log"),
        ("build log", "buildlog"),
        ("restart all services", "restart alls services"),
        ("日志", "日的志"),
        ("日志", "今日。志愿者"),
        ("k8s集群", "集群k8s"),
        ("k8s集群", "k8集群"),
        ("构建日志", "构建了，日志没有"),
        ("404", "4040"),
        ("café", "cafe"),
        ("log", ""),
        ("log", "🚀🚀"),
        ("log", "\ud800\udfff"),
        ("日志", " \n\t　"),
    ],
)
def test_a_keyword_is_not_found_where_a_reader_would_not(keyword: str, text: str) -> None:
    assert matched(text, keyword) == set()


def test_every_keyword_counts_once_and_overlapping_ones_all_count() -> None:
    text = "构建日志，日志，build log, logs"
    assert matched(text, "构建", "日志", "构建日志", "build", "log", "build log", "x") == {
        "构建",
        "日志",
        "构建日志",
        "build",
        "log",
        "build log",
    }


@pytest.mark.parametrize(
    ("keywords", "counted"),
    [
        ({"log": 0.5, "logs": 0.6}, {("logs", 0.6)}),
        ({"Log": 0.6, "log": 0.6, "ｌｏｇ": 0.6}, {("Log", 0.6)}),
        ({"log": 0.5, "LOG": -0.8}, {("LOG", -0.8)}),
    ],
)
def test_spellings_of_one_keyword_are_one_and_the_heaviest_counts(
    keywords: dict[str, float], counted: set[tuple[str, float]]
) -> None:
    assert by_intent([IntentEntry("i", "p", keywords)], "log logs") == {("i", "p"): counted}


@pytest.mark.parametrize("keyword", ["", " ", "，。", "🚀", "\u200b", "\ud800", "-/:"])
def test_a_keyword_with_nothing_in_it_is_refused_by_name(keyword: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Lexicon([IntentEntry("a.b", "tool", {"ok": 0.5, keyword: 0.5})])
    assert f"keyword {keyword!r} of intent 'a.b' (plugin 'tool')" in str(refused.value)


@pytest.mark.parametrize("weight", [0, 0.0, -0.0, 1.01, -1.01, float("nan"), float("inf")])
def test_a_weight_out_of_range_is_refused_by_name(weight: float) -> None:
    with pytest.raises(ConfigError, match=r"keyword '日志' of intent 'a\.b' .* weighs"):
        Lexicon([IntentEntry("a.b", "tool", {"日志": weight})])


@pytest.mark.parametrize("weight", [1, -1, 0.0001, 1.0])
def test_the_ends_of_the_range_are_taken(weight: float) -> None:
    assert by_intent([IntentEntry("a", "p", {"日志": weight})], "日志") == {("a", "p"): {("日志", weight)}}


def test_an_intent_given_twice_by_one_plugin_is_refused() -> None:
    twins = [IntentEntry("a", "p", {"x": 0.5}), IntentEntry("b", "p", {}), IntentEntry("a", "p", {"y": 0.5})]
    with pytest.raises(ConfigError, match="twice by one plugin: 'a' of 'p'"):
        Lexicon(twins)


def test_nothing_is_found_where_there_is_nothing_to_find() -> None:
    assert Lexicon().match("日志 log") == {}
    assert Lexicon([IntentEntry("a", "p", {})]).match("日志 log") == {}


def test_a_name_means_the_intent_before_the_plugin() -> None:
    a, b, c = IntentEntry("x.a", "x", {}), IntentEntry("x.b", "x", {}), IntentEntry("x", "y", {})
    assert Lexicon([c, b, a]).named("x.A") == (a,)
    assert Lexicon([b, a]).named("Ｘ") == (a, b)
    assert Lexicon([c, b, a]).named("x") == (c,)
    assert Lexicon([c]).named("z") == ()


def test_a_lexicon_takes_over_what_it_knows_of_the_same_keywords() -> None:
    a, b = IntentEntry("a", "p", {"日志": 0.9}), IntentEntry("b", "p", {"log": 0.9})
    before = Lexicon([a, b])
    changed = IntentEntry("a", "p", {"日志": 0.5})
    after = Lexicon([changed, replace(b, priority=5)], like=before)
    assert after.patterns["b", "p"] is before.patterns["b", "p"]
    assert by_match(after, "日志 log") == {("日志", 0.5), ("log", 0.9)}
    assert by_match(before, "日志 log") == {("日志", 0.9), ("log", 0.9)}
    assert after.priorities["b", "p"] == 5


def test_a_keyword_that_is_refused_is_refused_beside_a_lexicon_too() -> None:
    before = Lexicon([IntentEntry("a", "p", {"日志": 0.9})])
    with pytest.raises(ConfigError, match="keyword '🚀' of intent 'a'"):
        Lexicon([IntentEntry("a", "p", {"日志": 0.9, "🚀": 0.9})], like=before)


def test_a_lexicon_keeps_the_scorer_that_it_is_given() -> None:
    class Nothing:
        def score(self, text: str) -> list[Any]:
            return [text][:0]

    learned = Nothing()
    assert Lexicon((), learned).learned is learned
    assert Lexicon().learned is None


@pytest.mark.parametrize("unit", ["日志", "今日志愿者", "构建日志 ", "log ", "build log ", "buildLog ", "查"])
def test_a_megabyte_of_keywords_is_read(unit: str) -> None:
    assert matched(unit * (1_000_000 // len(unit)), "日志", "log", "build log", "查", "今日")


@given(KEYWORDS, KEYWORDS, KEYWORDS, TEXTS)
def test_what_one_intent_matches_does_not_depend_on_the_others(
    mine: dict[str, float], other: dict[str, float], third: dict[str, float], text: str
) -> None:
    entry = IntentEntry("m", "mine", mine)
    others = [IntentEntry("a", "other", other), IntentEntry("z", "third", third)]
    alone = by_intent([entry], text).get(("m", "mine"))
    assert by_intent([entry, *others], text).get(("m", "mine")) == alone


@given(st.lists(KEYWORDS, min_size=2, max_size=4), TEXTS, st.randoms())
def test_the_order_of_entries_makes_no_difference(
    keywords: list[dict[str, float]], text: str, random: Any
) -> None:
    entries = [IntentEntry(f"i{number}", "p", words) for number, words in enumerate(keywords)]
    shuffled = random.sample(entries, len(entries))
    one, other = Lexicon(entries), Lexicon(shuffled)
    assert one.entries == other.entries
    assert one.match(text) == other.match(text)


@given(KEYWORDS, TEXTS, TEXTS)
def test_more_text_never_loses_a_match(keywords: dict[str, float], text: str, more: str) -> None:
    entry = [IntentEntry("i", "p", keywords)]
    some = by_intent(entry, text).get(("i", "p"), set())
    assert some <= by_intent(entry, f"{text}. {more}").get(("i", "p"), set())


@given(KEYWORDS, st.text(st.characters()))
def test_no_text_is_an_error(keywords: dict[str, float], text: str) -> None:
    Lexicon([IntentEntry("i", "p", keywords)]).match(text)


@given(st.text(st.characters(), min_size=1, max_size=12))
def test_a_keyword_is_found_in_itself_or_refused(keyword: str) -> None:
    try:
        found = matched(keyword, keyword)
    except ConfigError:
        return
    assert found == {keyword}
