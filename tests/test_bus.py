from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from hermes.bus import Bus, Published, Subscription

EVERYTHING: Callable[[Published], bool] = lambda _published: True  # noqa: E731 - a value to hand in


class Told:
    """Counts the subscriptions that were ended for being slow."""

    def __init__(self) -> None:
        self.slow = 0

    def __call__(self) -> None:
        self.slow += 1


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def bus(told: Told) -> Bus:
    return Bus(told)


def event(bus: Bus, request_id: str = "r1", *, owner: str = "local:local", body: bytes = b"{}") -> Published:
    return Published(bus.next_number(), owner, request_id, "s1", 1, "PROGRESS", body)


def publish(bus: Bus, count: int = 1, *, body: bytes = b"{}", request_id: str = "r1") -> list[Published]:
    published = [event(bus, request_id, body=body) for _ in range(count)]
    for one in published:
        bus.publish(one)
    return published


async def rest(subscription: Subscription) -> list[Published]:
    """Return what a subscription has still to give; it must have an end."""
    async with asyncio.timeout(10):
        return [one async for one in subscription.events()]


async def hand(subscription: Subscription, *, to: Callable[[Published], None]) -> None:
    async for one in subscription.events():
        to(one)


async def test_every_subscriber_gets_every_event_in_order(bus: Bus) -> None:
    subscriptions = [bus.subscribe(EVERYTHING)[0] for _ in range(3)]
    published = publish(bus, 100)
    bus.close("shutdown")
    assert [await rest(one) for one in subscriptions] == [published] * 3


async def test_numbers_always_grow_whatever_the_clock_does(bus: Bus) -> None:
    numbers = [bus.next_number() for _ in range(10_000)]
    assert numbers == sorted(set(numbers))


async def test_events_are_given_while_they_come(bus: Bus) -> None:
    subscription, _ = bus.subscribe(EVERYTHING)
    taken: list[Published] = []

    taking = asyncio.ensure_future(hand(subscription, to=taken.append))
    published: list[Published] = []
    for count in (1, 3, 2):
        await asyncio.sleep(0)
        assert taken == published
        published += publish(bus, count)
        await asyncio.sleep(0)
    subscription.close("ended")
    await taking
    assert taken == published


async def test_a_subscriber_sees_what_it_accepts_and_nothing_else(bus: Bus) -> None:
    mine, _ = bus.subscribe(lambda published: published.owner == "key:ci")
    one = event(bus, owner="key:ci")
    bus.publish(event(bus))
    bus.publish(one)
    bus.close("shutdown")
    assert await rest(mine) == [one]


async def test_who_follows_a_message_gets_its_story_so_far_and_then_what_comes_of_it_alone(bus: Bus) -> None:
    story = publish(bus, 2)
    following = bus.follow(("local:local", "r1"), story)
    publish(bus, 2, request_id="r2")
    bus.publish(event(bus, owner="key:other"))
    more = publish(bus, 2)
    bus.close("shutdown")
    assert await rest(following) == [*story, *more]


async def test_who_comes_back_gets_what_was_missed_and_no_gap(bus: Bus) -> None:
    published = publish(bus, 10)
    again, gap = bus.subscribe(EVERYTHING, after=published[3].number)
    more = publish(bus)
    bus.close("shutdown")
    assert not gap
    assert await rest(again) == [*published[4:], *more]


async def test_without_a_number_only_what_comes_from_now_on_is_given(bus: Bus) -> None:
    publish(bus, 3)
    subscription, gap = bus.subscribe(EVERYTHING)
    more = publish(bus)
    bus.close("shutdown")
    assert not gap
    assert await rest(subscription) == more


async def test_a_replay_holds_only_what_the_subscriber_accepts(bus: Bus) -> None:
    start = event(bus).number
    theirs = event(bus, owner="key:ci")
    for one in (event(bus), theirs, event(bus)):
        bus.publish(one)
    subscription, _ = bus.subscribe(lambda published: published.owner == "key:ci", after=start)
    bus.close("shutdown")
    assert await rest(subscription) == [theirs]


async def test_a_number_from_before_this_process_leaves_a_gap(bus: Bus) -> None:
    published = publish(bus, 2)
    subscription, gap = bus.subscribe(EVERYTHING, after=published[0].number - 10_000_000)
    bus.close("shutdown")
    assert gap
    assert await rest(subscription) == published


