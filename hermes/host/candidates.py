"""Makes a plugin of a folder: copies it aside and reads the copy. Nothing of the plugin runs here."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermes.errors import ConfigError
from hermes.host.files.fingerprint import content_hash, written_at
from hermes.host.files.staging import CHANGED, ChangedMeanwhile, Staging
from hermes.host.last_error import LastError
from hermes.host.manifests.parameters import Fold
from hermes.host.plugin import Places, Plugin, load_plugin
from hermes.host.refusals import problems, refusal, shown_name

_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS})


@dataclass(frozen=True, slots=True)
class NotTaken(Exception):
    """A folder that cannot become a plugin: `error` is what is told first, `lines` is everything.

    `hash` is that of its content, empty if it could not be read. `passing` says that the reason lies not in it, but in
    a machine that lacks something now.
    """

    error: LastError
    lines: list[str]
    hash: str = ""
    passing: bool = False


class Candidates:
    """Reads folders of `places`. `check` may refuse a plugin with ConfigError for reasons the host cannot know.

    `rest` is how many seconds a folder has to be left alone before it counts as whole; `fold` is how words are compared.
    """

    def __init__(
        self,
        places: Places,
        check: Callable[[Plugin], None],
        *,
        rest: float = 0.0,
        fold: Fold | None = None,
    ) -> None:
        self.places = places
        self._fold = fold
        self._check = check
        self._rest = rest
        self._staging = Staging(places.state_dir / "staged")

    def open(self) -> list[OSError]:
        """Make room for copies; return what those of earlier processes cannot be removed for."""
        return self._staging.open()

    def content(self, folder: Path) -> str:
        """Return what tells the content of a folder from any other: its hash, or why it has none. May be run in a thread.

        Raises ChangedMeanwhile if that is not to be told now.
        """
        try:
            return content_hash(folder)
        except ConfigError as error:
            return str(error)
        except OSError as error:
            if error.errno in CHANGED:
                raise ChangedMeanwhile(f"{folder} changed while it was read: {error.strerror}") from error
            return str(error)

    def read(self, folder: Path, *, at_rest: bool = False) -> Plugin:
        """Return the plugin in `folder`, in a copy of its own that is to be discarded some day. May be run in a thread.

        Raises:
            ChangedMeanwhile: the folder was written to while it was copied, or with `at_rest` just before.
            NotTaken: it cannot be used as it is; nothing is left of its copy.
        """
        try:
            if at_rest:
                self._require_rest(folder)
            staged = self._staging.copy(folder, name=shown_name(folder))
        except (ConfigError, OSError) as error:
            passing = isinstance(error, OSError) and error.errno in _PASSING
            lines = problems(error, copy=None, origin=folder)
            raise NotTaken(refusal(error), lines, passing=passing) from error
        try:
            plugin = load_plugin(
                staged.path, self.places, origin=folder, known_hash=staged.hash, fold=self._fold
            )
            self._check(plugin)
        except (ConfigError, OSError) as error:
            self._staging.remove(staged.path)
            lines = problems(error, copy=staged.path, origin=folder)
            raise NotTaken(refusal(error, copy=staged.path), lines, staged.hash) from error
        return plugin

    def discard(self, plugin: Plugin) -> None:
        """Remove a plugin's copy; nothing may run in it any more."""
        self._staging.remove(plugin.directory)

    def _require_rest(self, folder: Path) -> None:
        """Raise ChangedMeanwhile if the folder was written to just now.

        A copy that pauses now and then has equal contents before and after a look, and is not whole for that.
        """
        try:
            age = time.time() - written_at(folder)
        except OSError as error:
            raise ChangedMeanwhile(f"{folder} changed while it was read: {error.strerror}") from error
        if 0 <= age < self._rest:
            raise ChangedMeanwhile(f"{folder} is being written to")
