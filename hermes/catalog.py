"""Finds the implementation of a kind by its name: the file name is the registry, and no list of kinds is kept.

A family is a package below `hermes` (`routing.strategies`, `host.runtimes`, `journal`). Every module in it is a
kind, except `base`, which holds the family's contract, and those whose name starts with an underscore. Such a
module names its implementation, a class or a factory, in the module attribute `adapter`. Kinds from outside are
entry points: group `hermes.<family>`, name = kind, value = the class or factory. A built-in kind cannot be replaced.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hermes.errors import ConfigError


def find(family: str, kind: str) -> Callable[..., Any]:
    """Return the class or factory of `kind`; of all kinds only this one is imported.

    Raises ConfigError if there is no such kind (naming the known ones and the nearest), if it needs a package that
    is not installed (naming that package), or if what it names cannot be used.
    """
    try:
        found: object = _load(family, kind)
    except ModuleNotFoundError as missing:
        detail = f"{family} {kind!r} needs the Python package {missing.name!r}, which is not installed"
        raise ConfigError(detail) from missing
    except (AttributeError, ImportError) as broken:
        raise ConfigError(f"{family} {kind!r} cannot be loaded: {broken}") from broken
    if not callable(found):
        raise ConfigError(f"{family} {kind!r} cannot be used: it names neither a class nor a factory")
    return found


def known(family: str) -> tuple[str, ...]:
    """Return the names of all kinds, built in and from outside, sorted; none of them is imported."""
    return tuple(sorted({*built_in(family), *_outside(family)}))


def built_in(family: str) -> tuple[str, ...]:
    """Return the names of the kinds that are shipped, sorted; none of them is imported."""
    package = importlib.import_module(f"hermes.{family}")
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name for name in names if name != "base" and not name.startswith("_")))


def _load(family: str, kind: str) -> Any:
    if kind in built_in(family):
        return importlib.import_module(f"hermes.{family}.{kind}").adapter
    outside = _outside(family)
    if kind in outside:
        return outside[kind].load()
    names = known(family)
    nearest = difflib.get_close_matches(kind, names, n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise ConfigError(f"there is no {family} {kind!r}; known: {', '.join(names) or 'none'}{hint}")


def _outside(family: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"hermes.{family}")}
