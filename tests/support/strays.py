"""Processes that a real daemon should not have: whoever is neither a worker, nor below one, nor kept in reserve."""

from __future__ import annotations

import psutil

from tests.support.daemon import Daemon, left_behind

_IN_RESERVE = 1  # workers that belong to no plugin yet


def strays(daemon: Daemon) -> list[psutil.Process]:
    """Return what runs or waits to be reaped in the daemon's name, and that it has no use for."""
    rows = daemon.get("/v1/plugins").json["items"]
    workers = {worker["pid"] for row in rows for worker in row["workers"]}
    children = psutil.Process(daemon.pid).children()
    below = {one.pid for child in children if child.pid in workers for one in _descendants(child)}
    known = workers | below | {daemon.pid}
    found = {one.pid: one for one in (*left_behind(daemon.home), *children) if one.pid not in known}
    spare = [one for one in found.values() if _is_worker(one) and one in children]
    return (
        list(found.values())
        if len(spare) > _IN_RESERVE
        else [one for one in found.values() if one not in spare]
    )


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "hermes.sdk.worker" in process.cmdline()
    except psutil.Error:  # it has ended: it waits to be reaped, or is gone
        return False
