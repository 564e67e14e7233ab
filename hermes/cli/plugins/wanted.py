"""What the plugins of a folder need installed, all together, whatever else is wrong with them; reads, and runs nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from hermes.cli.text import one_line
from hermes.config.json_file import read_json
from hermes.errors import ConfigError
from hermes.host.folders import plugin_folders
from hermes.host.manifests.manifest import MANIFEST_FILE, load_manifest
from hermes.host.manifests.requirement import Requirement


@dataclass(frozen=True, slots=True)
class Wanted:
    """One requirement, and the plugins that have it."""

    requirement: Requirement
    plugins: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        """It as a line of a requirements file."""
        return f"{self.requirement.line}  # {', '.join(self.plugins)}"


@dataclass(frozen=True, slots=True)
class Needs:
    """All requirements, sorted; `conflicts` are those that no version can meet together, a package each; `problems`
    are what is wrong with manifests, and may have hidden a requirement.
    """

    wanted: list[Wanted]
    conflicts: list[list[Wanted]]
    problems: list[ConfigError]


def gather(plugins_dir: Path) -> Needs:
    """Return what the plugins in `plugins_dir` need; none if there is no such folder."""
    wanted: dict[str, Wanted] = {}
    problems: list[ConfigError] = []
    for directory in plugin_folders(plugins_dir):
        try:
            load_manifest(directory)
        except ConfigError as error:
            problems += error.problems
        except OSError as error:
            problems.append(ConfigError(f"cannot be read: {error.strerror or error}", file=str(directory)))
        for plugin, requirement in _requirements(directory):
            plugins = wanted.setdefault(requirement.line, Wanted(requirement)).plugins
            if plugin not in plugins:
                plugins.append(plugin)
    listed = [wanted[line] for line in sorted(wanted)]
    return Needs(listed, list(_conflicts(listed)), problems)


def _requirements(directory: Path) -> Iterator[tuple[str, Requirement]]:
    """Return what can be read of a manifest's dependencies; what cannot is told when the manifest is checked."""
    try:
        data: Any = read_json(directory / MANIFEST_FILE).data
    except (ConfigError, OSError):
        return
    texts = data.get("dependencies") if isinstance(data, dict) else None
    for text in texts if isinstance(texts, list) else ():
        name = data.get("name")
        try:
            requirement = Requirement(str(text))
        except ValueError:
            continue
        yield one_line(name if isinstance(name, str) else directory.name), requirement


def _conflicts(wanted: Iterable[Wanted]) -> Iterator[list[Wanted]]:
    packages: dict[str, list[Wanted]] = defaultdict(list)
    for one in wanted:
        if one.requirement.applies:
            packages[one.requirement.name].append(one)
    for of_package in packages.values():
        if not _can_be_met([one.requirement.specifier for one in of_package]):
            yield of_package


def _can_be_met(specifiers: Sequence[SpecifierSet]) -> bool:
    """Say whether one version fits all: if any does, then one of those that are named, one right behind, or the first."""
    together = SpecifierSet()
    for one in specifiers:
        together &= one
    named = [one.version.removesuffix(".*") for one in together if one.operator != "==="]
    if len(named) < len(list(together)):
        return True  # `===` compares texts, so nothing can be said of it
    candidates = ["0", *named, *(behind for version in named for behind in _behind(version))]
    return any(together.contains(version, prereleases=True) for version in candidates)


def _behind(version: str) -> Iterator[str]:
    """Return versions that come right behind one: what is greater than it, or not equal to it, takes one of them."""
    try:
        base = Version(version).base_version
    except InvalidVersion:
        return
    yield f"{base}.0.0.0.1"
    yield f"{base}.0.0.0.2"
