"""What an admin may ask of a plugin: to be loaded anew, to take no calls, to take them again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from hermes.errors import Conflict, NotFound, Unavailable
from hermes.host.disabled import Disabled
from hermes.host.folders import Folder, Folders
from hermes.host.reloads import Reloads
from hermes.host.roster import Roster
from hermes.observe.logs import Logger

_AGAIN = 0.2  # seconds until a folder is looked at again that was written to while it was read
_PATIENCE = 10.0  # seconds that a folder may take to be left alone and read


class Orders:
    """Carries orders out; each is done when it returns."""

    def __init__(
        self, reloads: Reloads, folders: Folders, *, roster: Roster, disabled: Disabled, log: Logger
    ) -> None:
        self._reloads = reloads
        self._folders = folders
        self._roster = roster
        self._disabled = disabled
        self._log = log

    async def reload(self, name: str) -> None:
        """Load a plugin anew, changed or not, and return when it serves.

        Raises NotFound, or Conflict with the reason if it is disabled or its files do not make a plugin that works.
        """
        try:
            folder = self._folders.named(name)
        except NotFound:  # it may have been dropped in just now
            await self._reloads.look()
            await self._reloads.settle()
            folder = self._folders.named(name)
        if name in self._disabled:
            raise Conflict(f"{name} is disabled; enable it, which loads it anew")
        await self._load(folder)

    async def disable(self, name: str) -> None:
        """Let a plugin take no calls until it is enabled, restarts included.

        Raises NotFound, Conflict if there is nothing to disable, or Unavailable if it cannot be kept for the next start:
        then the plugin serves on.
        """
        folder = self._folders.named(name)
        supervisor = self._roster.supervisors.get(folder.plugin or "")
        if supervisor is None:
            raise Conflict(f"{name} has not been loaded: there is nothing to disable")
        await self._keep(self._disabled.add, supervisor.name)
        self._reloads.give_up(folder)
        if not supervisor.disabled:
            supervisor.disable()
            self._log.info("plugin_disabled", plugin=supervisor.name)

    async def enable(self, name: str) -> None:
        """Let a plugin take calls again, with its files as they are now.

        Raises what `reload` does, and Unavailable if it cannot be kept for the next start: then the plugin stays disabled.
        """
        folder = self._folders.named(name)
        supervisor = self._roster.supervisors.get(folder.plugin or "")
        if supervisor is None:
            await self._keep(self._disabled.discard, name)
            return
        was_disabled = supervisor.disabled
        if was_disabled:
            await self._load(folder)
        if supervisor.disabled:  # it has moved to another folder meanwhile
            await self._load(self._folders.named(name))
        try:
            await self._keep(self._disabled.discard, supervisor.name)
        except Unavailable:
            if was_disabled and not supervisor.disabled:
                supervisor.disable()
            raise
        self._log.info("plugin_enabled", plugin=supervisor.name)

    async def _keep(self, change: Callable[[str], None], name: str) -> None:
        """Change what the next start finds; raises Unavailable with the reason if that cannot be written."""
        try:
            await asyncio.to_thread(change, name)
        except OSError as error:
            raise Unavailable(
                f"{name} stays as it is: {error.filename or 'the state folder'} cannot be written "
                f"({error.strerror or error}); see to the state folder and ask again"
            ) from error

    async def _load(self, folder: Folder) -> None:
        deadline = time.monotonic() + _PATIENCE
        before = folder.error
        while True:
            folder.tried = ""
            await self._reloads.look(
                frozenset(), anew=frozenset({folder.path}), patience=max(0.0, deadline - time.monotonic())
            )
            if folder.tried or folder.error is not before or time.monotonic() > deadline:
                break
            await asyncio.sleep(_AGAIN)
        task = folder.task
        if task is not None:
            await asyncio.wait((task,))
            if task.cancelled():
                raise Conflict("a later order, or a later change of its files, came first")
        if folder.path not in self._folders:
            raise NotFound(f"the folder {folder.name} is gone")
        if folder.error is not None or not folder.tried:
            raise Conflict(self._verdict(folder))

    def _verdict(self, folder: Folder) -> str:
        """Say why a plugin was not loaded, and what serves instead."""
        error = folder.error
        if error is None:
            return "its files are being written to; try again when that is over"
        where = ":".join(str(part) for part in (error.file, error.line) if part is not None)
        supervisor = self._roster.supervisors.get(folder.plugin or "")
        serving = "nothing serves in its place"
        if supervisor is not None and not supervisor.disabled:
            serving = f"version {supervisor.plugin.manifest.version} ({supervisor.plugin.hash}) serves on"
        return f"{where}: {error.message}; {serving}" if where else f"{error.message}; {serving}"
