"""The folders to watch for the plugins' sake, and what something that happens in one may have changed."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from hermes.host.files.fingerprint import counts

Touched = frozenset[Path] | None
"""What may have changed; None is everything."""

_NOTHING: frozenset[Path] = frozenset()


class Spot(Protocol):
    """A folder to watch, by its real place. Two that are equal need one watch."""

    deep: ClassVar[bool]
    """Whether what lies in the folders below matters too."""

    @property
    def path(self) -> str:
        """Where it is: without links, because what comes through one is told with the name behind it."""

    def touched(self, parts: Sequence[str]) -> Touched:
        """Return what may have changed by an event; `parts` is its path below the folder, empty for the folder itself."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The folder that plugins lie in."""

    path: str
    folder: Path
    deep: ClassVar[bool] = True

    def touched(self, parts: Sequence[str]) -> Touched:
        """Tell which entry it is."""
        if not parts or _swapped(parts[:2]):
            return None
        return frozenset({self.folder / parts[0]}) if all(map(counts, parts)) else _NOTHING


@dataclass(frozen=True, slots=True)
class Linked:
    """A folder elsewhere that `entries` of the plugins folder lead to."""

    path: str
    entries: frozenset[Path]
    deep: ClassVar[bool] = True

    def touched(self, parts: Sequence[str]) -> Touched:
        """Tell the entries, whatever it is."""
        if not parts or _swapped(parts[:1]):
            return None
        return self.entries if all(map(counts, parts)) else _NOTHING


@dataclass(frozen=True, slots=True)
class Around:
    """A folder that holds what is watched: `names` are what it is called there, each with the path that is told.

    `folder` is the plugins folder: if it came or went, everything did.
    """

    path: str
    names: frozenset[tuple[str, Path]]
    folder: Path
    deep: ClassVar[bool] = False

    def touched(self, parts: Sequence[str]) -> Touched:
        """Tell what is so named; all that is here if it may have been reached through what is swapped."""
        if not parts:
            return None
        swapped = _swapped(parts[:1])
        paths = frozenset(path for name, path in self.names if swapped or name == parts[0])
        return None if self.folder in paths else paths


def find_spots(folder: Path, files: Sequence[Path]) -> list[Spot]:
    """Return what there is to watch now for the plugins in `folder` and for `files`; what is not there is left out."""
    real = os.path.realpath(folder)
    found: list[Spot] = [Tree(real, folder), *_linked(folder, real), *_around(folder, files)]
    return [spot for spot in found if os.path.isdir(spot.path) and os.access(spot.path, os.R_OK)]


def _linked(folder: Path, real: str) -> Iterator[Linked]:
    """Give the places of entries that are links, except one that the plugins folder itself lies in."""
    try:
        names = os.listdir(real)
    except OSError:  # gone, or not to be read: whoever looks at the plugins tells
        return
    places: dict[str, set[Path]] = defaultdict(set)
    for entry in (folder / name for name in names if counts(name)):
        if entry.is_symlink() and entry.is_dir():
            places[os.path.realpath(entry)].add(entry)
    for place, entries in places.items():
        if not os.path.join(real, "").startswith(os.path.join(place, "")):
            yield Linked(place, frozenset(entries))


def _around(folder: Path, files: Sequence[Path]) -> Iterator[Around]:
    """Give the folders around the watched paths, and around what they lead to if they are links."""
    names: dict[str, set[tuple[str, Path]]] = defaultdict(set)
    for path in (folder, *files):
        for place in (Path(os.path.abspath(path)), Path(os.path.realpath(path))):
            names[os.path.realpath(place.parent)].add((place.name, path))
    for around, named in names.items():
        yield Around(around, frozenset(named), folder)


def _swapped(names: Sequence[str]) -> bool:
    """Say whether one of these is what whole folders are swapped by: `..data`, which other names are links through."""
    return any(name.startswith("..") and counts(name.lstrip(".")) for name in names)
