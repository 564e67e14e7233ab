from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.messages import Match
from hermes.routing.scoring import score

POSITIVE = st.floats(0.01, 1)
WEIGHTS = st.lists(st.floats(-1, -0.01) | POSITIVE, max_size=8)


def worth(*weights: float) -> float:
    return score(Match(f"k{number}", weight) for number, weight in enumerate(weights))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ((), 0.0),
        ((0.9,), 0.9),
        ((0.5, 0.5), 0.75),
        ((0.9, 0.5), 0.95),
        ((0.6, 0.5), 0.8),
        ((1.0, 0.3), 1.0),
        ((0.8, -0.5), 0.4),
        ((0.8, -0.5, -0.5), 0.2),
        ((0.8, -1.0), 0.0),
        ((-0.5,), 0.0),
        ((0.1, 0.1, 0.1), 0.271),
        ((1 / 3,), 0.3333),
    ],
)
def test_each_keyword_takes_its_part_of_the_doubt(weights: tuple[float, ...], expected: float) -> None:
    assert worth(*weights) == expected


@given(WEIGHTS)
def test_a_score_stays_within_zero_and_one(weights: list[float]) -> None:
    assert 0.0 <= worth(*weights) <= 1.0


@given(WEIGHTS, POSITIVE)
def test_one_more_positive_keyword_never_lowers_the_score(weights: list[float], more: float) -> None:
    assert worth(*weights, more) >= worth(*weights)


@given(WEIGHTS, st.floats(-1, -0.01))
def test_one_more_negative_keyword_never_raises_the_score(weights: list[float], more: float) -> None:
    assert worth(*weights, more) <= worth(*weights)


@given(WEIGHTS)
def test_the_order_of_matches_is_nothing_to_the_score(weights: list[float]) -> None:
    assert abs(worth(*weights) - worth(*reversed(weights))) <= 0.0001
