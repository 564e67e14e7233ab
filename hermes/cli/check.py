"""`hermes check`: tell everything that is wrong before a start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hermes.cli.inspection import Findings, inspect
from hermes.cli.options import config_option, json_option
from hermes.cli.terminal import print_json, print_text
from hermes.cli.text import one_line
from hermes.errors import ConfigError


@click.command("check")
@config_option
@json_option
def command(config: Path | None, *, as_json: bool) -> None:
    """Check the configuration, the plugins and the journal; starts nothing.

    Every problem is one line on stdout, and the exit code is 1 if there is any.
    """
    findings = inspect(config, os.environ)
    if as_json:
        print_json(_document(findings))
    else:
        _print(findings)
    if findings.problems:
        raise click.exceptions.Exit(1)


def _print(findings: Findings) -> None:
    for problem in findings.problems:
        print_text(_line(problem))
    for warning in findings.warnings:
        print_text(_line(warning, "warning: "))
    if not findings.problems:
        print_text(f"ok: {_summary(findings)}")
    elif findings.unseen:
        print_text(f"{findings.unseen} can be checked once the configuration is right", stderr=True)


def _summary(findings: Findings) -> str:
    config = _shown(findings.config) or "no hermes.yaml, so everything is default"
    plugins = f"plugins: {', '.join(findings.plugins) or 'none'}"
    journal = f"journal: {_shown(findings.journal) or 'none yet'}"
    return one_line(f"{config}; {plugins}; {journal}")


def _line(problem: ConfigError, level: str = "") -> str:
    where = ":".join(str(part) for part in (_shown(problem.file), problem.line) if part is not None)
    parts = (where, problem.key, level + problem.detail)
    return one_line(": ".join(part for part in parts if part))


def _document(findings: Findings) -> dict[str, Any]:
    return {
        "ok": not findings.problems,
        "config": _shown(findings.config),
        "plugins": findings.plugins,
        "journal": _shown(findings.journal),
        "problems": _listed(findings.problems),
        "warnings": _listed(findings.warnings),
    }


def _listed(problems: Sequence[ConfigError]) -> list[dict[str, Any]]:
    return [
        {"file": _shown(one.file), "line": one.line, "key": one.key, "detail": one.detail} for one in problems
    ]


def _shown(file: Path | str | None) -> str | None:
    """Return a file as its reader would name it: from the current folder if it lies below that."""
    if file is None:
        return None
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
