"""Looks for everything that would keep the daemon, or one of its plugins, from starting. It starts and changes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hermes.catalog import find
from hermes.cli.configuration import only_places, places_of, plain
from hermes.cli.problems import unreadable
from hermes.config import Config, load_config
from hermes.config.loading import DEFAULT_FILE
from hermes.errors import ConfigError
from hermes.host.folders import plugin_folders
from hermes.host.manifests.doubts import twins
from hermes.host.manifests.inspection import Inspection
from hermes.host.manifests.manifest import Intent
from hermes.journal._salvage import look_into
from hermes.routing.decision import thresholds_of
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.weights import Weights, read_weights, weights_file
from hermes.sqlite_file import has_only_its_log, obstacle

_SHOWN = 20  # faults of a damaged file that are told
KEPT = {"journal": "journal.db", "store": "store.db"}
"""What the daemon keeps in its state folder, and the SQLite file that it is in."""


@dataclass(slots=True)
class Findings:
    """What was looked at, and what was found there. `warnings` stop nothing from starting, `unseen` names what a
    wrong configuration keeps from being looked at. `kept` are the files of KEPT that there are, `damage` is what
    SQLite finds wrong with them. `weights` were learned, and are in `weights_file`.
    """

    config: Path | None = None
    plugins: list[str] = field(default_factory=list)
    weights: Weights | None = None
    weights_file: Path | None = None
    state_dir: Path | None = None
    kept: dict[str, Path] = field(default_factory=dict)
    damage: list[ConfigError] = field(default_factory=list)
    problems: list[ConfigError] = field(default_factory=list)
    warnings: list[ConfigError] = field(default_factory=list)
    unseen: str = ""


def inspect(path: Path | None, environ: Mapping[str, str]) -> Findings:
    """Look at the configuration in `path`, or in ./hermes.yaml, and at the plugins and the journal that it names."""
    findings = Findings()
    try:
        config = load_config(path, environ)
    except ConfigError as error:
        findings.problems += error.problems
        _look_beyond(path or DEFAULT_FILE, environ, findings=findings)
        return findings
    findings.config = config.path
    findings.problems += _strategies(config)
    with _noting(config.router.weights, findings):
        _look_at_weights(config, findings)
    with _noting(config.hermes.plugins_dir, findings):
        _look_at_plugins(config, environ, findings=findings)
    _look_at_state(plain(config.hermes.state_dir), findings)
    return findings


def _look_at_state(folder: Path, findings: Findings) -> None:
    findings.state_dir = folder
    for name, path in ((name, folder / file) for name, file in KEPT.items()):
        with _noting(path, findings):
            if reason := obstacle(path):
                findings.problems.append(ConfigError(f"the {name} cannot be read: {reason}", file=str(path)))
            elif path.exists() or has_only_its_log(path):
                findings.kept[name] = path
                findings.damage += _damage(path, name)


def _look_beyond(file: Path, environ: Mapping[str, str], *, findings: Findings) -> None:
    """Look at the manifests too if it is certain where they are, although the configuration is wrong elsewhere."""
    findings.unseen = "plugins and journal"
    config = only_places(file, environ, problems=findings.problems)
    if config is None or not config.hermes.plugins_dir.is_dir():
        return
    found = Findings()
    with _noting(config.hermes.plugins_dir, found):
        _look_at_plugins(config, environ, findings=found)
    findings.unseen = "the plugins' sections and the journal"
    findings.plugins = found.plugins
    # Without its section a plugin may lack what it has in truth.
    findings.problems += [problem for problem in found.problems if problem.file != config.source.file]


@contextmanager
def _noting(path: Path, findings: Findings) -> Iterator[None]:
    """Make a problem of what cannot be read, and go on after it."""
    try:
        yield
    except OSError as error:
        findings.problems.append(unreadable(error, path))


def _strategies(config: Config) -> Iterator[ConfigError]:
    thresholds = thresholds_of(config)
    for index, kind in enumerate(config.router.strategies):
        try:
            find("routing.strategies", kind)(thresholds)
        except ConfigError as error:
            yield config.source.problem(("router", "strategies", index), error.detail)


def _look_at_weights(config: Config, findings: Findings) -> None:
    """Look at the file of learned weights; nobody has to have one who does not name it."""
    try:
        path = plain(weights_file(config))
        if path.exists():
            findings.weights, findings.weights_file = read_weights(path), path
    except ConfigError as error:
        findings.problems += error.problems


def _look_at_plugins(config: Config, environ: Mapping[str, str], *, findings: Findings) -> None:
    """Look at all plugins of a configuration, in the daemon's order."""
    folder = plain(config.hermes.plugins_dir)
    if not folder.is_dir():
        findings.warnings.append(
            config.source.problem(("hermes", "plugins_dir"), f"there is no folder {folder}")
        )
        return
    # Loading a plugin makes its data folder; a look must leave nothing behind.
    with TemporaryDirectory(prefix="hermes-check-") as scratch:
        inspection = Inspection(check_keyword, places_of(config, environ, scratch=Path(scratch)))
        sound = []
        for directory in plugin_folders(folder):
            with _noting(directory, findings):
                look = inspection.look(directory)
                findings.problems += look.problems
                if look.manifest is not None and not look.problems:
                    sound.append((look.manifest, look.document))
    findings.warnings += twins(sound)
    findings.plugins += inspection.plugins
    known = {*findings.plugins, *(directory.name for directory in plugin_folders(folder))}
    for name in config.plugins:
        if name not in known:
            detail = f"there is no plugin of this name in {folder}"
            findings.warnings.append(config.source.problem(("plugins", name), detail))


def check_keyword(plugin: str, intent: Intent, *, keyword: str) -> None:
    """Raise ConfigError if the router refuses a keyword: tried by itself, as the lexicon stops at the first."""
    Lexicon([IntentEntry(intent.name, plugin, {keyword: intent.keywords[keyword]})])


def _damage(file: Path, name: str) -> Iterator[ConfigError]:
    remedy = "stop the daemon and run hermes check --repair"
    try:
        with closing(look_into(file)) as database:
            rows = [str(row[0]) for row in database.execute(f"PRAGMA quick_check({_SHOWN})")]
    except sqlite3.Error as error:
        yield ConfigError(f"the {name} cannot be read: {error}; {remedy}", file=str(file))
        return
    for row in rows:
        if row != "ok":
            yield ConfigError(f"the {name} is damaged: {row}; {remedy}", file=str(file))
