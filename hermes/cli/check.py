"""`hermes check`: tell everything that is wrong before a start, and repair what is damaged if that is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from hermes.cli.inspection import KEPT, Findings, inspect
from hermes.cli.mending import mend
from hermes.cli.options import config_option, json_option
from hermes.cli.problems import problem_line, problem_objects, shown
from hermes.cli.terminal import print_json, print_text
from hermes.cli.text import one_line
from hermes.journal._repair import Repair
from hermes.routing.weights import fingerprint


@click.command("check")
@config_option
@click.option("--repair", is_flag=True, help="Repair a damaged journal; it is copied first.")
@json_option
def command(config: Path | None, *, repair: bool, as_json: bool) -> None:
    """Check the configuration, the plugins and the journal; starts nothing.

    Every problem is one line on stdout, and the exit code is 1 if there is any. With --repair, what is damaged is
    copied and then repaired; the exit code is 1 if anything in it was lost.
    """
    findings = inspect(config, os.environ)
    repairs = mend(findings) if repair else []
    good = not (findings.problems or findings.damage or any(one.lost for one in repairs))
    if as_json:
        print_json(_document(findings, repairs, good=good))
    else:
        _print(findings, repairs, good=good)
    if not good:
        raise click.exceptions.Exit(1)


def _print(findings: Findings, repairs: Sequence[Repair], *, good: bool) -> None:
    for problem in findings.problems + findings.damage:
        print_text(problem_line(problem))
    for warning in findings.warnings:
        print_text(problem_line(warning, "warning: "))
    for repair in repairs:
        for line in _repair_lines(repair):
            print_text(one_line(f"{_shown(repair.file)}: {line}"))
    if good:
        print_text(f"ok: {_summary(findings)}")
    elif findings.unseen:
        print_text(f"{findings.unseen} can be checked once the configuration is right", stderr=True)


def _repair_lines(repair: Repair) -> Iterator[str]:
    if not repair.faults:
        yield "nothing is wrong, nothing was changed"
        return
    yield from (f"was damaged: {fault}" for fault in repair.faults)
    yield f"the damaged file was copied to {_shown(repair.copy)}"
    yield from (f"lost: {name}" for name in repair.lost)
    yield f"repaired; saved: {repair.saved}, lost: {len(repair.lost) or 'nothing'}"


def _summary(findings: Findings) -> str:
    config = _shown(findings.config) or "no hermes.yaml, so everything is default"
    plugins = f"plugins: {', '.join(findings.plugins) or 'none'}"
    journal = f"journal: {_shown(findings.kept.get('journal')) or 'none yet'}"
    return one_line("; ".join((config, plugins, journal, *_learned(findings))))


def _learned(findings: Findings) -> Iterator[str]:
    weights, file = findings.weights, findings.weights_file
    if weights is not None and file is not None:
        counts = f"{len(weights.intents)} intents from {weights.rows} rows, {weights.learned_at}"
        yield f"weights: {_shown(file)} ({counts}, hash {fingerprint(file)})"


def _document(findings: Findings, repairs: Sequence[Repair], *, good: bool) -> dict[str, Any]:
    return {
        "ok": good,
        "config": _shown(findings.config),
        "plugins": findings.plugins,
        **{name: _shown(findings.kept.get(name)) for name in KEPT},
        "weights": _shown(findings.weights_file),
        "problems": problem_objects(findings.problems + findings.damage),
        "warnings": problem_objects(findings.warnings),
        "repairs": [
            {
                "file": _shown(one.file),
                "faults": one.faults,
                "copy": _shown(one.copy),
                "saved": one.saved,
                "lost": one.lost,
            }
            for one in repairs
        ],
    }


def _shown(file: Path | str | None) -> str | None:
    return None if file is None else shown(file)
