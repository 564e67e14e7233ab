"""Finds hermes.yaml, reads it, fills in the environment and checks it: the one way to a Config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from hermes.config.document import Document
from hermes.config.environment import substitute
from hermes.config.sections import Config
from hermes.config.validation import validate
from hermes.config.yaml_file import read_yaml
from hermes.errors import ConfigError

DEFAULT_FILE: Final = Path("hermes.yaml")


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Return the settings in `path`, or in ./hermes.yaml, or all defaults if that is not there.

    Raises ConfigError, with everything that is wrong in its `problems`; a file that was named must be there.
    """
    file = path or DEFAULT_FILE
    if path is None and not file.exists():
        return validate(Config, Document(data={}))
    document = read_yaml(file)
    if document.data is None:
        document = replace(document, data={})
    if not isinstance(document.data, dict):
        raise ConfigError(
            "must hold a mapping such as hermes: {bind: 127.0.0.1:8080}", file=str(file), line=1
        )
    document = substitute(document, environ, base_dir=file.absolute().parent)
    return validate(Config, document, context=document)
