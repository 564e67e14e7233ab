"""What holds for every set of manifests and every text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.router import Router
from hermes.routing.scoring import score

WORDS = st.sampled_from(
    [
        "log",
        "logs",
        "build",
        "build log",
        "restart",
        "日志",
        "日誌",
        "构建",
        "构建日志",
        "重启",
        "查",
        "k8s集群",
        "集群",
        "今日",
        "GitLab",
    ]
)
WEIGHTS = st.sampled_from([1.0, 0.9, 0.8, 0.6, 0.5, 0.3, -0.5, -1.0])
KEYWORDS = st.dictionaries(WORDS, WEIGHTS, max_size=5)
PIECES = st.sampled_from(
    [
        " ",
        "，",
        ", ",
        "不要",
        "don't ",
        "的",
        "愿者",
        "今",
        "🚀",
        "\u200b",
        "catalog",
        "logging",
        "buildLog",
        "構建日誌",
    ]
)
TEXTS = st.lists(WORDS | PIECES, max_size=8).map("".join) | st.text(st.characters(), max_size=20)


@st.composite
def entries(draw: st.DrawFn) -> list[IntentEntry]:
    keywords = draw(st.lists(KEYWORDS, min_size=1, max_size=5))
    return [
        IntentEntry(f"i{number}", f"p{number // 2}", words, draw(st.integers(0, 1)), draw(st.booleans()))
        for number, words in enumerate(keywords)
    ]


def asked(manifests: Sequence[IntentEntry]) -> Router:
    return Router(["prefix", "keyword"], Thresholds(), entries=manifests)


@given(entries(), TEXTS, st.randoms())
def test_the_order_of_manifests_changes_no_decision(
    manifests: list[IntentEntry], text: str, random: Random
) -> None:
    shuffled = random.sample(manifests, len(manifests))
    assert asked(shuffled).explain(text) == asked(manifests).explain(text)
    assert asked(shuffled).route(text) == asked(manifests).route(text)


@given(entries(), KEYWORDS, TEXTS)
def test_another_plugin_changes_nothing_about_what_an_intent_matched(
    manifests: list[IntentEntry], keywords: dict[str, float], text: str
) -> None:
    before = {one.intent: one for one in asked(manifests).explain(text).decision.candidates}
    more = [*manifests, IntentEntry("stranger", "unrelated", keywords)]
    after = {one.intent: one for one in asked(more).explain(text).decision.candidates}
    after.pop("stranger", None)
    assert after == before


@given(entries(), WORDS, st.sampled_from([0.3, 0.9, 1.0]), TEXTS)
def test_one_more_positive_keyword_lowers_no_score(
    manifests: list[IntentEntry], word: str, weight: float, text: str
) -> None:
    richer = [
        replace(one, keywords={**one.keywords, word: weight}) if word not in one.keywords else one
        for one in manifests
    ]
    poor, rich = Lexicon(manifests), Lexicon(richer)
    for position, matched in poor.match(text).items():
        added = [one for one in rich.match(text).get(position, ()) if one not in matched]
        if all(one.weight > 0 for one in added) and len(rich.match(text)[position]) > len(matched):
            assert score(rich.match(text)[position]) >= score(matched)


@settings(max_examples=20)
@given(st.lists(entries(), min_size=1, max_size=6), TEXTS)
def test_a_lexicon_made_from_others_again_and_again_finds_what_a_fresh_one_finds(
    generations: list[list[IntentEntry]], text: str
) -> None:
    unchanging = [
        IntentEntry(f"u{number}", "many", {"log": 0.5, f"日志{number}": 0.5}) for number in range(80)
    ]
    carried = Lexicon()
    for manifests in generations:
        carried = Lexicon([*unchanging, *manifests], like=carried)
    assert carried.match(text) == Lexicon([*unchanging, *generations[-1]]).match(text)


@given(entries(), entries(), TEXTS)
def test_a_lexicon_made_from_another_one_finds_what_a_fresh_one_finds(
    before: list[IntentEntry], after: list[IntentEntry], text: str
) -> None:
    carried = Lexicon(after, like=Lexicon(before))
    assert carried.match(text) == Lexicon(after).match(text)
    assert carried.entries == Lexicon(after).entries