async def test_after_more_than_is_kept_there_is_a_gap_unless_just_the_last_forgotten_one_was_seen(
    bus: Bus,
) -> None:
    published = publish(bus, 40, body=b"x" * 1_000_000)
    subscription, gap = bus.subscribe(EVERYTHING, after=published[0].number)
    assert gap
    bus.close("ended")
    kept = await rest(subscription)
    assert 1 <= len(kept) < 10
    assert kept == published[-len(kept) :]
    last_forgotten = published[-len(kept) - 1]
    assert bus.subscribe(EVERYTHING, after=last_forgotten.number)[1] is False
    assert bus.subscribe(EVERYTHING, after=last_forgotten.number - 1)[1] is True


async def test_who_does_not_keep_up_is_ended_as_slow_after_a_bounded_buffer_and_nobody_else(
    bus: Bus, told: Told
) -> None:
    slow, _ = bus.subscribe(EVERYTHING)
    quick, _ = bus.subscribe(EVERYTHING)
    taken: list[Published] = []
    taking = asyncio.ensure_future(hand(quick, to=taken.append))
    published = []
    for _ in range(50):
        published += publish(bus, body=b"x" * 100_000)
        await asyncio.sleep(0)
    assert (slow.end, quick.end, told.slow) == ("slow", None, 1)
    got = await rest(slow)
    assert 0 < len(got) < 20
    assert got == published[: len(got)]
    bus.close("shutdown")
    await taking
    assert taken == published


async def test_a_slow_subscriber_can_come_back_to_where_it_was(bus: Bus) -> None:
    slow, _ = bus.subscribe(EVERYTHING)
    published = publish(bus, 50, body=b"x" * 100_000)
    seen = await rest(slow)
    bus.unsubscribe(slow)
    again, gap = bus.subscribe(EVERYTHING, after=seen[-1].number)
    bus.close("shutdown")
    assert not gap
    assert [*seen, *await rest(again)] == published


async def test_a_long_replay_is_no_reason_to_end_and_no_room_for_more(bus: Bus, told: Told) -> None:
    start = event(bus).number
    published = publish(bus, 50, body=b"x" * 100_000)
    late, _ = bus.subscribe(EVERYTHING, after=start)
    published += publish(bus, 5, body=b"x" * 100_000)
    assert told.slow == 0
    events = late.events()
    assert [await anext(events) for _ in range(50)] == published[:50]
    publish(bus, 20, body=b"x" * 100_000)
    assert (late.end, told.slow) == ("slow", 1)
    assert len([one async for one in events]) <= 12


async def test_a_subscription_that_was_given_up_counts_no_more_and_gets_nothing(bus: Bus) -> None:
    all_events, _ = bus.subscribe(EVERYTHING)
    following = bus.follow(("local:local", "r1"), [])
    assert bus.subscribers == 2
    for one in (all_events, following, following):
        bus.unsubscribe(one)
    assert bus.subscribers == 0
    publish(bus)
    for one in (all_events, following):
        one.close("ended")
        assert await rest(one) == []


@pytest.mark.parametrize("reason", ["shutdown", "ended"])
async def test_closing_ends_every_subscription_with_the_reason_once_it_has_taken_what_waits(
    bus: Bus, reason: str
) -> None:
    waiting, _ = bus.subscribe(EVERYTHING)
    following = bus.follow(("local:local", "r1"), [])
    published = publish(bus, 2)
    bus.close("shutdown" if reason == "shutdown" else "ended")
    publish(bus)
    for one in (waiting, following):
        assert await rest(one) == published
        assert one.end == reason


async def test_a_reason_once_given_stays(bus: Bus) -> None:
    subscription, _ = bus.subscribe(EVERYTHING)
    subscription.close("ended")
    bus.close("shutdown")
    assert subscription.end == "ended"


async def test_who_comes_after_the_bus_was_closed_gets_what_there_is_and_ends_at_once(bus: Bus) -> None:
    story = publish(bus, 2)
    bus.close("shutdown")
    late, _ = bus.subscribe(EVERYTHING, after=story[0].number)
    following = bus.follow(("local:local", "r1"), story)
    assert await rest(late) == story[1:]
    assert await rest(following) == story
    assert (late.end, following.end) == ("shutdown", "shutdown")
