"""The folder that a daemon keeps its state in, held by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from hermes.errors import StartError


class StateFolder:
    """Holds the state folder for this process alone: two daemons on one journal would run messages twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = -1

    def __enter__(self) -> None:
        """Make the folder if there is none, and take it; raises StartError if it cannot be had."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(
                self._folder, os.O_RDONLY | os.O_DIRECTORY
            )  # no file in it that could be removed
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise StartError(f"another Hermes uses {self._folder}; end it, or set hermes.state_dir") from None
        except OSError as error:
            raise StartError(
                f"the state folder {self._folder} cannot be used: {error.strerror}; set hermes.state_dir to a folder "
                "that can be written"
            ) from error

    def __exit__(self, *_: object) -> None:
        """Let it go."""
        os.close(self._lock)
