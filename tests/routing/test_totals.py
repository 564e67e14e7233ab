from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.routing.totals import Totals

FEATURES = ["the", "log", "build log", "日志", "志"]
THOUSANDTHS = st.integers(-5_000, 5_000).map(lambda weight: weight / 1000)


def highest(totals: Totals, *features: str) -> list[tuple[float, int]]:
    return list(totals.hear(dict.fromkeys(features, 1)).ranked)


def test_the_highest_totals_come_first_bias_and_all_that_speaks_against_included() -> None:
    totals = Totals({"log": [(0, 0.5), (1, 0.7)], "日志": [(0, 0.25), (2, 1.0)]}, [-0.1, -0.6, 0.2])
    assert highest(totals, "log", "日志") == [(1.2, 2), (0.65, 0), (0.1, 1)]
    assert highest(totals, "log") == [(0.4, 0), (0.1, 1)]


def test_an_intent_that_nothing_speaks_for_is_none_of_them_however_high_its_bias() -> None:
    totals = Totals({"log": [(0, 0.5), (1, -0.7)], "开灯": []}, [-3.0, 2.0, 5.0])
    assert highest(totals, "log") == [(-2.5, 0)]
    assert highest(totals, "开灯") == []
    assert highest(totals) == []
    assert highest(Totals({"log": []}, []), "log") == []


def test_units_are_known_if_any_intent_is_spoken_for() -> None:
    totals = Totals({"show": [(0, 0.5)], "not": [(0, -0.5)], "开灯": []}, [0.0])
    heard = totals.hear({"show": 0b001, "not": 0b010, "开灯": 0b1100, "xyz": 0b10000})
    assert (heard.hits, heard.known) == ([("show", 0b001), ("not", 0b010), ("开灯", 0b1100)], 1)


def test_of_equal_totals_the_lower_number_comes_first() -> None:
    totals = Totals({"log": [(2, 0.5), (1, 0.5), (0, 0.5)]}, [0.0, 0.0, 0.0])
    assert [number for _, number in highest(totals, "log")] == [0, 1, 2]


def test_totals_as_large_as_a_long_text_of_the_heaviest_weights_stay_apart() -> None:
    weights = {f"word{n}": [(0, 100.0), (1, -100.0), (2, 100.0)] for n in range(6_000)}
    assert highest(Totals(weights, [100.0, -100.0, 0.0]), *weights) == [(600_100.0, 0), (600_000.0, 2)]


@pytest.mark.parametrize("intents", [1, 3, 40, 200])
@given(data=st.data())
def test_invariant_totals_are_the_sums_of_what_is_there(data: st.DataObject, intents: int) -> None:
    numbers = st.integers(0, intents - 1)
    pairs = st.dictionaries(numbers, THOUSANDTHS.filter(bool), max_size=12)
    weights = {feature: data.draw(pairs) for feature in FEATURES}
    biases = data.draw(st.lists(THOUSANDTHS, min_size=intents, max_size=intents))
    there = data.draw(st.lists(st.sampled_from(FEATURES), unique=True))
    spoken_for = {number for one in there for number, weight in weights[one].items() if weight > 0}
    wanted = sorted(
        (-round(biases[number] + sum(weights[one].get(number, 0) for one in there), 3), number)
        for number in spoken_for
    )
    totals = Totals({feature: list(found.items()) for feature, found in weights.items()}, biases)
    assert highest(totals, *there) == [(-total, number) for total, number in wanted]
