"""The folders that plugins come from: what is known of each. What is done about it is not decided here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes.errors import NotFound
from hermes.host.last_error import LastError
from hermes.host.refusals import shown_name


def plugin_folders(plugins_dir: Path) -> list[Path]:
    """Return the folders that count as plugins, in the order in which they are taken in; none if there is no such place."""
    if not plugins_dir.is_dir():
        return []
    return sorted(
        path for path in plugins_dir.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))
    )


@dataclass(slots=True, eq=False)
class Folder:
    """One folder: the content that was tried last, the plugin that it gave, and why its latest content gave none.

    `taken` says that the reason is another plugin, which has what this one wants; `unrest` counts the times in a row
    that it was written to while it was read. `reading` reads it, `task` tries what is there now, `again` looks at it
    later. `held` counts the times in a row that what it holds waited for others, `kills` those that its start was
    ended from outside. `anew` says that the next reading counts as a change whatever it finds, `touched` that another is to follow.
    """

    path: Path
    tried: str = ""
    plugin: str | None = None
    error: LastError | None = None
    taken: bool = False
    unrest: int = 0
    held: int = 0
    kills: int = 0
    anew: bool = False
    touched: bool = False
    reading: asyncio.Task[None] | None = None
    task: asyncio.Task[None] | None = None
    again: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """What it is called as long as no plugin could be taken from it."""
        return shown_name(self.path)


class Folders:
    """All folders, in the order in which they came."""

    def __init__(self) -> None:
        self._folders: dict[Path, Folder] = {}

    def __iter__(self) -> Iterator[Folder]:
        return iter(list(self._folders.values()))

    def __contains__(self, path: Path) -> bool:
        return path in self._folders

    def add(self, path: Path) -> Folder:
        """Return the folder of this path, a new one if it is not known."""
        return self._folders.setdefault(path, Folder(path))

    def has(self, folder: Folder) -> bool:
        """Say whether this very folder is known, and not one that has come in its place."""
        return self._folders.get(folder.path) is folder

    def remove(self, folder: Folder) -> None:
        """Forget a folder."""
        del self._folders[folder.path]

    def named(self, name: str) -> Folder:
        """Return the folder that a plugin came from, or of this name if none came from it; raises NotFound."""
        for folder in self:
            if folder.plugin == name or (folder.plugin is None and folder.name == name):
                return folder
        raise NotFound(f"there is no plugin {name!r}")
