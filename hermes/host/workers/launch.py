"""How a plugin's process is started: the command line that limits it and ties its life to the daemon's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes.host.custody.resources import SessionLimits
from hermes.host.manifests.manifest import ProcessLimits
from hermes.host.workers.wire_worker import Launch
from hermes.sdk import bootstrap

_MIB = 1024 * 1024


def allowance(limits: ProcessLimits, *, memory: bool = False) -> str:
    """Return what the bootstrap is told: the limits that a process sets for itself, and who its parent is.

    `memory` has it limit its address space, which is right only where that is little more than what is used.
    """
    return json.dumps({"parent": os.getpid(), **own_limits(limits, memory=memory)})


def own_limits(limits: ProcessLimits, *, memory: bool = False) -> dict[str, int]:
    """Return the limits that a process sets for itself, as the bootstrap calls them."""
    told = {
        "open_files": limits.open_files,
        "cpu_seconds": limits.cpu_seconds,
        "address_space": limits.memory_mb * _MIB if memory and limits.memory_mb else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def bootstrapped(command: Sequence[str], limits: ProcessLimits) -> tuple[str, ...]:
    """Return the command line that becomes `command` once the limits of a process hold."""
    # -I and -S: nothing of the plugin's environment or of installed packages is looked at, which is quicker too.
    return (sys.executable, "-I", "-S", bootstrap.__file__, allowance(limits), *command)


def watched(limits: ProcessLimits, *, memory: bool) -> SessionLimits:
    """Return what is looked after from outside; `memory` where a process does not limit it by itself."""
    used = limits.memory_mb * _MIB if memory and limits.memory_mb else None
    return SessionLimits(limits.processes, used)


def blank_launch(environment: Mapping[str, str], directory: Path, *, frame_bytes: int) -> Launch:
    """Return how a worker is started that is told by `initialize` which plugin is its own, and what it may use."""
    return Launch(
        # -P: a plugin's files must not shadow what the worker itself imports. -B: its folder stays as it is.
        command=(sys.executable, "-P", "-B", "-m", "hermes.sdk.worker", allowance(ProcessLimits())),
        environment={**environment, "PYTHONUTF8": "1"},
        directory=directory,
        frame_bytes=frame_bytes,
    )
