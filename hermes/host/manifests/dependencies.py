"""The Python packages that plugins name in their manifests. What reads them is imported only when there are any."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from hermes.config.document import Document
from hermes.config.json_file import read_json
from hermes.config.validation import InvalidPart
from hermes.errors import ConfigError


def readable(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the requirements of a manifest as they are; raise InvalidPart at the first that cannot be read."""
    if texts:
        from hermes.host.manifests.requirement import Requirement  # noqa: PLC0415 - 25 ms that most plugins need not pay

        for index, text in enumerate(texts):
            try:
                Requirement(text)
            except ValueError as error:
                raise InvalidPart(str(error), (index,)) from None
    return texts


def missing(requirements: Sequence[str], document: Document) -> list[ConfigError]:
    """Return one problem of the manifest `document` for each package that this interpreter lacks.

    It is looked up anew every time: a package may be installed while Hermes runs. Requirements whose markers exclude
    this interpreter count as met; so do those that cannot be read, which are a problem of their own.
    """
    if not requirements:
        return []
    from hermes.host.manifests.requirement import Requirement  # noqa: PLC0415 - as above

    problems = []
    for index, text in enumerate(requirements):
        try:
            requirement = Requirement(text)
        except ValueError:
            continue
        for lack in requirement.lacks():
            remedy = f"python -m pip install {shlex.quote(requirement.wanted)}"
            detail = (
                f"{lack.told()}; install it for the Python that Hermes runs on: {remedy} "
                "(in the image: hermes plugins requirements), then have the plugin reloaded"
            )
            problems.append(document.problem(("dependencies", index), detail))
    return problems


def require(requirements: Sequence[str], manifest: Path) -> None:
    """Raise ConfigError, with all its `problems`, unless everything is there that the file `manifest` asks for."""
    if missing(requirements, Document()):
        document = read_json(manifest)
        document.refuse(*missing(requirements, document))
