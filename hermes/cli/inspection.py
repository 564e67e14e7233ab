"""Looks for everything that would keep the daemon, or one of its plugins, from starting. It starts and changes nothing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hermes.catalog import find
from hermes.config import Config, load_config
from hermes.config.document import ABSENT, Document, KeyPath
from hermes.config.environment import substitute
from hermes.config.json_file import read_json
from hermes.config.loading import DEFAULT_FILE
from hermes.config.validation import validate
from hermes.config.yaml_file import read_yaml
from hermes.errors import ConfigError
from hermes.host.host import plugin_folders
from hermes.host.manifest import MANIFEST_FILE, Manifest, load_manifest, plugin_config
from hermes.host.plugin import Places, load_plugin
from hermes.host.runtimes.base import Runtime
from hermes.journal._salvage import look_into
from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.sqlite_file import has_only_its_log, obstacle

_SHOWN = 20  # faults of a damaged file that are told
KEPT = {"journal": "journal.db", "store": "store.db"}
"""What the daemon keeps in its state folder, and the SQLite file that it is in."""


@dataclass(slots=True)
class Findings:
    """What was looked at, and what was found there. `warnings` stop nothing from starting, `unseen` names what a
    wrong configuration keeps from being looked at. `kept` are the files of KEPT that there are, `damage` is what
    SQLite finds wrong with them.
    """

    config: Path | None = None
    plugins: list[str] = field(default_factory=list)
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
    with _noting(config.hermes.plugins_dir, findings):
        _PluginsFolder(config, environ, findings=findings).inspect()
    _look_at_state(_plain(config.hermes.state_dir), findings)
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
    if {problem.key for problem in findings.problems} & {None, "hermes", "hermes.plugins_dir"}:
        return
    document = substitute(read_yaml(file), environ, base_dir=file.absolute().parent)
    folder = document.at(("hermes", "plugins_dir"))
    kept = replace(
        document, data={"hermes": {} if folder is ABSENT else {"plugins_dir": folder}}, problems=()
    )
    config = validate(Config, kept, context=kept)
    if not config.hermes.plugins_dir.is_dir():
        return
    found = Findings()
    with _noting(config.hermes.plugins_dir, found):
        _PluginsFolder(config, environ, findings=found).inspect()
    findings.unseen = "the plugins' sections and the journal"
    findings.plugins = found.plugins
    # Without its section a plugin may lack what it has in truth.
    findings.problems += [problem for problem in found.problems if problem.file != document.file]


def _plain(path: Path) -> Path:
    """Return a path without `..`; what comes before one is resolved, as it may be a link."""
    parts = path.parts
    if ".." not in parts:
        return path
    last = len(parts) - parts[::-1].index("..")
    return Path(*parts[:last]).resolve().joinpath(*parts[last:])


@contextmanager
def _noting(path: Path, findings: Findings) -> Iterator[None]:
    """Make a problem of what cannot be read, and go on after it."""
    try:
        yield
    except OSError as error:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(path)
        findings.problems.append(ConfigError(f"cannot be read: {error.strerror or error}", file=name))


def _strategies(config: Config) -> Iterator[ConfigError]:
    router = config.router
    thresholds = Thresholds(router.min_confidence, router.clarify_threshold, router.clarify_margin)
    for index, kind in enumerate(router.strategies):
        try:
            find("routing.strategies", kind)(thresholds)
        except ConfigError as error:
            yield config.source.problem(("router", "strategies", index), error.detail)


class _PluginsFolder:
    """All plugins of one configuration, looked at one after the other in the daemon's order."""

    def __init__(self, config: Config, environ: Mapping[str, str], *, findings: Findings) -> None:
        self._config = config
        self._environ = environ
        self._findings = findings
        self._folder = _plain(config.hermes.plugins_dir)
        self._owners: dict[str, str] = {}

    def inspect(self) -> None:
        config, findings = self._config, self._findings
        folder = self._folder
        if not folder.is_dir():
            findings.warnings.append(
                config.source.problem(("hermes", "plugins_dir"), f"there is no folder {folder}")
            )
            return
        # Loading a plugin makes its data folder; a look must leave nothing behind.
        with TemporaryDirectory(prefix="hermes-check-") as scratch:
            places = self._places(Path(scratch))
            for directory in plugin_folders(folder):
                with _noting(directory, findings):
                    findings.problems += self._plugin(directory, places)
        known = {*findings.plugins, *(directory.name for directory in plugin_folders(folder))}
        for name in config.plugins:
            if name not in known:
                detail = f"there is no plugin of this name in {folder}"
                findings.warnings.append(config.source.problem(("plugins", name), detail))

    def _places(self, scratch: Path) -> Places:
        config = self._config
        return Places(
            plugins_dir=self._folder,
            state_dir=scratch,
            base_dir=config.base_dir,
            configs=config.plugins,
            environment=self._environ,
            source=config.source,
        )

    def _plugin(self, directory: Path, places: Places) -> list[ConfigError]:
        try:
            manifest = load_manifest(directory)
            document = read_json(directory / MANIFEST_FILE)
        except ConfigError as error:
            return list(error.problems)
        problems = [
            *self._loading(manifest, directory, places=places),
            *_keywords(manifest, document),
            *self._taken(manifest, document),
        ]
        self._findings.plugins.append(manifest.name)
        return list({str(problem): problem for problem in problems}.values())

    def _loading(self, manifest: Manifest, directory: Path, *, places: Places) -> Iterator[ConfigError]:
        """Load the plugin as the daemon does, and check what that may not have come to."""
        try:
            plugin = load_plugin(directory, places)
            runtime: Runtime = find("host.runtimes", manifest.runtime)()
            runtime.launch(plugin, frame_bytes=self._config.limits.frame_bytes)
        except ConfigError as error:
            yield from error.problems
        section = places.configs.get(manifest.name, {})
        try:
            plugin_config(manifest, section, base_dir=places.base_dir, source=places.source)
        except ConfigError as error:
            yield from error.problems

    def _taken(self, manifest: Manifest, document: Document) -> Iterator[ConfigError]:
        """Find names that an earlier plugin has already, and take the others."""
        if manifest.name in self._findings.plugins:
            yield document.problem(
                ("name",), f"another folder has a plugin named {manifest.name}; rename one"
            )
        for index, intent in enumerate(manifest.intents):
            owner = self._owners.setdefault(intent.name, manifest.name)
            if owner != manifest.name:
                detail = f"the intent {intent.name} belongs to the plugin {owner} already; rename one"
                yield document.problem(("intents", index), detail)


def _keywords(manifest: Manifest, document: Document) -> Iterator[ConfigError]:
    """Try every keyword by itself: the lexicon stops at the first that it refuses."""
    for index, intent in enumerate(manifest.intents):
        for keyword, weight in intent.keywords.items():
            try:
                Lexicon([IntentEntry(intent.name, manifest.name, {keyword: weight})])
            except ConfigError as error:
                yield document.problem(_keyword_place(document, index, keyword=keyword), error.detail)


def _keyword_place(document: Document, intent: int, *, keyword: str) -> KeyPath:
    """Return where a keyword stands: keywords may be a list, and those of a short intent stand at the top."""
    top: KeyPath = () if isinstance(document.at(("intents", intent)), str) else ("intents", intent)
    written = document.at((*top, "keywords"))
    return (*top, "keywords", written.index(keyword) if isinstance(written, list) else keyword)


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
