"""The parameters of one intent: found in the text, converted, and checked; compiled once when a plugin loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes.host.manifests.choices import Choices, Fold
from hermes.host.manifests.manifest import Intent
from hermes.host.manifests.schema import Locale, Problem, Schema, converted
from hermes.host.manifests.slots import Slots

__all__ = ["Fold", "Locale", "Parameters", "Problem"]


class Parameters:
    """What an intent takes. It holds no state of a message and can be shared."""

    def __init__(self, intent: Intent, *, fold: Fold | None = None) -> None:
        """Compile schema and slots of `intent`; raise InvalidPart if they are not valid.

        `fold` is how words are compared; without it no `enum` values are looked for in texts.
        """
        self._schema = Schema(intent.parameters or {})
        self._slots = Slots(intent.slots)
        self._choices = None if fold is None else Choices(self._schema.properties, fold)

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schema of each parameter, by name."""
        return self._schema.properties

    def fill(self, text: str | None, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload with what slots, and then `enum` values, find in `text`; fields that it has are left alone."""
        if not text:
            return dict(payload)
        chosen = {} if self._choices is None else self._choices.find(text)
        found = {name: self._as_value(name, value) for name, value in self._slots.find(text).items()}
        return chosen | found | dict(payload)

    def problems(self, payload: Mapping[str, Any], *, locale: Locale = "en") -> list[Problem]:
        """Return what is wrong with the payload, nothing if it fits; `text` counts only if the schema names it."""
        checked = dict(payload)
        if "text" not in self._schema.named:
            checked.pop("text", None)
        return self._schema.problems(checked, locale=locale)

    def _as_value(self, name: str, text: str) -> Any:
        """Return what a slot has found as the schema has it: `PROD` is the `prod` of an `enum`."""
        value = converted(text, self._schema.properties.get(name))
        if self._choices is None or not isinstance(value, str):
            return value
        return self._choices.named(name, value) or value
