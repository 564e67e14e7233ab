"""What few examples teach must not spoil what the keywords of manifests do."""

from __future__ import annotations

from functools import cache

import pytest

from hermes.entries import entries_of
from hermes.host.manifests.manifest import load_manifest
from hermes.routing.decision import Thresholds
from hermes.routing.examples import examples_of
from hermes.routing.learned import Learned
from hermes.routing.learning.train import learn
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.router import Router
from tests.support.samples import SAMPLES


@cache
def router() -> Router:
    """Return a router of the sample plugins that has learned the examples of their manifests, about five an intent."""
    entries = [entry for folder in SAMPLES.values() for entry in entries_of(load_manifest(folder))]
    made = Router(["prefix", "keyword"], Thresholds())
    made.use(Lexicon(entries, Learned(learn(examples_of(entries)))))
    return made


@pytest.mark.parametrize(
    "text",
    [
        "今天天气不错",
        "帮我订一张去上海的机票",
        "明天下午有没有空的会议室",
        "帮我写一首诗",
        "今日志愿者名单",
        "what is the weather like",
        "book me a flight",
        "open the door",
        "the time is up",
        "where is my ticket",
    ],
)
def test_a_text_for_no_intent_still_matches_none(text: str) -> None:
    assert router().route(text).decision.outcome == "no_match"


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("web 的流水线过了没有", "ci.pipeline.status"),
        ("看看 /data 还剩多少空间", "disk.usage"),
        ("how much free space is on /home", "disk.usage"),
        ("example.org 的证书几天到期", "http.check"),
    ],
)
def test_what_is_said_like_an_example_is_understood(text: str, intent: str) -> None:
    assert router().route(text).decision.intent == intent


def test_an_intent_of_two_examples_has_keywords_too() -> None:
    said = ["磁盘满了吗", "how full is the disk"]
    entries = [
        IntentEntry("disk", "p", {}, examples=tuple(said)),
        IntentEntry("log", "p", {}, examples=("错误日志给我看看",)),
    ]
    learned = learn(examples_of(entries)).intents
    assert "磁盘" in learned["disk"].keywords
    assert "日志" in learned["log"].keywords
