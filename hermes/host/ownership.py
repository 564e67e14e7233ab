"""Which folder a plugin belongs to when folders have changed: what moved is known by the name in its manifest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hermes.host.folders import Folder
from hermes.host.plugin import Plugin


def hand_over(
    found: Mapping[Folder, Plugin],
    folders: Iterable[Folder],
    *,
    served: Collection[str],
    lost: Collection[str],
) -> tuple[dict[Folder, str], set[str]]:
    """Give plugins to the folders that they have moved to; return these with the plugins, and the plugins of no folder.

    `found` is what has just been read, `lost` are plugins whose folders are gone. A plugin moves if its folder is gone, or
    holds by now another one that moves too: two that swap their folders both do. All else is a change of a name, and takes
    effect only if the new version works.
    """
    owners = {one.plugin: one for one in folders if one.plugin in served}
    moves: dict[str, Folder] = {}
    for folder, plugin in found.items():
        name = plugin.manifest.name
        if name in served and name != folder.plugin:
            moves.setdefault(name, folder)
    stuck = True
    while stuck:
        stuck = False
        for name in list(moves):
            owner = owners.get(name)
            if name not in lost and (owner is None or owner not in moves.values()):
                del moves[name]
                stuck = True
    left = {folder.plugin for folder in moves.values() if folder.plugin is not None}
    for name, folder in moves.items():
        folder.plugin = name
    return {folder: name for name, folder in moves.items()}, ({*lost} | left) - moves.keys()
