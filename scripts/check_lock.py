"""Checks, without a network, that requirements.lock holds what pyproject.toml asks for, and nothing else.

Whether the locked packages agree with one another is left to the installer and to `pip check`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from lockfile import Pin, name_of, needed, parts, read
from packaging.markers import Marker
from packaging.requirements import Requirement

# Where the lock is promised to fit; elsewhere it may.
_PLATFORMS = (
    {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"},
    {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "aarch64"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "x86_64"},
)
_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_PLACES = [{**platform, "python_version": python} for platform in _PLATFORMS for python in _PYTHONS]


def differences(pyproject: dict[str, Any], pins: list[Pin]) -> Iterator[str]:
    """Yield one sentence for each way in which the lock and pyproject.toml disagree."""
    asked = [item for items in parts(pyproject).values() for item in items] + pyproject["build-system"][
        "requires"
    ]
    for requirement in dict.fromkeys(asked):
        yield from _unmet(requirement, [pin for pin in pins if pin.name == name_of(requirement)])
    kept = {pin.name for pin in needed(pins, {name_of(requirement) for requirement in asked})}
    yield from (f"{pin.name} is locked, but nothing asks for it" for pin in pins if pin.name not in kept)
    yield from (f"{pin.name} is locked without a hash" for pin in pins if not pin.hashes)


def _unmet(requirement: str, pins: list[Pin]) -> Iterator[str]:
    asked = Requirement(requirement)
    for place in _PLACES:
        if asked.marker and not asked.marker.evaluate(place):
            continue
        versions = [pin.version for pin in pins if not pin.marker or Marker(pin.marker).evaluate(place)]
        if len(versions) != 1 or not asked.specifier.contains(versions[0], prereleases=True):
            where = f"{place['sys_platform']} {place['platform_machine']}, Python {place['python_version']}"
            yield f"{requirement} is asked for, but the lock has {' and '.join(versions) or 'none'} ({where})"
            return


def main() -> int:
    """Print what differs; return 1 if anything does."""
    try:
        sentences = list(differences(*read()))
    except ValueError as error:
        sentences = [str(error)]
    for sentence in sentences:
        print(f"requirements.lock: {sentence}; scripts/lock makes it anew", file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
