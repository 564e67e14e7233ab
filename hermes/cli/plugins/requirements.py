"""`hermes plugins requirements`: what the plugins need installed, for an image or for somebody who asks what lacks."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from hermes.cli.configuration import find_plugins
from hermes.cli.options import config_option, json_option
from hermes.cli.plugins.lock_file import read_pins
from hermes.cli.plugins.wanted import Needs, Wanted, gather
from hermes.cli.problems import problem_line, problem_objects, shown
from hermes.cli.terminal import print_json, print_text
from hermes.host.manifests.requirement import Lack


@click.command("requirements")
@config_option
@click.option(
    "--check", is_flag=True, help="Tell what is not met by what is installed; exit code 1 if anything is."
)
@click.option(
    "--lock",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --check: what is not met by the pins of this file.",
)
@json_option
def command(config: Path | None, *, check: bool, lock: Path | None, as_json: bool) -> None:
    """Print the Python packages that the plugins name in "dependencies", for pip install -r.

    No daemon is needed. What is wrong with a plugin otherwise is told on stderr and changes nothing. The exit code
    is 1 if two plugins want what no version can be, as no installer can satisfy them.
    """
    if lock is not None and not check:
        raise click.UsageError("--lock says what to --check against; give both")
    needs = gather(find_plugins(config, os.environ))
    lacking = list(_lacking(needs.wanted, lock)) if check else []
    if as_json:
        print_json(_document(needs, lacking, checked=check))
    else:
        _print(needs, lacking, checked=check)
    if lacking or needs.conflicts:
        raise click.exceptions.Exit(1)


def _lacking(wanted: Sequence[Wanted], lock: Path | None) -> Iterator[tuple[Wanted, str]]:
    """Return each requirement that is not met, and a sentence on why."""
    pins = None if lock is None else read_pins(lock)
    for one in wanted:
        requirement = one.requirement
        if pins is None:
            yield from ((one, lack.told()) for lack in requirement.lacks())
        elif requirement.applies:
            found = pins.get(requirement.name)
            if found is None or not requirement.accepts(found):
                yield one, Lack(requirement.wanted, found).told(f"in {shown(lock or '')}")


def _print(needs: Needs, lacking: Sequence[tuple[Wanted, str]], *, checked: bool) -> None:
    for problem in needs.problems:
        print_text(problem_line(problem, "warning: "), stderr=True)
    for conflict in needs.conflicts:
        print_text(f"no version is right for all: {_told(conflict)}", stderr=True)
    if not checked:
        for one in needs.wanted:
            print_text(one.line)
        return
    for one, sentence in lacking:
        print_text(f"{', '.join(one.plugins)}: {sentence}")
    if lacking:
        packages = shlex.join(dict.fromkeys(one.requirement.wanted for one, _ in lacking))
        print_text(f"what installs it: python -m pip install {packages}", stderr=True)
    if not lacking and not needs.conflicts:
        print_text(f"ok: {len(needs.wanted)} met")


def _told(conflict: Sequence[Wanted]) -> str:
    return "; ".join(f"{one.requirement.line} ({', '.join(one.plugins)})" for one in conflict)


def _document(needs: Needs, lacking: Sequence[tuple[Wanted, str]], *, checked: bool) -> dict[str, Any]:
    unmet = [one for one, _ in lacking]
    return {
        "requirements": [
            {
                "requirement": one.requirement.line,
                "package": one.requirement.name,
                "plugins": one.plugins,
                "applies": one.requirement.applies,
                "met": one not in unmet if checked else None,
            }
            for one in needs.wanted
        ],
        "lacking": [{"plugins": one.plugins, "detail": sentence} for one, sentence in lacking],
        "conflicts": [[one.requirement.line for one in conflict] for conflict in needs.conflicts],
        "problems": problem_objects(needs.problems),
    }
