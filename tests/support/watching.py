"""A folder of plugins under a watcher, for tests that do to it what people's tools do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hermes.host.files.watcher import Watcher, WatchSettings
from hermes.host.files.watches import System
from tests.support.logbook import Logbook

QUICK = WatchSettings(debounce=0.15, sweep=600)
_WITHIN = 20.0

Seen = frozenset[Path] | None


class Watching:
    """Makes one watcher over `plugins`, in which there are the plugins `a` and `b`; `stop` it in the end."""

    def __init__(self, tmp_path: Path, book: Logbook) -> None:
        self.plugins = tmp_path / "etc" / "plugins"
        self.config = tmp_path / "conf" / "hermes.yaml"
        self.book = book
        self.watcher: Watcher
        self.config.parent.mkdir()
        self.config.write_text("limits: {}\n")
        for name in ("a", "b"):
            (self.plugins / name).mkdir(parents=True)
            (self.plugins / name / "plugin.py").write_text("print('你好')\n")
            (self.plugins / name / "manifest.json").write_text("{}")

    async def start(
        self,
        settings: WatchSettings = QUICK,
        *,
        files: Sequence[Path] = (),
        system: System | None = None,
        debounce: float | None = None,
        sweep: float | None = None,
    ) -> Watcher:
        """Start the watcher; what is given beside the settings is instead of what they say."""
        settings = replace(
            settings,
            debounce=settings.debounce if debounce is None else debounce,
            sweep=settings.sweep if sweep is None else sweep,
        )
        self.watcher = Watcher(self.plugins, settings, files=files, log=self.book.log, system=system)
        await self.watcher.start()
        return self.watcher

    async def stop(self) -> None:
        if hasattr(self, "watcher"):
            await self.watcher.stop()

    async def tick(self) -> Seen:
        """Return what is told next."""
        return await asyncio.wait_for(self.watcher.wait(), _WITHIN)

    async def ticks_until(self, last: Seen) -> list[Seen]:
        """Return all that is told until `last` is."""
        ticks = [await self.tick()]
        while ticks[-1] != last:
            ticks.append(await self.tick())
        return ticks

    async def rest(self) -> list[Seen]:
        """Return what was still to be told, before what plugin `z` has to tell from now on."""
        marker = self.plugins / "z"
        marker.mkdir(exist_ok=True)
        (marker / "marker").touch()
        return (await self.ticks_until(self.of("z")))[:-1]

    def of(self, *names: str) -> frozenset[Path]:
        """Return what is told when these plugins may have changed."""
        return frozenset(self.plugins / name for name in names)

    def save(self, text: str, name: str = "a/plugin.py") -> None:
        (self.plugins / name).write_text(text)
