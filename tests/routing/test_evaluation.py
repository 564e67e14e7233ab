from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.errors import ConfigError
from hermes.routing.decision import Thresholds
from hermes.routing.evaluation import Report, evaluate
from hermes.routing.examples import OOS, Example
from tests.routing.clocks import Ticks

Candidates = Sequence[tuple[str, float]]
Rows = Sequence[tuple[str, str, Candidates]]


def measured(rows: Rows, **settings: float) -> Report:
    """Return the figures of a router that answers each text as its row says."""
    answers = {text: candidates for text, _, candidates in rows}
    examples = [Example(text, label) for text, label, _ in rows]
    return evaluate(answers.__getitem__, examples, thresholds=Thresholds(**settings))


MIXED: Rows = [
    ("重启 web", "restart", [("restart", 0.9), ("log", 0.1)]),
    ("restart web", "restart", [("restart", 0.85), ("log", 0.15)]),
    ("看日志", "log", [("log", 0.7), ("restart", 0.3)]),
    ("show logs", "log", [("restart", 0.95)]),
    ("你好", "log", []),
    ("讲个笑话", OOS, [("log", 0.82)]),
    ("tell a joke", OOS, [("log", 0.2)]),
    ("weather", OOS, []),
]


def test_accuracy_counts_the_best_candidate_of_rows_in_scope_whatever_its_confidence() -> None:
    report = measured(MIXED)
    assert (report.in_scope, report.oos, report.unmatched) == (5, 3, 1)
    assert report.accuracy == 3 / 5


def test_what_is_answered_is_counted_at_the_clarify_threshold() -> None:
    at = measured(MIXED).at
    assert at.threshold == 0.8
    assert at.answered_rate == 3 / 5  # of rows in scope
    assert at.accuracy_answered == 2 / 4  # strangers among what is answered
    assert at.oos_rejected == 2 / 3
    assert measured(MIXED, clarify_threshold=0.9).at.answered_rate == 2 / 5


def test_two_that_are_close_are_a_question_and_no_answer() -> None:
    close: Rows = [("构建日志", "build", [("build", 0.9), ("log", 0.85)])]
    assert measured(close).at.answered_rate == 0
    assert measured(close, clarify_margin=0.05).at.answered_rate == 1
    twice: Rows = [("构建", "build", [("build", 0.9), ("build", 0.9)])]
    assert measured(twice).at.answered_rate == 1  # of one intent in two plugins nobody is asked


def test_figures_about_rows_that_are_not_there_are_none() -> None:
    inside = measured([row for row in MIXED if row[1] != OOS])
    assert (inside.auroc, inside.at.oos_rejected) == (None, None)
    strangers = measured([row for row in MIXED if row[1] == OOS])
    assert (strangers.accuracy, strangers.auroc, strangers.at.answered_rate) == (None, None, None)
    silent = measured([("你好", "log", [])])
    assert silent.at.accuracy_answered is None
    assert (silent.accuracy, silent.ece) == (0, 0)


def test_no_rows_are_an_error() -> None:
    with pytest.raises(ConfigError, match="no rows"):
        measured([])


def test_rows_of_an_intent_that_the_router_does_not_have_are_strangers() -> None:
    rows = [Example("开灯", "light.on"), Example("看日志", "log")]
    report = evaluate(lambda _: [("log", 0.9)], rows, thresholds=Thresholds(), intents={"log"})
    assert (report.in_scope, report.oos, report.accuracy) == (1, 1, 1)
    assert report.at.accuracy_answered == 0.5


@pytest.mark.parametrize(
    ("inside", "strange", "auroc"),
    [([0.9, 0.8], [0.1, 0.2], 1.0), ([0.1], [0.9], 0.0), ([0.5, 0.9], [0.5], 0.75), ([0.3], [0.3, 0.3], 0.5)],
)
def test_auroc_is_how_often_a_row_in_scope_is_surer_than_a_stranger(
    inside: list[float], strange: list[float], auroc: float
) -> None:
    rows = [(f"in {n}", "a", [("a", score)]) for n, score in enumerate(inside)]
    rows += [(f"out {n}", OOS, [("a", score)]) for n, score in enumerate(strange)]
    assert measured(rows).auroc == auroc


