"""A circuit breaker by itself, on a clock that the test moves."""

from __future__ import annotations

import pytest

from hermes.host.breaker import Breaker
from hermes.host.workers.failures import BreakerOpen
from tests.support.moved_clock import MovedClock


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def changes() -> list[tuple[str, int]]:
    return []


@pytest.fixture
def breaker(clock: MovedClock, changes: list[tuple[str, int]]) -> Breaker:
    return Breaker(3, 30.0, clock=clock, on_change=lambda state, failures: changes.append((state, failures)))


def fail(breaker: Breaker, times: int = 3) -> None:
    for _ in range(times):
        breaker.fail(probe=breaker.admit())


def test_it_opens_after_as_many_failures_in_a_row_as_its_threshold(
    breaker: Breaker, changes: list[tuple[str, int]]
) -> None:
    fail(breaker, 2)
    assert (breaker.state, changes) == ("closed", [])
    fail(breaker, 1)
    assert (breaker.state, breaker.failures, changes) == ("open", 3, [("open", 3)])


def test_a_call_that_ends_well_begins_the_count_anew(breaker: Breaker) -> None:
    fail(breaker, 2)
    breaker.succeed(probe=breaker.admit())
    fail(breaker, 2)
    assert breaker.state == "closed"


def test_while_it_is_open_every_call_is_told_when_it_is_tried_again(
    breaker: Breaker, clock: MovedClock
) -> None:
    fail(breaker)
    clock.now += 12.5
    with pytest.raises(BreakerOpen) as caught:
        breaker.admit()
    assert (caught.value.failures, caught.value.retry_in) == (3, 18)
    assert "tried again in 18 s" in caught.value.reason


def test_after_the_cool_down_exactly_one_of_many_is_the_probe(breaker: Breaker, clock: MovedClock) -> None:
    fail(breaker)
    clock.now += 30
    assert breaker.state == "half_open"
    assert breaker.admit()
    for _ in range(49):
        with pytest.raises(BreakerOpen, match="one call tries it now"):
            breaker.admit()
    breaker.succeed(probe=True)
    assert (breaker.state, breaker.failures) == ("closed", 0)
    assert not breaker.admit()


def test_a_probe_that_fails_opens_it_for_the_whole_cool_down_again(
    breaker: Breaker, clock: MovedClock
) -> None:
    fail(breaker)
    clock.now += 30
    breaker.fail(probe=breaker.admit())
    assert (breaker.state, breaker.retry_in, breaker.failures) == ("open", 30.0, 4)


def test_a_probe_that_says_nothing_leaves_the_next_call_to_be_one(
    breaker: Breaker, clock: MovedClock
) -> None:
    fail(breaker)
    clock.now += 30
    breaker.abandon(probe=breaker.admit())
    assert breaker.state == "half_open"
    assert breaker.admit()


def test_calls_from_before_it_opened_do_not_decide(breaker: Breaker, clock: MovedClock) -> None:
    early = [breaker.admit() for _ in range(3)]
    assert early == [False] * 3
    fail(breaker)
    breaker.succeed(probe=early[0])
    assert breaker.retry_in == 30
    clock.now += 30
    states = []
    assert breaker.admit()
    breaker.fail(probe=early[1])
    breaker.succeed(probe=early[2])
    states.append(breaker.state)
    breaker.succeed(probe=True)
    states.append(breaker.state)
    assert states == ["half_open", "closed"]


def test_changes_are_told_in_their_order(
    breaker: Breaker, clock: MovedClock, changes: list[tuple[str, int]]
) -> None:
    fail(breaker)
    clock.now += 30
    breaker.fail(probe=breaker.admit())
    clock.now += 30
    breaker.succeed(probe=breaker.admit())
    assert changes == [("open", 3), ("half_open", 3), ("open", 4), ("half_open", 4), ("closed", 0)]
