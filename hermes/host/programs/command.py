"""A command as a manifest names it: what may be wrong with it, and what it finds around it when it runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from hermes.config.document import Document
from hermes.config.validation import InvalidPart
from hermes.errors import ConfigError
from hermes.host.manifests.manifest_file import Text
from hermes.host.plugin import Plugin
from hermes.host.workers.failures import Raised

_DEFAULTS = {"PATH": os.defpath, "LANG": "C.UTF-8"}
"""What a program needs and the daemon may not have."""
_HEAD = 256  # bytes of a file that show whether it is a script


def _listed(value: object) -> object:
    if isinstance(value, str):
        raise InvalidPart(f'must be a list, such as ["./run.sh"]; write {value.split()} for {value!r}')
    return tuple(value) if isinstance(value, list) else value


def _passable(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not hold a NUL character")
    return value


Command = Annotated[
    tuple[Annotated[Text, AfterValidator(_passable)], ...],
    Field(min_length=1),
    BeforeValidator(_listed, json_schema_input_type=Annotated[list[Text], Field(min_length=1)]),
]


def command_problems(document: Document, command: tuple[str, ...], *, directory: Path) -> list[ConfigError]:
    """Find a program with a slash in its name that is not there or cannot be started.

    One without is not looked for here: where, depends on the environment that the daemon has.
    """
    program = command[0]
    reason = _obstacle(program, directory) if "/" in program else ""
    return [document.problem(("command", 0), reason)] if reason else []


def surroundings(plugin: Plugin) -> dict[str, str]:
    """Return the environment of a plugin's command; raise Raised if the command is not found in it."""
    environment = _DEFAULTS | plugin.environment
    program = plugin.manifest.options.command[0]
    if "/" not in program and shutil.which(program, path=environment["PATH"]) is None:
        hint = (
            f"; for the one in the plugin's folder write ./{program}"
            if (plugin.directory / program).exists()
            else ""
        )
        raise Raised(f"there is no program {program} on PATH; install it, or name another in command{hint}")
    return environment


def _obstacle(program: str, directory: Path) -> str:
    """Return what keeps a program from being started, empty if nothing is seen to."""
    if not os.path.isabs(program) and os.path.normpath(program).startswith(".."):
        return "must lie in the plugin's folder, which is copied without what is around it"
    file = directory / program
    if not file.is_file():
        return f"there is no file {program}" + ("" if os.path.isabs(program) else " in the plugin's folder")
    if not os.access(file, os.X_OK):
        return f"{program} is not executable; run chmod +x {program}"
    return _bad_first_line(program, file)


def _bad_first_line(program: str, file: Path) -> str:
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
    except OSError as error:
        return f"{program} cannot be read: {error.strerror}" if error.errno else ""
    first = head.split(b"\n")[0]
    if head.startswith(b"#!"):
        return (
            f"{program} has line ends of Windows; save it with plain newlines"
            if first.endswith(b"\r")
            else ""
        )
    is_script = b"\0" not in head and b"\n" in head
    return f"{program} is a script without a first line such as #!/bin/sh" if is_script or not head else ""
