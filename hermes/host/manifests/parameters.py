"""The parameters of one intent: found in the text, converted, and checked; compiled once when a plugin loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes.host.manifests.manifest import Intent
from hermes.host.manifests.schema import Locale, Problem, Schema, converted
from hermes.host.manifests.slots import Slots

__all__ = ["Locale", "Parameters", "Problem"]


class Parameters:
    """What an intent takes. It holds no state of a message and can be shared."""

    def __init__(self, intent: Intent) -> None:
        """Compile schema and slots of `intent`; raise InvalidPart if they are not valid."""
        self._schema = Schema(intent.parameters or {})
        self._slots = Slots(intent.slots)

    def fill(self, text: str | None, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload with what the slots find in `text`; fields that the payload has are left alone."""
        found = self._slots.find(text) if text else {}
        properties = self._schema.properties
        return {name: converted(value, properties.get(name)) for name, value in found.items()} | dict(payload)

    def problems(self, payload: Mapping[str, Any], *, locale: Locale = "en") -> list[Problem]:
        """Return what is wrong with the payload, nothing if it fits; `text` counts only if the schema names it."""
        checked = dict(payload)
        if "text" not in self._schema.named:
            checked.pop("text", None)
        return self._schema.problems(checked, locale=locale)
