"""Tries new versions, and lets those serve that work: in one step with all that depends on them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from typing import Protocol

from hermes.host.candidates import Candidates
from hermes.host.changes import Batch, Change, Taken
from hermes.host.crew import StartFailed
from hermes.host.folders import Folder
from hermes.host.generation import Generation
from hermes.host.outcomes import Outcomes
from hermes.host.plugin import Plugin
from hermes.host.roster import Roster
from hermes.host.supervisor import Supervisor
from hermes.host.workers.failures import Crashed

_KILLED = Crashed.of(-signal.SIGKILL, why="", last_error="").reason
_FROM_OUTSIDE = (
    "something outside of the plugin ended it while it was started, such as an operator or a lack of memory"
)
_MOST_KILLS = 3  # sweeps in which a content is tried again whose start was ended so


class Maker(Protocol):
    """Makes what runs a plugin."""

    def generation(self, plugin: Plugin) -> Generation:
        """Return a version that has not started."""

    def supervisor(self, generation: Generation) -> Supervisor:
        """Return the owner of a plugin that is new."""


class Trials:
    """Carries batches out, any number beside one another."""

    def __init__(self, candidates: Candidates, *, roster: Roster, maker: Maker, outcomes: Outcomes) -> None:
        self._candidates = candidates
        self._roster = roster
        self._maker = maker
        self._outcomes = outcomes

    async def carry_out(self, batch: Batch) -> bool:
        """Try a batch and let serve what works, with what that depends on; say whether anything changed.

        What does not work, and what wanted something that it was to give up, leaves the versions before it serving. If
        this is cancelled before the step is made, nothing has changed.
        """
        trial = _Trial(batch, roster=self._roster, maker=self._maker)
        names = self._roster.supervisors.keys() & {
            *batch.removals,
            *(one.instead_of for one in batch.changes),
        }
        try:
            await trial.run()
            self._tell(trial)
            for name in sorted(names - self._roster.supervisors.keys()):
                self._outcomes.removed(name)
        finally:
            await trial.let_go()
            for change in batch.changes:
                if change not in trial.made:
                    await self.discard(change.plugin)
        return bool(trial.made or batch.removals)

    async def discard(self, plugin: Plugin) -> None:
        """Let go of a version that does not serve."""
        await asyncio.to_thread(self._candidates.discard, plugin)

    def _tell(self, trial: _Trial) -> None:
        for change, error in sorted(trial.failed.items(), key=lambda pair: isinstance(pair[1], Taken)):
            outside = self._from_outside(change.folder, error)
            told = Crashed(f"{error}; {_FROM_OUTSIDE}") if outside else error
            self._outcomes.refuse(change.folder, told)
        for change, anew in trial.made.items():
            change.folder.kills = 0
            self._outcomes.taken_in(change.folder, change.plugin, anew=anew)

    def _from_outside(self, folder: Folder, error: Exception) -> bool:
        """Say whether a start was ended by something that is no part of it; then its content is tried again, a few times."""
        if not isinstance(error, Crashed) or not error.reason.startswith(_KILLED):
            return False
        folder.kills += 1
        if folder.kills <= _MOST_KILLS:
            folder.tried = ""
        return True


class _Trial:
    """One batch on its way: what failed and why, and what serves, with whether nothing served in its place before."""

    def __init__(self, batch: Batch, *, roster: Roster, maker: Maker) -> None:
        self._batch = batch
        self._roster = roster
        self._maker = maker
        self._generations: dict[Change, Generation] = {}
        self.failed: dict[Change, Exception] = {}
        self.made: dict[Change, bool] = {}

    async def run(self) -> None:
        """Prove what can serve beside the others, and let it."""
        self.failed.update(self._roster.misfits(self._batch, self._batch.changes))
        await self._prove(self._left())
        self.failed.update(await self._roster.make(self._batch, self._left(), take_in=self._take_in))

    async def let_go(self) -> None:
        """End the versions that do not serve."""
        idle = [one for change, one in self._generations.items() if change not in self.made]
        await asyncio.gather(*(one.stop() for one in idle))

    def _left(self) -> list[Change]:
        return [one for one in self._batch.changes if one not in self.failed]

    async def _prove(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._generations[change] = self._maker.generation(change.plugin)
        proofs = (self._generations[change].prove() for change in changes)
        ends = await asyncio.gather(*proofs, return_exceptions=True)
        for change, end in zip(changes, ends, strict=True):
            if isinstance(end, StartFailed):
                self.failed[change] = end
            elif end is not None:
                raise end

    def _take_in(self, change: Change) -> Supervisor:
        generation = self._generations[change]
        before = self._roster.supervisors.get(change.instead_of or change.name)
        self.made[change] = before is None or before.disabled
        same = self._roster.supervisors.get(change.name)
        if same is not None:
            same.replace(generation)
            return same
        supervisor = self._maker.supervisor(generation)
        supervisor.start()
        return supervisor
