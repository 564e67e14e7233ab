"""A disk that goes bad when a test says so, under a real process; built from faults.c with the system's compiler."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

SOURCE = Path(__file__).with_suffix(".c")
_MODES = ("none", "full", "fsync", "io", "readonly", "kill", "lose", "sector")

Fault = Literal["full", "fsync", "io", "readonly", "kill", "lose", "sector"]


def build(folder: Path, source: Path = SOURCE) -> Path:
    """Compile a library into `folder` and return it."""
    if shutil.which("cc") is None:
        raise FileNotFoundError(
            "these tests need a C compiler; install your system's packages gcc and libc6-dev"
        )
    library = folder / f"{source.stem}.so"
    options = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *options, "-o", str(library), str(source), "-ldl"], check=True)
    return library


class Disk:
    """The files whose path begins with `files`, as the processes see them that were started with `environ`.

    full: writes fail for want of room · io: writes fail · readonly: nothing may be written · fsync: what was written
    cannot be made safe · lose: the same, and what was written since the last time is gone · kill: the process is killed ·
    sector: the page of the number `after` cannot be read, in the one file of that path.
    """

    def __init__(self, library: Path, files: Path, *, control: Path) -> None:
        self._control = control
        control.write_bytes(bytes(8))
        self.environ: Mapping[str, str] = {
            "LD_PRELOAD": str(library),
            "FAULTS_FOLDER": str(files),
            "FAULTS_CONTROL": str(control),
        }

    def turn(self, fault: Fault, *, after: int = 0) -> None:
        """Make the disk bad from now on; `after` of the calls that this concerns still go well."""
        self._set(_MODES.index(fault), after)

    @property
    def left(self) -> int:
        """How many calls still go well."""
        return int.from_bytes(self._control.read_bytes()[4:], "little", signed=True)

    def heal(self) -> None:
        """Make the disk good again."""
        self._set(0, 0)

    @contextmanager
    def bad(self, fault: Fault, *, after: int = 0) -> Iterator[None]:
        """Make the disk bad for a while."""
        self.turn(fault, after=after)
        yield
        self.heal()

    def _set(self, mode: int, after: int) -> None:
        with self._control.open("r+b") as control:  # in the order in which the other side may see it
            control.seek(4)
            control.write(after.to_bytes(4, "little"))
            control.flush()
            control.seek(0)
            control.write(mode.to_bytes(4, "little"))
