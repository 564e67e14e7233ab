"""What hermes.yaml says arrives in the parts that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.config import load_config
from hermes.errors import ConfigError
from hermes.parts import build_parts
from hermes.routing.lexicon import IntentEntry
from hermes.routing.router import Router
from tests.support.logbook import Logbook

ENTRIES = [
    IntentEntry("strong", "p", {"强": 1, "strong": 1}),
    IntentEntry("good", "p", {"好": 0.9, "good": 0.9}),
    IntentEntry("near", "q", {"近": 0.85, "near": 0.85}),
    IntentEntry("weak", "q", {"弱": 0.5, "weak": 0.5}),
]


@pytest.fixture
def book() -> Iterator[Logbook]:
    with Logbook() as opened:
        yield opened


def router(folder: Path, book: Logbook, section: str) -> Router:
    """Return the router of a daemon with this `router:` section, with the entries of this page."""
    file = folder / "hermes.yaml"
    file.write_text(f"router: {{{section}}}\n", encoding="utf-8")
    made = build_parts(load_config(file, {}), {}, logs=book.logs).router
    made.load(ENTRIES)
    return made


def came_to(asked: Router, text: str) -> str:
    decision = asked.route(text).decision
    return decision.intent + ("?" if decision.warning else "") or decision.outcome


@pytest.mark.parametrize(
    ("section", "came"),
    [
        # strong 1.0, good 0.9, weak 0.5, good with near 0.9 to 0.85
        ("", ["strong", "good", "no_match", "clarify"]),
        ("min_confidence: 0", ["strong", "good", "weak?", "clarify"]),
        ("min_confidence: 0.5", ["strong", "good", "weak?", "clarify"]),
        ("min_confidence: 0.51", ["strong", "good", "no_match", "clarify"]),
        ("min_confidence: 0.8", ["strong", "good", "no_match", "clarify"]),
        ("min_confidence: 0.9, clarify_threshold: 0.9", ["strong", "good", "no_match", "good?"]),
        ("min_confidence: 0.99, clarify_threshold: 0.99", ["strong", "no_match", "no_match", "no_match"]),
        ("min_confidence: 1, clarify_threshold: 1", ["strong", "no_match", "no_match", "no_match"]),
        ("min_confidence: 0, clarify_threshold: 0", ["strong", "good", "weak", "clarify"]),
        ("min_confidence: 0, clarify_threshold: 0.5", ["strong", "good", "weak", "clarify"]),
        ("clarify_threshold: 0.6", ["strong", "good", "no_match", "clarify"]),
        ("clarify_threshold: 0.91", ["strong", "good?", "no_match", "clarify"]),
        ("clarify_threshold: 0.99", ["strong", "good?", "no_match", "clarify"]),
        ("clarify_threshold: 1", ["strong", "good?", "no_match", "clarify"]),
        ("clarify_margin: 0", ["strong", "good", "no_match", "good"]),
        ("clarify_margin: 0.05", ["strong", "good", "no_match", "good"]),
        ("clarify_margin: 0.051", ["strong", "good", "no_match", "clarify"]),
        ("clarify_margin: 1", ["strong", "good", "no_match", "clarify"]),
        ("strategies: [prefix]", ["no_match"] * 4),
    ],
)
def test_every_value_of_the_router_that_is_accepted_takes_effect(
    tmp_path: Path, book: Logbook, section: str, came: list[str]
) -> None:
    asked = router(tmp_path, book, section)
    assert [came_to(asked, text) for text in ("strong", "good", "weak", "good near")] == came
    assert [came_to(asked, text) for text in ("强", "好", "弱", "好近")] == came


def test_strategies_are_those_that_are_named_in_their_order(tmp_path: Path, book: Logbook) -> None:
    assert (
        router(tmp_path, book, "strategies: [prefix, keyword]").route("/good strong").decision.intent
        == "good"
    )
    assert (
        router(tmp_path, book, "strategies: [keyword, prefix]").route("/weak good").decision.intent == "good"
    )
    assert router(tmp_path, book, "strategies: [keyword]").route("/weak").decision.outcome == "no_match"


@pytest.mark.parametrize(
    ("section", "key", "reason"),
    [
        ("min_confidence: -0.1", "min_confidence", "must be at least 0"),
        ("min_confidence: 1.01", "min_confidence", "must be at most 1"),
        ("min_confidence: high", "min_confidence", "must be a number"),
        ("min_confidence: .nan", "min_confidence", "must be"),
        ("min_confidence: '0.5'", "min_confidence", "must be a number"),
        ("min_confidence: true", "min_confidence", "must be a number"),
        ("min_confidence: ~", "min_confidence", "must be a number"),
        ("clarify_threshold: -1", "clarify_threshold", "must be at least 0"),
        ("clarify_threshold: 80", "clarify_threshold", "must be at most 1"),
        ("clarify_margin: -0.1", "clarify_margin", "must be at least 0"),
        ("clarify_margin: 10%", "clarify_margin", "must be a number"),
        (
            "min_confidence: 0.8, clarify_threshold: 0.6",
            "clarify_threshold",
            "must not be below min_confidence",
        ),
        ("min_confidence: 0.9", "clarify_threshold", "must not be below min_confidence"),
        ("strategies: []", "strategies", "must not be empty"),
        ("strategies: [keyword, keyword]", "strategies", "must not name anything twice"),
        ("confidence: 0.5", "confidence", "is not a known key"),
    ],
)
def test_a_value_of_the_router_that_cannot_be_is_refused_with_the_reason(
    tmp_path: Path, book: Logbook, section: str, key: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as refused:
        router(tmp_path, book, section)
    problem = refused.value.problems[0]
    assert (problem.key, problem.line) == (f"router.{key}", 1)


def test_an_unknown_strategy_is_refused_when_the_router_is_made(tmp_path: Path, book: Logbook) -> None:
    with pytest.raises(ConfigError, match="did you mean 'keyword'"):
        router(tmp_path, book, "strategies: [keywords]")
