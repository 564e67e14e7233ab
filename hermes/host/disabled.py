"""Which plugins an admin has disabled; a file each in the state folder, so that it holds over restarts."""

from __future__ import annotations

from pathlib import Path


class Disabled:
    """The names of disabled plugins, kept as empty files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __contains__(self, name: str) -> bool:
        return (self._folder / name).exists()

    def add(self, name: str) -> None:
        """Keep a name; raises OSError if that cannot be written."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._folder / name).touch()

    def discard(self, name: str) -> None:
        """Forget a name; raises OSError if that cannot be written."""
        (self._folder / name).unlink(missing_ok=True)
