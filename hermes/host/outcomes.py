"""What became of plugins' folders: kept beside them for whoever lists them, logged and counted. It decides nothing."""

from __future__ import annotations

import contextlib

from hermes.host.candidates import NotTaken
from hermes.host.changes import Taken
from hermes.host.crew import Watch
from hermes.host.folders import Folder, Folders
from hermes.host.plugin import Plugin
from hermes.host.refusals import refusal, shown_name
from hermes.host.roster import Roster
from hermes.host.supervisor import Supervisor

_REMEMBERED = 100
"""Plugins that are gone whose counters stay: their end is to be seen, and names may be made up without end."""

_RESULTS = ("loaded", "swapped", "failed", "removed")
_RESTARTS = ("crash", "killed", "start")


class Outcomes:
    """Keeps, logs and counts what folders come to."""

    def __init__(self, folders: Folders, *, roster: Roster, watch: Watch) -> None:
        self._folders = folders
        self._roster = roster
        self._metrics = watch.metrics
        self._log = watch.log
        self._departed: dict[str, None] = {}  # names in the order in which they went

    def taken_in(self, folder: Folder, plugin: Plugin, *, anew: bool) -> None:
        """Tell that a folder's content serves; `anew` says that nothing of that name served just before."""
        folder.plugin = name = plugin.manifest.name
        self.clear(folder)
        if folder.name not in self._roster.supervisors:
            self.gone(folder.name)  # by which it was counted as long as nothing could be taken from it
        self._count(name, "loaded" if anew else "swapped")
        self._log.info(
            "plugin_loaded" if anew else "plugin_reloaded",
            plugin=name,
            version=plugin.manifest.version,
            hash=plugin.hash,
            intents=sorted(plugin.services),
        )

    def refuse(self, folder: Folder, error: Exception) -> None:
        """Keep in mind, and tell, why a folder's latest content does not serve."""
        if isinstance(error, Taken):
            error = self._with_why(error)
        lines = error.lines if isinstance(error, NotTaken) else [str(error)]
        before = folder.error.message if folder.error is not None and folder.taken else None
        folder.error = error.error if isinstance(error, NotTaken) else refusal(error)
        folder.taken = isinstance(error, Taken)
        supervisor = self._supervisor(folder)
        name, serving = shown_name(folder.path), {}
        if supervisor is not None:
            supervisor.refused = folder.error
            name, serving = supervisor.name, {"serving": supervisor.plugin.hash}
        if folder.taken and folder.error.message == before:
            return  # it was tried again for the sake of another one
        self._count(name, "failed")
        where = {"file": folder.error.file, "line": folder.error.line}
        self._log.error("plugin_refused", plugin=name, problems=lines, **where, **serving)

    def clear(self, folder: Folder) -> None:
        """Forget what was wrong: what serves is what the folder holds."""
        folder.error, folder.taken = None, False
        supervisor = self._supervisor(folder)
        if supervisor is not None:
            supervisor.refused = None

    def removed(self, name: str) -> None:
        """Tell that a plugin is there no more."""
        self._count(name, "removed")
        self._log.info("plugin_removed", plugin=name)
        self.gone(name)

    def gone(self, name: str) -> None:
        """Forget the counters of a name some day, unless it comes back."""
        if name in self._roster.supervisors:  # it was the name of a folder too
            return
        self._departed[name] = self._departed.pop(name, None)
        while len(self._departed) > _REMEMBERED:
            oldest = next(iter(self._departed))
            del self._departed[oldest]
            for counter, reasons in (
                (self._metrics.reloads, _RESULTS),
                (self._metrics.worker_restarts, _RESTARTS),
            ):
                for reason in reasons:
                    with contextlib.suppress(KeyError):  # it never had that
                        counter.remove(oldest, reason)

    def _with_why(self, error: Taken) -> Taken:
        """Add why the owner has still what it may want to give up, unless that too is for want of something."""
        owner = next((one for one in self._folders if one.plugin == error.owner), None)
        if owner is None or owner.error is None or owner.taken:
            return error
        where = ":".join(str(part) for part in (owner.error.file, owner.error.line) if part is not None)
        return error.beside(f"{where}: {owner.error.message}" if where else owner.error.message)

    def _count(self, name: str, result: str) -> None:
        self._departed.pop(name, None)
        self._metrics.reloads.labels(name, result).inc()

    def _supervisor(self, folder: Folder) -> Supervisor | None:
        return self._roster.supervisors.get(folder.plugin or "")
