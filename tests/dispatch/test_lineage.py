"""What goes down from a message to those that it sends: first of all their names."""

from __future__ import annotations

import pytest

from hermes.dispatch.lineage import child_id
from hermes.messages import is_id

LONG = "x" * 126


def test_a_child_is_called_like_its_parent_with_its_number() -> None:
    assert (child_id("r1", 1), child_id("r1.1", 20)) == ("r1.1", "r1.1.20")
    assert child_id(LONG, 9) == LONG + ".9"


@pytest.mark.parametrize("parent", [LONG, LONG + "yy", "部署".encode().hex() * 10 + "~.:-_AZ"])
def test_a_name_that_would_be_too_long_is_shortened_always_to_the_same_and_to_no_others(parent: str) -> None:
    others = [parent[:-1] + "z", *(parent[: 100 + n] + "q" * 28 for n in range(20))]
    names = {child_id(one, number) for one in [parent, *others] for number in (10, 11, 1000)}
    assert len(names) == 3 * (1 + len(set(others)))
    assert all(is_id(name) for name in names)
    assert child_id(parent, 1000) == child_id(parent, 1000)
    assert child_id(parent, 1000).endswith(".1000")


def test_however_deep_it_goes_every_name_is_one() -> None:
    name, names = LONG, set()
    for depth in range(1, 20):
        name = child_id(name, depth * 50)
        names.add(name)
    assert len(names) == 19
    assert all(is_id(one) for one in names)
