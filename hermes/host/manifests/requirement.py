"""One Python package that somebody needs, as pip names it, held against what there is; nothing is installed here."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Parsed
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion


class Requirement:
    """A requirement in the form of PEP 508, such as `requests[socks]>=2; python_version < "3.13"`.

    `name` is the package's canonical name with its `extras`, `specifier` what is asked of the version, `wanted` all
    of that, `line` the whole with its marker as a requirements file has it, and `applies` whether the marker is true
    of this interpreter or there is none.
    """

    __slots__ = ("applies", "extras", "line", "name", "specifier", "wanted")

    def __init__(self, text: str) -> None:
        """Read `text`; raise ValueError, which says what is wrong with it, if it is not one requirement."""
        if not text.isprintable():  # an address may hold a newline, and a requirements file is made of lines
            raise ValueError("is not a requirement such as requests>=2: it must be one line")
        try:
            parsed = Parsed(text)
        except InvalidRequirement as error:
            raise ValueError(f"is not a requirement such as requests>=2: {_first_line(error)}") from None
        self.name: str = canonicalize_name(parsed.name)
        self.extras = tuple(sorted(parsed.extras))
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        place = f" @ {parsed.url}" if parsed.url else ""
        self.wanted = f"{self.name}{extras}{parsed.specifier}{place}"
        gap = " " if parsed.url else ""  # an address ends at a space, not at a semicolon
        self.line = f"{self.wanted}{gap}; {parsed.marker}" if parsed.marker else self.wanted
        self.applies = parsed.marker is None or parsed.marker.evaluate()
        self.specifier: SpecifierSet = parsed.specifier

    def accepts(self, version: str) -> bool:
        """Say whether `version` is one of those asked for; a pre-release is taken where it is there already."""
        try:
            return self.specifier.contains(version, prereleases=True)
        except InvalidVersion:
            return not self.specifier

    def lacks(self) -> Iterator[Lack]:
        """Find what is missing in this interpreter, looked up anew every time; nothing if the marker excludes it."""
        importlib.invalidate_caches()  # somebody may have installed something since
        if self.applies:
            yield from _lacks(self, set())


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that is not there: `found` is the version that is there instead, None if there is none.

    `needed_by` is the package with the extra that asks for it; "" if the plugin itself does.
    """

    wanted: str
    found: str | None
    needed_by: str = ""

    def told(self, where: str = "installed") -> str:
        """Return it as the beginning of a sentence; `where` says where it is missing."""
        begin = f"{self.wanted}, which {self.needed_by} needs," if self.needed_by else self.wanted
        if self.found is None:
            return f"{begin} is not {where}"
        return f"{begin} is wanted, but {self.found} is {where}"


def _lacks(requirement: Requirement, seen: set[tuple[str, str]]) -> Iterator[Lack]:
    found = _installed(requirement.name)
    if found is None or not requirement.accepts(found.version or ""):
        yield Lack(requirement.wanted, None if found is None else found.version or "an unknown version")
        return
    for extra in requirement.extras:
        if (requirement.name, extra) in seen:
            continue  # extras may name each other
        seen.add((requirement.name, extra))
        for lack in (lack for one in _of_extra(found, extra) for lack in _lacks(one, seen)):
            yield Lack(lack.wanted, lack.found, needed_by=f"{requirement.name}[{extra}]")


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _of_extra(package: Distribution, extra: str) -> Iterator[Requirement]:
    """Return what a package needs for one of its extras beyond what it needs anyway."""
    for text in package.requires or ():
        try:
            needed = Parsed(text)
        except InvalidRequirement:
            continue  # the author of that package has to mend it, and pip has installed it as it is
        marker, needed.marker = needed.marker, None
        if marker and not marker.evaluate({"extra": ""}) and marker.evaluate({"extra": extra}):
            yield Requirement(str(needed))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["cannot be read"])[0]
