"""What is to change at once, and whether it can: versions that come, plugins that go. It changes nothing itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hermes.config.document import KeyPath, dotted
from hermes.errors import ConfigError
from hermes.host.folders import Folder
from hermes.host.manifests.inspection import taken
from hermes.host.manifests.manifest import Manifest
from hermes.host.plugin import Plugin


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A version from a folder that is to serve; `instead_of` names the plugin that it replaces, None if it is new."""

    folder: Folder
    plugin: Plugin
    instead_of: str | None

    @property
    def name(self) -> str:
        """What the plugin is called from then on."""
        return self.plugin.manifest.name


@dataclass(slots=True, eq=False)
class Batch:
    """Changes that depend on one another, and plugins that go with them; `made` once they are in force."""

    changes: Sequence[Change]
    removals: Sequence[str]
    made: bool = False


class Taken(ConfigError):
    """The name or an intent of a plugin belongs to another one, `owner`, which may give it up."""

    def __init__(self, detail: str, *, key: str, owner: str) -> None:
        super().__init__(detail, key=key)
        self.owner = owner

    def beside(self, reason: str) -> Taken:
        """Return the same for an owner whose own new version, which may give it up, is not taken in for a reason."""
        detail = f"{self.detail}, or mend the new version of {self.owner} if that gives it up: {reason}"
        return Taken(detail, key=self.key or "", owner=self.owner)


def misfits(
    changes: Iterable[Change], removals: Collection[str], *, served: Mapping[str, Plugin]
) -> dict[Change, Taken]:
    """Find the changes that cannot be made when all others are, each with the reason; `served` is what there is before.

    What one of these was to give up stays with its plugin, so that others may be among them for its sake.
    """
    left, refused = list(changes), dict[Change, Taken]()
    while True:
        first = next(_misfits(left, removals, served=served), None)
        if first is None:
            return refused
        change, reason = first
        left.remove(change)
        refused[change] = reason


def _misfits(
    changes: Sequence[Change], removals: Collection[str], *, served: Mapping[str, Plugin]
) -> Iterator[tuple[Change, Taken]]:
    leaving = {change.instead_of for change in changes} | set(removals)
    staying = {name: plugin for name, plugin in served.items() if name not in leaving}
    owners = {intent: name for name, plugin in staying.items() for intent in plugin.services}
    for change in changes:
        yield from _against(change, staying, owners=owners)
    names, intents = set[str](), dict[str, str]()
    counts = Counter(thing for change in changes for thing in _things(change.plugin))

    def comes_late(change: Change) -> bool:
        shared = {thing for thing in _things(change.plugin) if counts[thing] > 1}
        return not shared <= _things(served.get(change.instead_of or ""))

    # Who has had it keeps it; of several that are new to it the first in order is given it.
    for change in sorted(changes, key=comes_late):
        yield from _against(change, names, owners=intents)
        names.add(change.name)
        for intent in change.plugin.services:
            intents.setdefault(intent, change.name)


def _against(
    change: Change, names: Collection[str], *, owners: Mapping[str, str]
) -> Iterator[tuple[Change, Taken]]:
    manifest = change.plugin.manifest
    for path, sentence in taken(manifest, plugins=names, owners=owners):
        yield change, Taken(sentence, key=dotted(path), owner=_owner(manifest, path, owners=owners))


def _owner(manifest: Manifest, path: KeyPath, *, owners: Mapping[str, str]) -> str:
    return manifest.name if path == ("name",) else owners[manifest.intents[int(path[1])].name]


def _things(plugin: Plugin | None) -> frozenset[Hashable]:
    """Return what a plugin has that no other can have beside it."""
    if plugin is None:
        return frozenset()
    return frozenset({("plugin", plugin.manifest.name), *(("intent", one) for one in plugin.services)})


def gives_or_takes(change: Change, served: Mapping[str, Plugin]) -> bool:
    """Say whether a change frees what its plugin had, or wants what another one has."""
    before, after = _things(served.get(change.instead_of or "")), _things(change.plugin)
    others = {thing for name, one in served.items() if name != change.instead_of for thing in _things(one)}
    return bool(before - after) or not others.isdisjoint(after)


def batches(
    changes: Sequence[Change], removals: Iterable[str], *, served: Mapping[str, Plugin]
) -> list[Batch]:
    """Put together what depends on one another: those that have, had or want the same name or intent."""
    groups: list[tuple[set[Hashable], list[Change], list[str]]] = []
    nodes: list[tuple[frozenset[Hashable], list[Change], list[str]]] = [
        (_things(one.plugin) | _things(served.get(one.instead_of or "")), [one], []) for one in changes
    ]
    nodes += [(_things(served[name]), [], [name]) for name in removals]
    for things, of_changes, of_removals in nodes:
        group = set(things), of_changes, of_removals
        apart = []
        for other in groups:
            if other[0].isdisjoint(things):
                apart.append(other)
            else:
                group = group[0] | other[0], [*other[1], *group[1]], [*other[2], *group[2]]
        groups = [*apart, group]
    return [
        Batch(sorted(of_changes, key=lambda one: one.folder.path), of_removals)
        for _, of_changes, of_removals in groups
    ]
