"""Slot patterns of an intent: regular expressions whose named groups find parameters in free text."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

import re2

from hermes.config.validation import InvalidPart


class Slots:
    """Compiled patterns. They run in time linear to the text, whatever an author writes and a user sends."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        """Compile `patterns`; raise InvalidPart, which names the slot, if one is refused."""
        self._patterns = [_compiled(name, pattern) for name, pattern in patterns.items()]
        self.groups = {
            name: frozenset(one.groupindex) for name, one in zip(patterns, self._patterns, strict=True)
        }
        """The parameters that each slot fills."""

    def find(self, text: str) -> dict[str, str]:
        """Return what the named groups match, the first find of a group winning; an empty one is no find.

        What the text as it was written does not give is looked for in its half-width form (NFKC), so that
        full-width letters and spaces do no harm.
        """
        found: dict[str, str] = {}
        for form in dict.fromkeys((text, unicodedata.normalize("NFKC", text))):
            for pattern in self._patterns:
                match = pattern.search(form)
                groups: dict[str, str | None] = match.groupdict() if match else {}
                found = {name: value for name, value in groups.items() if value} | found
        return found


def _compiled(name: str, pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args else "not a pattern"
        raise InvalidPart(f"is refused by RE2: {reason}", (name,)) from None
    if not compiled.groupindex:
        raise InvalidPart(f"has no named group; write (?P<{name}>…) around what to find", (name,))
    return compiled
