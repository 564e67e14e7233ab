"""What the configuration beside a file of rows says: the intents of its plugins, and where its weights are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hermes.cli.configuration import plain
from hermes.cli.problems import unreadable
from hermes.config import Config, load_config
from hermes.entries import entries_of
from hermes.errors import ConfigError
from hermes.host.folders import plugin_folders
from hermes.host.manifests.manifest import load_manifest
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.values import value


@value
class Surroundings:
    """A configuration with the intents that a daemon would take in; `problems` are why others are not among them."""

    config: Config
    entries: tuple[IntentEntry, ...]
    problems: tuple[ConfigError, ...]

    @property
    def intents(self) -> frozenset[str]:
        """The names of the intents."""
        return frozenset(entry.intent for entry in self.entries)

    @property
    def weights(self) -> Path:
        """Where the weights are, whether there are any or not."""
        return plain(self.config.router.weights)


def look_around(path: Path | None, environ: Mapping[str, str]) -> Surroundings:
    """Look at the configuration in `path`, or in ./hermes.yaml, and at its plugins; ConfigError if it is wrong."""
    config = load_config(path, environ)
    entries: dict[str, IntentEntry] = {}
    problems: list[ConfigError] = []
    for directory in plugin_folders(plain(config.hermes.plugins_dir)):
        try:
            found = {one.intent: one for one in entries_of(load_manifest(directory))}
            _check(found, directory, taken=entries)
        except ConfigError as error:
            problems += error.problems
        except OSError as error:
            problems.append(unreadable(error, directory))
        else:
            entries |= found
    return Surroundings(config, tuple(entries.values()), tuple(problems))


def _check(found: Mapping[str, IntentEntry], directory: Path, *, taken: Mapping[str, IntentEntry]) -> None:
    """Raise ConfigError if the router does not take a plugin's intents, or an earlier plugin has one of them."""
    try:
        Lexicon(found.values())
    except ConfigError as error:
        raise ConfigError(error.detail, file=str(directory)) from None
    for name in found.keys() & taken.keys():
        raise ConfigError(f"{name} belongs to plugin {taken[name].plugin!r} already", file=str(directory))
