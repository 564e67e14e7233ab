"""`hermes plugins check`: everything that is wrong with a plugin, told to its author before it is anywhere near a daemon."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from hermes.cli.configuration import places_of
from hermes.cli.inspection import check_keyword
from hermes.cli.options import json_option
from hermes.cli.plugins.examples import lost_examples
from hermes.cli.problems import problem_line, problem_objects, shown, unreadable
from hermes.cli.terminal import print_json, print_text
from hermes.cli.text import one_line
from hermes.config import load_config
from hermes.errors import ConfigError
from hermes.host.folders import plugin_folders
from hermes.host.manifests.doubts import doubts
from hermes.host.manifests.entry_code import entry_problems
from hermes.host.manifests.inspection import Inspection, Look
from hermes.host.manifests.manifest import MANIFEST_FILE


@dataclass(slots=True)
class _Verdict:
    """What is said of one plugin."""

    directory: Path
    name: str
    version: str | None = None
    intents: list[str] = field(default_factory=list)
    problems: list[ConfigError] = field(default_factory=list)
    warnings: list[ConfigError] = field(default_factory=list)


@click.command("check")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path),
    help="Check the plugins' sections of this hermes.yaml too, and that every variable of their env is set.",
)
@json_option
def command(directories: Sequence[Path], config: Path | None, *, as_json: bool) -> None:
    """Tell everything that is wrong with the plugin in DIR, or with each plugin in DIR; starts nothing.

    Every problem is one line on stdout, and the exit code is 1 if there is any. What is legal and likely not meant is
    a warning.
    """
    with ExitStack() as scratch:
        verdicts = list(_verdicts(directories, _inspection(config, scratch), variables=config is None))
    if as_json:
        print_json({"ok": _good(verdicts), "plugins": [_object(one) for one in verdicts]})
    else:
        _print(verdicts)
    if not _good(verdicts):
        raise click.exceptions.Exit(1)


def _inspection(config: Path | None, scratch: ExitStack) -> Inspection:
    if config is None:
        return Inspection(check_keyword)
    loaded = load_config(config, os.environ)
    # Loading a plugin makes its data folder; a look must leave nothing behind.
    folder = scratch.enter_context(TemporaryDirectory(prefix="hermes-check-"))
    return Inspection(check_keyword, places_of(loaded, os.environ, scratch=Path(folder)))


def _verdicts(directories: Sequence[Path], inspection: Inspection, *, variables: bool) -> Iterator[_Verdict]:
    for directory in (one for given in directories for one in _plugins(given)):
        try:
            yield _verdict(inspection.look(directory), variables=variables)
        except OSError as error:
            yield _Verdict(directory, directory.name, problems=[unreadable(error, directory)])


def _plugins(given: Path) -> list[Path]:
    """Return the plugins that a folder is meant for: itself, or those in it if it is a folder of plugins."""
    path = Path(os.path.abspath(given))
    inner = [] if (path / MANIFEST_FILE).exists() else plugin_folders(path)
    return [one for one in inner if (one / MANIFEST_FILE).exists()] or [path]


def _verdict(look: Look, *, variables: bool) -> _Verdict:
    verdict = _Verdict(look.directory, look.name, problems=list(look.problems))
    manifest = look.manifest
    if manifest is None:
        return verdict
    entry = getattr(manifest.options, "entry", None)  # of whatever kind it is, an entry is Python code
    if isinstance(entry, str):
        verdict.problems += entry_problems(entry, look.directory)
    verdict.version = manifest.version
    verdict.intents = [intent.name for intent in manifest.intents]
    verdict.warnings += doubts(manifest, look.document, directory=look.directory)
    if not look.problems:
        verdict.warnings += lost_examples(manifest, look.document)
    verdict.warnings += _not_here(look, variables=variables)
    return verdict


def _not_here(look: Look, *, variables: bool) -> Iterator[ConfigError]:
    """Find what the plugin needs and this machine lacks, where the daemon may have it."""
    env, options = look.manifest.env if look.manifest else (), look.manifest and look.manifest.options
    missing = [name for name in env if variables and name not in os.environ]
    if missing:
        detail = f"{', '.join(missing)} not set here; the daemon does not take the plugin in without"
        yield look.document.problem(("env",), detail)
    command = getattr(options, "command", ())  # of whatever kind it is, a command begins with a program
    if command and "/" not in command[0] and shutil.which(command[0]) is None:
        yield look.document.problem(("command", 0), f"there is no program {command[0]} on the PATH here")


def _good(verdicts: Sequence[_Verdict]) -> bool:
    return not any(one.problems for one in verdicts)


def _print(verdicts: Sequence[_Verdict]) -> None:
    for verdict in verdicts:
        for problem in verdict.problems:
            print_text(problem_line(problem))
        for warning in verdict.warnings:
            print_text(problem_line(warning, "warning: "))
        if not verdict.problems:
            intents = ", ".join(verdict.intents)
            print_text(
                one_line(f"ok: {shown(verdict.directory)}: {verdict.name} {verdict.version}: {intents}")
            )


def _object(verdict: _Verdict) -> dict[str, Any]:
    return {
        "directory": shown(verdict.directory),
        "name": verdict.name,
        "version": verdict.version,
        "intents": verdict.intents,
        "problems": problem_objects(verdict.problems),
        "warnings": problem_objects(verdict.warnings),
    }
