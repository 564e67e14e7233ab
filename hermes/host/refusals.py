"""Why a plugin's folder cannot be taken in, as an operator reads it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from hermes.errors import ConfigError, ConfigErrors
from hermes.host.last_error import LastError
from hermes.host.manifests.manifest import MANIFEST_FILE


def refusal(error: Exception, *, copy: Path | None = None) -> LastError:
    """Return the first thing that is wrong; `copy` is the folder that was read, to which files are relative."""
    if not isinstance(error, ConfigError):
        if isinstance(error, OSError):
            return LastError(error.strerror or str(error), MANIFEST_FILE, None, time.time())
        return LastError.of(error)
    file = MANIFEST_FILE
    if error.file:
        path = Path(error.file)
        file = str(path.relative_to(copy)) if copy is not None and path.is_relative_to(copy) else path.name
    key = f"{error.key}: " if error.key else ""
    beside = len(error.problems) - 1
    more = f" (and {beside} more; the log and hermes plugins check have all)" if beside else ""
    return LastError(f"{key}{error.detail}{more}", file, error.line, time.time())


def problems(error: Exception, *, copy: Path | None, origin: Path) -> list[str]:
    """Return everything that is wrong, a line each, with the files as the plugin's author knows them."""
    found = error.problems if isinstance(error, ConfigErrors | ConfigError) else [error]
    lines = [str(one) for one in found]
    return lines if copy is None else [line.replace(str(copy), str(origin)) for line in lines]


def shown_name(folder: Path) -> str:
    """Return a folder's name as text: it may be of bytes that are no UTF-8."""
    return os.fsencode(folder.name).decode("utf-8", "replace")
