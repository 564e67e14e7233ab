"""A plugin as it was found on disk: manifest, hash, configuration and secrets. Nothing of it runs here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes.config import Document
from hermes.errors import ConfigError
from hermes.host.manifest import Intent, Manifest, load_manifest, plugin_config
from hermes.host.parameters import Parameters
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

_LEFT_OUT = {"__pycache__"}


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
    """One version of a plugin. `environment` is the whole environment of its workers, secrets included."""

    manifest: Manifest
    directory: Path
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


def load_plugin(directory: Path, places: Places) -> Plugin:
    """Read a plugin's folder; raises ConfigError, with file and line where known, if it cannot be used."""
    manifest = load_manifest(directory)
    secrets = _secrets(manifest, places.environment, directory=directory)
    data_dir = places.state_dir / "plugins" / manifest.name
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    safe = {name: places.environment[name] for name in _SAFE_ENVIRONMENT if name in places.environment}
    return Plugin(
        manifest=manifest,
        directory=directory,
        hash=content_hash(directory),
        config=plugin_config(
            manifest,
            places.configs.get(manifest.name, {}),
            base_dir=places.base_dir,
            source=places.source,
        ),
        secrets=secrets,
        environment=safe | secrets,
        data_dir=data_dir,
        services={one.name: Service(one, Parameters(one)) for one in manifest.intents},
    )


def content_hash(directory: Path) -> str:
    """Return a hash of a folder's file names and contents, the same on every machine; bytecode does not count."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(directory):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
        for name in sorted(files):
            path = Path(folder) / name
            if name.startswith(".") or not path.is_file():
                continue
            content = path.read_bytes()
            digest.update(os.fsencode(path.relative_to(directory).as_posix()) + b"\0%d\0" % len(content))
            digest.update(content)
    return digest.hexdigest()[:16]


def _secrets(manifest: Manifest, environment: Mapping[str, str], *, directory: Path) -> dict[str, str]:
    missing = [name for name in manifest.env if name not in environment]
    if missing:
        raise ConfigError(
            f"{', '.join(missing)} not set in the environment; set it for the daemon, or take it out of env",
            file=str(directory / "manifest.json"),
            key="env",
        )
    return {name: environment[name] for name in manifest.env}
