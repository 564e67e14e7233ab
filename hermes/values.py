"""Plain values that nobody changes: held by the type checker, since freezing at run time makes making one four times slower."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def value(cls: type[_T]) -> type[_T]:
    """Make a slotted dataclass whose fields the type checker does not let anyone assign; for what every message makes."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
