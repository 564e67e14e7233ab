"""Reads the pins of a lock as pip takes it: requirements.lock of this project, or what `pip freeze` prints."""

from __future__ import annotations

from pathlib import Path

from hermes.config.document import read_text
from hermes.errors import ConfigError
from hermes.host.manifests.requirement import Requirement


def read_pins(file: Path) -> dict[str, str]:
    """Return the version of each package that `file` pins for this interpreter, by its canonical name.

    Comments, hashes and options say nothing about versions and are passed over. Raises ConfigError, with the line, if
    there is anything else but pins.
    """
    pins: dict[str, str] = {}
    continued = False
    for number, text in enumerate(read_text(file).splitlines(), 1):
        own, continued = not continued, text.rstrip().endswith("\\")
        written = text.partition(" #")[0].rstrip().removesuffix("\\").strip()
        written = written.partition(" --hash=")[0].rstrip()
        if not own or not written or written.startswith(("#", "-")):
            continue
        requirement = _pinned(written)
        if requirement is None:
            raise ConfigError("is no pin such as requests==2.32.0", file=str(file), line=number)
        if requirement.applies:
            (exact,) = requirement.specifier
            pins[requirement.name] = exact.version
    return pins


def _pinned(text: str) -> Requirement | None:
    try:
        requirement = Requirement(text)
    except ValueError:
        return None
    exact = [one for one in requirement.specifier if one.operator == "==" and not one.version.endswith(".*")]
    return requirement if len(exact) == len(list(requirement.specifier)) == 1 else None
