"""Who may decide what somebody asked for: the asker, an admin, and whom the manifest names."""

from __future__ import annotations

from typing import Any

import pytest

from hermes.auth.policy import EVERYTHING, Caller, may_decide
from hermes.messages import Confirmation, Principal

SENDS = frozenset({"messages"})
ASKER = Principal("key", "ci")
ALICE = Principal("webhook", "ops-slack", "slack:ALICE")
BOB = Principal("webhook", "ops-slack", "slack:BOB")
OPS = Principal("key", "ops")
ROOT = Principal("key", "root")


async def may(
    principal: Principal, scopes: frozenset[str] = SENDS, *, asker: Principal = ASKER, **terms: Any
) -> bool:
    """Say whether somebody may decide a confirmation on these terms."""
    confirmation = Confirmation("deploy", "deploy", {}, 2e9, **terms)
    return await may_decide(confirmation, asker, caller=Caller(principal, scopes))


async def test_without_terms_it_is_for_the_asker_alone() -> None:
    assert await may(ASKER)
    assert not await may(OPS)
    assert not await may(Principal("jwt", "ci")), "another kind of the same name"


async def test_who_sends_through_one_webhook_is_told_apart_by_person() -> None:
    assert await may(ALICE, asker=ALICE)
    assert not await may(BOB, asker=ALICE)
    assert await may(BOB, asker=ALICE, other_than_asker=True)
    assert not await may(ALICE, asker=ALICE, other_than_asker=True)


@pytest.mark.parametrize("other_than_asker", [False, True])
@pytest.mark.parametrize("by", [(), ("slack:ALICE",), ("release",)])
async def test_an_admin_may_always(by: tuple[str, ...], *, other_than_asker: bool) -> None:
    terms: dict[str, Any] = {"by": by, "other_than_asker": other_than_asker}
    assert await may(ROOT, frozenset({"admin"}), **terms)
    assert await may(ASKER, EVERYTHING, **terms)


async def test_another_than_the_asker_is_anyone_else_who_may_send() -> None:
    assert await may(OPS, other_than_asker=True)
    assert not await may(ASKER, other_than_asker=True)


@pytest.mark.parametrize("name", ["slack:ALICE", "webhook:ops-slack", "release"])
async def test_who_is_named_decides_by_person_by_id_or_by_scope(name: str) -> None:
    assert await may(ALICE, SENDS | {"release"}, by=("slack:NOBODY", name))
    assert not await may(OPS, by=("slack:NOBODY", name))


async def test_the_asker_decides_only_if_named_and_not_excluded() -> None:
    assert not await may(ASKER, by=("key:ops",))
    assert await may(ASKER, by=("key:ci",))
    assert not await may(ASKER, by=("key:ci", "messages"), other_than_asker=True)
    assert await may(OPS, by=("key:ops",), other_than_asker=True)


@pytest.mark.parametrize("name", ["None", "", "ci", "key", "key:", "KEY:CI", "key:ci2", "*"])
async def test_a_name_stands_for_nobody_but_whom_it_names(name: str) -> None:
    assert not await may(ASKER, by=(name,))


@pytest.mark.parametrize(
    "scopes", [frozenset(), frozenset({"read"}), frozenset({"read", "models", "release"})]
)
async def test_nobody_decides_without_the_scope_to_send(scopes: frozenset[str]) -> None:
    assert not await may(ASKER, scopes)
    assert not await may(OPS, scopes, other_than_asker=True)
    assert not await may(ALICE, scopes, by=("slack:ALICE", "read", "release"))


def test_a_caller_sees_its_own_records_and_an_admin_all() -> None:
    assert Caller(ASKER, SENDS).sees == "key:ci"
    assert Caller(ALICE, SENDS).sees == "webhook:ops-slack"
    assert Caller(ROOT, frozenset({"admin"})).sees is None
    assert Caller(Principal()).sees is None
