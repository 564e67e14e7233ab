"""Looks at plugins without starting anything: everything that keeps one from being taken in, told at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hermes.config.document import Document, KeyPath
from hermes.config.json_file import read_json
from hermes.errors import ConfigError
from hermes.host.files.fingerprint import content_hash
from hermes.host.manifests.dependencies import missing
from hermes.host.manifests.manifest import MANIFEST_FILE, Intent, Manifest, plugin_config, read_manifest
from hermes.host.plugin import Places, load_plugin, secrets_of


class CheckKeyword(Protocol):
    """Holds one keyword of an intent of the named plugin against what the router takes."""

    def __call__(self, plugin: str, intent: Intent, *, keyword: str) -> None:
        """Raise ConfigError if the router would refuse it."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found at one folder; `manifest` is what is right of its own, or None if hardly anything is."""

    directory: Path
    document: Document = field(default_factory=Document)
    manifest: Manifest | None = None
    problems: tuple[ConfigError, ...] = ()

    @property
    def name(self) -> str:
        """What the plugin is called, or its folder if it has no name."""
        if self.manifest is None or any(one.key in {None, "name"} for one in self.problems):
            return self.directory.name
        return self.manifest.name


class Inspection:
    """Looks at one folder after the other, as the daemon would take them in.

    `places` are the daemon's own: without them nothing is said of the plugin's section in hermes.yaml and of the
    environment. The data folder of what is looked at is made below its `state_dir`.
    """

    def __init__(self, check_keyword: CheckKeyword, places: Places | None = None) -> None:
        self._check_keyword = check_keyword
        self._places = places
        self._plugins: list[str] = []
        self._owners: dict[str, str] = {}

    @property
    def plugins(self) -> list[str]:
        """The names of those whose manifest is right, in the order of looking."""
        return list(self._plugins)

    def look(self, directory: Path) -> Look:
        """Find everything that is wrong with the plugin in `directory`; raises OSError if it cannot be read."""
        path = directory / MANIFEST_FILE
        if path.exists() and not (path.is_file() or path.is_dir()):  # whoever opened a pipe would wait
            return Look(directory, problems=(ConfigError("is no file", file=str(path)),))
        try:
            document = read_json(path)
        except ConfigError as error:
            return Look(directory, problems=error.problems)
        manifest, found = read_manifest(document, directory)
        if manifest is None:
            return Look(directory, document, problems=tuple(found))
        problems = [
            *found,
            *missing(_texts(document.at(("dependencies",))), document),
            *self._keywords(manifest, document),
            *self._surroundings(manifest, directory),
        ]
        if not found:
            problems += self._taken(manifest, document)
            problems += self._loading(directory)
            self._plugins.append(manifest.name)
        problems.sort(key=lambda one: (one.file != document.file, one.line or 0))
        return Look(directory, document, manifest, tuple({str(one): one for one in problems}.values()))

    def _keywords(self, manifest: Manifest, document: Document) -> Iterator[ConfigError]:
        for index, intent in enumerate(manifest.intents):
            for keyword in intent.keywords:
                try:
                    self._check_keyword(manifest.name, intent, keyword=keyword)
                except ConfigError as error:
                    yield document.problem(keyword_place(document, index, keyword=keyword), error.detail)

    def _surroundings(self, manifest: Manifest, directory: Path) -> Iterator[ConfigError]:
        """Hold what the manifest asks for against hermes.yaml and the environment."""
        places = self._places
        if places is None:
            return
        try:
            secrets_of(manifest, places.environment, directory=directory)
        except ConfigError as error:
            yield from error.problems
        section = places.configs.get(manifest.name, {})
        try:
            plugin_config(manifest, section, base_dir=places.base_dir, source=places.source)
        except ConfigError as error:
            yield from error.problems

    def _taken(self, manifest: Manifest, document: Document) -> Iterator[ConfigError]:
        """Find names that an earlier plugin has already, and take the others."""
        for path, sentence in taken(manifest, plugins=self._plugins, owners=self._owners):
            yield document.problem(path, sentence)
        for intent in manifest.intents:
            self._owners.setdefault(intent.name, manifest.name)

    def _loading(self, directory: Path) -> Iterator[ConfigError]:
        """Do what the daemon does with a folder, for what only that shows."""
        try:
            if self._places is None:
                content_hash(directory)
            else:
                load_plugin(directory, self._places)
        except ConfigError as error:
            yield from error.problems


def taken(
    manifest: Manifest, *, plugins: Collection[str], owners: Mapping[str, str]
) -> Iterator[tuple[KeyPath, str]]:
    """Find what other plugins have already: where the manifest asks for it, and a sentence on it.

    `plugins` are the names of the others, `owners` the plugin of each intent.
    """
    if manifest.name in plugins:
        yield ("name",), f"another folder has a plugin named {manifest.name} already; rename one"
    for index, intent in enumerate(manifest.intents):
        owner = owners.get(intent.name, manifest.name)
        if owner != manifest.name:
            yield (
                ("intents", index),
                f"the intent {intent.name} belongs to the plugin {owner} already; rename one",
            )


def keyword_place(document: Document, intent: int, *, keyword: str) -> KeyPath:
    """Return where a keyword stands: keywords may be a list, and those of a short intent stand at the top."""
    top: KeyPath = () if isinstance(document.at(("intents", intent)), str) else ("intents", intent)
    written = document.at((*top, "keywords"))
    return (*top, "keywords", written.index(keyword) if isinstance(written, list) else keyword)


def _texts(value: Any) -> list[str]:
    return [one if isinstance(one, str) else "" for one in value] if isinstance(value, list) else []
