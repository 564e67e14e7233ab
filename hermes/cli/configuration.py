"""The part of a configuration that says where plugins are, also while the rest of it is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hermes.config import Config, load_config
from hermes.config.document import ABSENT
from hermes.config.environment import substitute
from hermes.config.loading import DEFAULT_FILE
from hermes.config.validation import validate
from hermes.config.yaml_file import read_yaml
from hermes.errors import ConfigError
from hermes.host.plugin import Places


def find_plugins(path: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the plugins folder of the configuration in `path`, or in ./hermes.yaml; it need not be there.

    Raises ConfigError only if it is uncertain which folder that is.
    """
    try:
        config = load_config(path, environ)
    except ConfigError as error:
        kept = only_places(path or DEFAULT_FILE, environ, problems=error.problems)
        if kept is None:
            raise
        config = kept
    return plain(config.hermes.plugins_dir)


def only_places(file: Path, environ: Mapping[str, str], *, problems: Sequence[ConfigError]) -> Config | None:
    """Return a wrong configuration without all but its plugins folder; None if its `problems` make that uncertain."""
    if {problem.key for problem in problems} & {None, "hermes", "hermes.plugins_dir"}:
        return None
    document = substitute(read_yaml(file), environ, base_dir=file.absolute().parent)
    folder = document.at(("hermes", "plugins_dir"))
    kept = {"hermes": {} if folder is ABSENT else {"plugins_dir": folder}}
    document = replace(document, data=kept, problems=())
    return validate(Config, document, context=document)


def places_of(config: Config, environ: Mapping[str, str], *, scratch: Path) -> Places:
    """Return the surroundings that a configuration gives to plugins, with `scratch` for what they write."""
    return Places(
        plugins_dir=plain(config.hermes.plugins_dir),
        state_dir=scratch,
        base_dir=config.base_dir,
        configs=config.plugins,
        environment=environ,
        source=config.source,
    )


def plain(path: Path) -> Path:
    """Return a path without `..`; what comes before one is resolved, as it may be a link."""
    parts = path.parts
    if ".." not in parts:
        return path
    last = len(parts) - parts[::-1].index("..")
    return Path(*parts[:last]).resolve().joinpath(*parts[last:])
