"""Callers with their rights, and who of them may decide what others asked for."""

from __future__ import annotations

from dataclasses import dataclass

from hermes.messages import Confirmation, Principal

EVERYTHING = frozenset({"messages", "read", "models", "admin"})
"""All scopes there are."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and the scopes that it has been given."""

    principal: Principal
    scopes: frozenset[str] = EVERYTHING

    @property
    def admin(self) -> bool:
        """Say whether the caller may do everything, and see the records of everybody."""
        return "admin" in self.scopes

    @property
    def sees(self) -> str | None:
        """Whose records the caller sees, None for everybody's."""
        return None if self.admin else self.principal.owner


async def may_decide(confirmation: Confirmation, asker: Principal, *, caller: Caller) -> bool:
    """Say whether a caller may decide a confirmation that somebody's message asks for.

    An admin always may. Everybody else needs the scope `messages`, must not be the asker if it has to be another, and
    must be among `by` with their person, their `<kind>:<id>` or a scope; without `by` it is for the asker.
    """
    if caller.admin:
        return True
    if "messages" not in caller.scopes:
        return False
    is_asker = caller.principal == asker
    if confirmation.other_than_asker and is_asker:
        return False
    if confirmation.by:
        names = {caller.principal.owner, caller.principal.person, *caller.scopes}
        return not names.isdisjoint(confirmation.by)
    return is_asker or confirmation.other_than_asker


def may_use(principal: Principal, intent: str) -> bool:  # noqa: ARG001 - nobody is limited to some intents yet
    """Say whether somebody may use an intent."""
    return True
