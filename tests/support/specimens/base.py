"""What a kind of runtime gives its contract test: one plugin that does what the text of a message asks for.

`fail` ends in an error whose sentence has FAULT in it, `large` answers with more than the limit, `wait` never ends by
itself, and any other text is answered with itself, as the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

FAULT = "坏了: it broke"
LARGE = 2_000_000
"""Characters of a result that is over the limit."""


@dataclass(frozen=True, slots=True)
class Specimen:
    """The files and the manifest of the plugin; `tells` says whether it tells of its progress, 40 percent."""

    manifest: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    tells: bool = True


class MakeSpecimen(Protocol):
    """What a module beside this one has as `specimen`; its plugin works as long as the context lasts."""

    def __call__(self) -> AbstractAsyncContextManager[Specimen]:
        """Return the context."""
