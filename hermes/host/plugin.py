"""A plugin as it was found on disk: manifest, hash, configuration and secrets. Nothing of it runs here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes.config import Document
from hermes.errors import ConfigError
from hermes.host.files.fingerprint import content_hash
from hermes.host.manifests.dependencies import require
from hermes.host.manifests.manifest import MANIFEST_FILE, Intent, Manifest, load_manifest, plugin_config
from hermes.host.manifests.parameters import Fold, Parameters
from hermes.messages import PluginRef

_SAFE_ENVIRONMENT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
"""What a worker sees of the daemon's environment beside the variables that its manifest names."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the host finds and keeps things; `configs` are the raw `plugins.<name>` sections of hermes.yaml,
    `source` the document they come from.
    """

    plugins_dir: Path
    state_dir: Path
    base_dir: Path
    configs: Mapping[str, Mapping[str, Any]]
    environment: Mapping[str, str]
    source: Document


@dataclass(frozen=True, slots=True)
class Service:
    """One intent of a plugin, ready to be checked and called."""

    intent: Intent
    parameters: Parameters

    @property
    def repeatable(self) -> bool:
        """Say whether a call may be run again after a crash without doing something twice."""
        return not self.intent.writes or self.intent.idempotent


@dataclass(frozen=True, slots=True)
class Plugin:
    """One version of a plugin. `environment` is the whole environment of its workers, secrets included.

    `directory` is where its workers run, `origin` the folder that its author works on.
    """

    manifest: Manifest
    directory: Path
    origin: Path
    hash: str
    config: Mapping[str, Any]
    secrets: Mapping[str, str]
    environment: dict[str, str]
    data_dir: Path
    services: Mapping[str, Service]

    @property
    def ref(self) -> PluginRef:
        """The plugin as a record names it."""
        return PluginRef(self.manifest.name, self.manifest.version, self.hash)


def load_plugin(
    directory: Path,
    places: Places,
    *,
    origin: Path | None = None,
    known_hash: str | None = None,
    fold: Fold | None = None,
) -> Plugin:
    """Read a plugin's folder, a copy of `origin` if that is given, whose content hash is `known_hash`.

    `fold` is how words are compared that name parameters.

    Raises ConfigError, with file and line where known, if it cannot be used.
    """
    manifest = load_manifest(directory)
    require(manifest.dependencies, directory / MANIFEST_FILE)
    secrets = secrets_of(manifest, places.environment, directory=directory)
    data_dir = places.state_dir / "plugins" / manifest.name
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Plugin(
        manifest=manifest,
        directory=directory,
        origin=origin or directory,
        hash=known_hash or content_hash(directory),
        config=plugin_config(
            manifest,
            places.configs.get(manifest.name, {}),
            base_dir=places.base_dir,
            source=places.source,
        ),
        secrets=secrets,
        environment=safe_environment(places.environment) | secrets,
        data_dir=data_dir,
        services={one.name: Service(one, Parameters(one, fold=fold)) for one in manifest.intents},
    )


def secrets_of(manifest: Manifest, environment: Mapping[str, str], *, directory: Path) -> dict[str, str]:
    """Return the variables that a plugin is given; raises ConfigError if one of them is not set."""
    missing = [name for name in manifest.env if name not in environment]
    if missing:
        raise ConfigError(
            f"{', '.join(missing)} not set in the environment; start the daemon with it, or take it out of env",
            file=str(directory / "manifest.json"),
            key="env",
        )
    return {name: environment[name] for name in manifest.env}


def safe_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what every worker may see of the daemon's environment."""
    return {name: environment[name] for name in _SAFE_ENVIRONMENT if name in environment}
