"""Repairs what the daemon keeps, while no daemon runs. What is saved is decided below, what is printed above."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

import orjson

from hermes.catalog import find
from hermes.cli.inspection import Findings
from hermes.dispatch.records import read_record
from hermes.errors import ConfigError, HermesError, StartError
from hermes.journal._repair import Repair, repair
from hermes.journal._salvage import Readable
from hermes.journal.base import Entry
from hermes.state_folder import StateFolder


class _Kept(Protocol):
    async def open(self) -> None: ...

    async def close(self) -> None: ...


def mend(findings: Findings) -> list[Repair]:
    """Repair the files that were found, and say what came of each.

    Their damage is struck from the findings; what keeps one from being repaired becomes a problem there.
    """
    folder = findings.state_dir
    if folder is None or not findings.kept:
        return []
    try:
        with StateFolder(folder):
            return [
                one for name, file in findings.kept.items() if (one := _mended(name, file, findings=findings))
            ]
    except StartError as error:
        findings.problems.append(
            ConfigError(f"nothing can be repaired here: {error.detail}", file=str(folder))
        )
        return []


def _mended(name: str, file: Path, *, findings: Findings) -> Repair | None:
    make, readable = _KINDS[name]
    try:
        mended = repair(file, make=make, readable=readable)
    except HermesError as error:
        findings.problems.append(ConfigError(error.detail, file=str(file)))
        return None
    findings.damage = [one for one in findings.damage if one.file != str(file)]
    return mended


def _make_journal(file: Path) -> None:
    _make(find("journal", "sqlite")(file, sync="full", on_commit=lambda _seconds, _entries: None))


def _make_store(file: Path) -> None:
    _make(find("stores", "sqlite")(file=file))


def _make(kept: _Kept) -> None:
    async def open_and_close() -> None:
        await kept.open()
        await kept.close()

    asyncio.run(open_and_close())


def _is_message(table: str, row: Mapping[str, Any]) -> bool:
    """Say whether a row of the journal is a message that can be shown and run."""
    if table != "messages":
        return True
    members: dict[str, Any] = {field.name: row.get(field.name) for field in fields(Entry)}
    entry = Entry(**members)
    try:
        read_record(entry)
        told = orjson.loads(entry.events)
        if entry.data is not None:
            orjson.loads(entry.data)
    except ValueError:
        return False
    return isinstance(told, list)


def _is_value(_table: str, _row: Mapping[str, Any]) -> bool:
    """Take every row of the store: what its values are only their writers know."""
    return True


_KINDS: Mapping[str, tuple[Callable[[Path], None], Readable]] = {
    "journal": (_make_journal, _is_message),
    "store": (_make_store, _is_value),
}
