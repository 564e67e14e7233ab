"""Picks the part of requirements.lock that an installation needs; nothing is resolved or fetched.

`lockfile.py PART...` prints the pins, with their hashes, of the named parts of pyproject.toml and of all that they
pull in. A part is `project`, `extras` (all of them) or the name of one extra or dependency group.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PIN = re.compile(rf"(?P<name>{_NAME.pattern})==(?P<version>[^\s;@]+)(?: ; (?P<marker>.+))?")


@dataclass(frozen=True, slots=True)
class Pin:
    """One locked release: where it applies, its hash options, and the names of the packages that asked for it."""

    name: str
    version: str
    marker: str | None
    hashes: tuple[str, ...]
    via: frozenset[str]


def canonical(name: str) -> str:
    """Return the one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    """Return the canonical name that a requirement begins with; ValueError if it begins with something else."""
    found = _NAME.match(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} is no requirement")
    return canonical(found[0])


def read_lock(text: str) -> list[Pin]:
    """Return the pins of a lock; ValueError at anything but pins, hashes and comments, so at any option or address."""
    return [_read_pin(block) for block in re.split(r"\n(?=[^\s#])", "\n" + text)[1:]]


def _read_pin(block: str) -> Pin:
    first, *rest = [line.strip().removesuffix("\\").rstrip() for line in block.splitlines() if line.strip()]
    found = _PIN.fullmatch(first)
    if found is None:
        raise ValueError(f"{first!r} is no pin")
    hashes = tuple(line for line in rest if line.startswith("--hash=sha256:"))
    notes = [line.lstrip("# ").removeprefix("via").strip() for line in rest if line.startswith("#")]
    if len(hashes) + len(notes) != len(rest):
        raise ValueError(f"{first} is followed by something that is neither a hash nor a comment")
    via = frozenset(canonical(note) for note in notes if note)
    return Pin(canonical(found["name"]), found["version"], found["marker"], hashes, via)


def parts(pyproject: dict[str, Any]) -> dict[str, list[str]]:
    """Return the requirements that pyproject.toml makes, by part."""
    extras: dict[str, list[str]] = pyproject["project"].get("optional-dependencies", {})
    groups: dict[str, list[str]] = pyproject.get("dependency-groups", {})
    return {
        "project": pyproject["project"]["dependencies"],
        "extras": [item for items in extras.values() for item in items],
        **extras,
        **groups,
    }


def needed(pins: list[Pin], roots: set[str]) -> list[Pin]:
    """Return the pins of `roots` and, following who asked for what, of all that they pull in.

    A package that only an extra of a root asks for is taken along: too much is harmless, too little is refused by
    the installer, which wants a hash for everything.
    """
    names = set(roots)
    while more := {pin.name for pin in pins if pin.via & names} - names:
        names |= more
    return [pin for pin in pins if pin.name in names]


def select(pyproject: dict[str, Any], pins: list[Pin], *, wanted: list[str]) -> list[Pin]:
    """Return the pins of the wanted parts; ValueError at an unknown part, naming the known ones."""
    known = parts(pyproject)
    if unknown := [part for part in wanted if part not in known]:
        raise ValueError(f"no part named {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return needed(pins, {name_of(item) for part in wanted for item in known[part]})


def read(root: Path = ROOT) -> tuple[dict[str, Any], list[Pin]]:
    """Return pyproject.toml and the pins of requirements.lock in `root`."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    return pyproject, read_lock((root / "requirements.lock").read_text("utf-8"))


def main(wanted: list[str]) -> int:
    """Print the wanted parts as a requirements file; return the exit code."""
    if not wanted:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        pyproject, pins = read()
        for pin in select(pyproject, pins, wanted=wanted):
            pinned = f"{pin.name}=={pin.version}" + (f" ; {pin.marker}" if pin.marker else "")
            print(" \\\n    ".join((pinned, *pin.hashes)))
    except ValueError as error:
        print(f"requirements.lock: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
