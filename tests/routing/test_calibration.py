from __future__ import annotations

import random

from hermes.routing.calibration import DEFAULT, calibrated, probability, row
from hermes.routing.weights import Trial


def trials(count: int, *, seed: int = 1) -> list[Trial]:
    """Trials of two intents; the one that leads is right the more often the further it leads."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        lead = chance.uniform(0, 2)
        right = chance.random() < 0.5 + lead / 4
        made.append(Trial("a" if right else "b", 4, 4, (("a", lead - 1, 3), ("b", -1.0, 1))))
    return made


def sure(factors: tuple[float, ...], lead: float) -> float:
    return probability(factors, row(lead - 1, lead, covered=3, known=4, units=4))


def test_a_probability_is_as_high_as_the_share_that_is_right() -> None:
    factors = calibrated(trials(4000))
    for lead, share in ((0.4, 0.6), (1.0, 0.75), (1.6, 0.9)):
        assert abs(sure(factors, lead) - share) < 0.05


def test_of_too_few_trials_nothing_is_made() -> None:
    assert calibrated(trials(10)) == DEFAULT
    assert calibrated([]) == DEFAULT
    assert calibrated([Trial("a", 1, 1, (("a", 1.0, 1),))] * 100) == DEFAULT


def test_strangers_lower_it_by_the_share_that_is_reckoned_with() -> None:
    strange = [Trial(None, 4, 4, one.scores) for one in trials(2000, seed=2)]
    few = calibrated([*trials(2000), *strange], strangers=0.01)
    many = calibrated([*trials(2000), *strange], strangers=0.3)
    assert sure(many, 1.0) < sure(few, 1.0) - 0.1


def test_what_is_for_an_intent_that_is_not_there_is_a_stranger() -> None:
    strange = [Trial("c", 4, 4, (("c", 2.0, 4), *one.scores)) for one in trials(2000, seed=2)]
    without = calibrated([*trials(2000), *strange], {"a", "b"}, strangers=0.3)
    assert sure(without, 1.0) < sure(calibrated(trials(2000), {"a", "b"}, strangers=0.3), 1.0) - 0.1


def test_probabilities_stay_between_0_and_1() -> None:
    for total in (-1e9, -1000.0, 0.0, 1000.0, 1e9):
        assert 0.0 <= probability((1.0,), (total,)) <= 1.0
    assert row(0.0, 0.0, covered=0, known=0, units=0)[0] == 1.0