def test_the_calibration_error_is_0_if_confidence_is_how_often_it_is_right() -> None:
    right: Rows = [(f"text {n}", "a" if n < 8 else "b", [("a", 0.8)]) for n in range(10)]
    assert measured(right).ece == pytest.approx(0)


def test_the_calibration_error_is_how_far_confidence_is_off_with_strangers_mixed_in() -> None:
    sure: Rows = [(f"text {n}", "a" if n < 5 else OOS, [("a", 0.9)]) for n in range(10)]
    assert measured(sure).ece == pytest.approx(0.4)
    never: Rows = [("one", "a", [("a", 1.0)]), ("two", "a", [("a", 0.5)])]
    assert measured(never).ece == pytest.approx(0.25)


def test_along_the_curve_less_is_answered_and_more_strangers_are_refused() -> None:
    curve = measured(MIXED).curve
    assert curve[0].threshold == 0
    assert curve[0].answered_rate == 4 / 5
    assert next(one for one in curve if one.threshold == 0.8) == measured(MIXED).at
    rates = [one.answered_rate or 0 for one in curve]
    refused = [one.oos_rejected or 0 for one in curve]
    assert rates == sorted(rates, reverse=True)
    assert refused == sorted(refused)


def test_the_worst_confusions_are_those_that_were_answered() -> None:
    rows: Rows = [
        *((f"asked {n}", "a", [("b", 0.7)]) for n in range(5)),
        ("wrong", "a", [("c", 0.9)]),
        ("more wrong", "a", [("c", 0.95)]),
        ("stranger", OOS, [("a", 0.99)]),
        ("refused", OOS, [("b", 0.5)]),
        ("right", "a", [("a", 0.9)]),
    ]
    found = [
        (one.label, one.taken_for, one.rows, one.answered, one.text) for one in measured(rows).confusions
    ]
    assert found == [
        ("a", "c", 2, 2, "more wrong"),
        (OOS, "a", 1, 1, "stranger"),
        ("a", "b", 5, 0, "asked 4"),
    ]


def test_thresholds_are_suggested_with_a_warning_if_there_are_few_rows() -> None:
    rows = [(f"right {n}", "a", [("a", 0.75)]) for n in range(300)]
    rows += [(f"half {n}", "a" if n % 2 else "b", [("a", 0.55)]) for n in range(100)]
    rows += [(f"wrong {n}", OOS, [("a", 0.35)]) for n in range(100)]
    suggested = measured(rows).suggestion
    assert (suggested.min_confidence, suggested.clarify_threshold) == (0.46, 0.56)
    assert "100 rows out of scope" in suggested.caution
    assert "in scope" not in suggested.caution
    rows += [(f"stranger {n}", OOS, [("a", 0.1)]) for n in range(100)]
    assert measured(rows).suggestion.caution == ""


def test_nothing_is_suggested_where_no_threshold_helps() -> None:
    wrong: Rows = [(f"text {n}", OOS, [("a", 0.9)]) for n in range(5)]
    suggested = measured(wrong).suggestion
    assert (suggested.min_confidence, suggested.clarify_threshold) == (None, None)


def test_of_each_row_the_shortest_time_counts() -> None:
    rows = [Example("a", "a"), Example("b", "b")]
    clock = Ticks([40, 90, 20, 900, 50, 60])  # µs: a, b, then a, b and again
    report = evaluate(lambda _: [], rows, thresholds=Thresholds(), clock=clock)
    assert (report.p50_us, report.p99_us) == (60, 60)
    one = evaluate(lambda _: [], rows[:1], thresholds=Thresholds(), clock=Ticks([40, 20, 50]))
    assert (one.p50_us, one.p99_us) == (20, 20)


SCORES = st.floats(0, 1, allow_nan=False)
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", OOS]), st.sampled_from(["a", "b"]), SCORES), min_size=1, max_size=40
)


@given(ROWS)
def test_invariant_every_figure_is_a_share(drawn: list[tuple[str, str, float]]) -> None:
    report = measured([(str(n), label, [(intent, score)]) for n, (label, intent, score) in enumerate(drawn)])
    figures = [report.accuracy, report.auroc, report.ece]
    for point in (report.at, *report.curve):
        figures += [point.answered_rate, point.accuracy_answered, point.oos_rejected]
    assert all(figure is None or 0 <= figure <= 1 for figure in figures)
