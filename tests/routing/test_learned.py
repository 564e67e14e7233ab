from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.routing.calibration import DEFAULT
from hermes.routing.decision import Thresholds
from hermes.routing.learned import Learned
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.router import Router
from hermes.routing.weights import IntentWeights, Weights

WEIGHTS = Weights(
    {
        "log.show": IntentWeights(30, -0.9, {"build log": 1.2, "日志": 1.6, "show": 0.4}, {"restart": -0.5}),
        "service.restart": IntentWeights(
            30, -0.9, {"restart": 1.6, "重启": 1.7, "service": 0.3}, {"日志": -0.2}
        ),
        "flow.run": IntentWeights(30, -0.9, {"run": 1.0, "flow": 1.0}, {}),
    },
    rows=90,
    strangers=0,
    learned_at="2026-11-30T09:00:00+00:00",
    calibration=(-1.5, 2.0, 1.5, 0.5, 0.5, 0.0),
    trials=(),
    words=frozenset({"please"}),
)
WORDS = st.lists(
    st.sampled_from(["日志", "restart", "show", "run", "please", "重启", "x", "，", "build log"]), max_size=9
)


def best(text: str, learned: Learned | None = None) -> str | None:
    found = (learned or Learned(WEIGHTS)).score(text)
    return found[0].intent if found else None


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("看一下日志", "log.show"),
        ("看一下日誌", "log.show"),
        ("RESTART the service", "service.restart"),
        ("please restrat it", "service.restart"),
        ("重启后看日志", "log.show"),
        ("run the flow", "flow.run"),
        ("hello", None),
        ("please", None),
        ("", None),
        ("🚀", None),
    ],
)
def test_the_intent_whose_keywords_weigh_most_is_the_likeliest(text: str, intent: str | None) -> None:
    assert best(text) == intent


def test_what_matched_is_told_heaviest_first_with_what_speaks_against() -> None:
    (first, *_) = Learned(WEIGHTS).score("show 日志 restart")
    assert [(one.keyword, one.weight) for one in first.matched] == [
        ("日志", 1.6),
        ("show", 0.4),
        ("restart", -0.5),
    ]


def test_only_the_intents_that_are_there_can_be_chosen() -> None:
    learned = Learned(WEIGHTS, {"log.show", "nobody.knows"})
    assert learned.intents == {"log.show"}
    assert best("重启服务 restart", learned) is None
    assert Learned.fitted(WEIGHTS, {"flow.run"}).intents == {"flow.run"}
    assert Learned(WEIGHTS, ()).score("日志") == []


@given(WORDS, st.sampled_from(["日志", "build log"]))
def test_one_more_keyword_never_makes_an_intent_less_likely(words: list[str], more: str) -> None:
    def sure(text: str) -> float:
        return next(
            (
                one.confidence
                for one in Learned(WEIGHTS, {"log.show"}).score(text)
                if one.intent == "log.show"
            ),
            0,
        )

    assert sure(" ".join([*words, "x"])) <= sure(" ".join([*words, more])) + 0.0001


@given(st.text())
def test_any_text_at_all_is_taken(text: str) -> None:
    found = Learned(WEIGHTS).score(text)
    assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)
    assert all(0 <= one.confidence <= 1 for one in found)


def test_a_router_goes_by_the_larger_of_what_was_written_and_what_was_learned() -> None:
    entries = [
        IntentEntry("log.show", "logs", {"日志": 0.65, "show": 0.2}),
        IntentEntry("service.restart", "services", {"reboot": 0.9}),
    ]
    router = Router(["keyword"], Thresholds(), entries=entries)
    assert router.route("看日志").decision.confidence == 0.65
    router.use(Lexicon(entries, Learned(WEIGHTS)))
    learned = router.route("看日志").decision
    assert (learned.outcome, learned.intent) == ("dispatch", "log.show")
    assert learned.confidence == Learned(WEIGHTS).score("看日志")[0].confidence > 0.65
    assert [(one.keyword, one.weight) for one in learned.candidates[0].matched] == [("日志", 0.65)]
    assert router.route("reboot").decision.confidence == 0.9
    assert router.route("run the flow").decision.outcome == "no_match"


def test_nothing_that_serves_needs_what_learning_needs() -> None:
    code = (
        "import sys; import hermes.routing.learned, hermes.routing.weights, hermes.routing.learning.train; "
        "print([name for name in ('numpy', 'scipy', 'sklearn') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_of_few_examples_nothing_is_sure() -> None:
    few = {name: replace(one, examples=5) for name, one in WEIGHTS.intents.items()}
    sure = Learned(WEIGHTS).score("看日志")[0].confidence
    assert Learned(replace(WEIGHTS, intents=few)).score("看日志")[0].confidence < 0.6 < sure


def test_without_anything_to_calibrate_with_nothing_reaches_what_is_run() -> None:
    learned = Learned(replace(WEIGHTS, calibration=DEFAULT))
    assert all(one.confidence <= 0.6 for one in learned.score("show build log 日志 重启"))
