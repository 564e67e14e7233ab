"""Whose key is whose in a manifest: what every plugin may say, and what only its runtime knows to read."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from pydantic import BaseModel

from hermes.catalog import find, known
from hermes.config.document import Document, KeyPath
from hermes.config.validation import keys_of, unknown_key
from hermes.errors import ConfigError
from hermes.host.manifests.manifest_file import ManifestFile, ManifestSection
from hermes.host.manifests.pruning import Fill, is_below, prune

RUNTIMES: Final = "host.runtimes"
DEFAULT_RUNTIME: Final = "python"

_UNNAMED: Final = "unnamed"

Checked = TypeVar("Checked", bound=BaseModel)
Check = Callable[[Document, ManifestFile], list[ConfigError]]


class ManifestKeys(Protocol):
    """What a runtime adds to a manifest: keys of its own, the limits that it can hold, and what it finds wrong."""

    @property
    def options(self) -> type[ManifestSection]:
        """The keys of a manifest that only this kind has, as a model; one of them is `Manifest.options`."""

    @property
    def limits(self) -> frozenset[str]:
        """The members of `limits` that mean something for this kind."""

    def problems(self, document: Document, options: Any, *, directory: Path) -> list[ConfigError]:
        """Return what is wrong with a manifest beyond what the model of its options says; reads, and starts nothing."""


def read_keys(
    document: Document, *, directory: Path, check: Check
) -> tuple[ManifestFile | None, Any, list[ConfigError]]:
    """Return a manifest, the options of its runtime, and everything that is wrong with them.

    What is wrong is left out of both, or replaced where it is needed; each is None if too little is right. `check`
    finds what is wrong with the manifest beyond its model.
    """
    reading = _Reading(document, directory)
    return reading.read(check)


class _Reading:
    """One manifest that is being read."""

    def __init__(self, document: Document, directory: Path) -> None:
        self._document = document
        self._directory = directory
        self._problems: list[ConfigError] = []

    def read(self, check: Check) -> tuple[ManifestFile | None, Any, list[ConfigError]]:
        runtime, model = self._runtime(), None
        shared, own = keys_of(ManifestFile), set[str]()
        if runtime is not None:
            model = runtime.options
            own = keys_of(model)
        self._foreign(shared | own, knows_runtime=runtime is not None)
        file = self._sound(ManifestFile, shared, fill=_fill)
        options = None if model is None else self._sound(model, own)
        told, more = list(self._problems), list[ConfigError]()
        if file is not None:
            more += check(self._document, file)
        if file is not None and runtime is not None:
            more += self._limits(file, runtime)
        if options is not None and runtime is not None:
            more += runtime.problems(self._document, options, directory=self._directory)
        self._problems += [one for one in more if not is_below(one.key, told)]
        return file, options, [*self._document.problems, *self._problems]

    def _runtime(self) -> ManifestKeys | None:
        """Return the runtime that the manifest names; what is wrong with the name itself, its model says."""
        kind = self._document.data.get("runtime", DEFAULT_RUNTIME)
        if not isinstance(kind, str):
            return None
        try:
            return _keys(kind)
        except ConfigError as error:
            if kind in known(RUNTIMES):
                self._note(("runtime",), error.detail)
            return None

    def _sound(self, model: type[Checked], keys: set[str], *, fill: Fill | None = None) -> Checked | None:
        """Return what is right of the part of the document that has these keys as `model`, and note what is wrong."""
        data = {key: value for key, value in self._document.data.items() if key in keys}
        found, problems = prune(model, replace(self._document, data=data), fill=fill)
        twice = {one.key for one in self._document.problems}
        self._problems += [one for one in problems if one.key not in twice]
        return found

    def _foreign(self, allowed: set[str], *, knows_runtime: bool) -> None:
        """Note the keys that this manifest may not have; without a runtime those of any are let through."""
        for key in self._document.data.keys() - allowed:
            owners = _owners(key, among=_own)
            if not owners:
                self._note((key,), unknown_key(key, allowed))
            elif knows_runtime:
                self._note((key,), f"belongs to {_named(owners)}; remove it, or set runtime")

    def _limits(self, file: ManifestFile, runtime: ManifestKeys) -> list[ConfigError]:
        """Find limits that nobody would hold."""
        problems = []
        for name in sorted(file.limits.model_fields_set - runtime.limits):
            owners = _owners(name, among=_limits)
            detail = f"has no effect on the runtime {file.runtime}; it is for {_named(owners)}"
            problems.append(self._document.problem(("limits", name), detail))
        return problems

    def _note(self, path: KeyPath, detail: str) -> None:
        self._problems.append(self._document.problem(path, detail))


def _fill(data: dict[str, Any]) -> None:
    """Give a name to what has none, or none that is right: a plugin and its intents cannot do without."""
    data.setdefault("name", _UNNAMED)
    intents = data.get("intents")
    if not isinstance(intents, list) or not intents:
        intents = data["intents"] = [None]
    for index, intent in enumerate(intents):
        if intent is None:
            intents[index] = f"{_UNNAMED}-{index}"
        elif isinstance(intent, dict):
            intent.setdefault("name", f"{_UNNAMED}-{index}")


def _keys(kind: str) -> ManifestKeys:
    keys: ManifestKeys = find(RUNTIMES, kind)()
    return keys


def _own(keys: ManifestKeys) -> AbstractSet[str]:
    return keys_of(keys.options)


def _limits(keys: ManifestKeys) -> AbstractSet[str]:
    return keys.limits


def _owners(name: str, *, among: Callable[[ManifestKeys], AbstractSet[str]]) -> list[str]:
    """Return the runtimes that have a name `among` theirs; one that cannot be loaded is not asked."""
    owners = []
    for kind in known(RUNTIMES):
        try:
            keys = _keys(kind)
        except ConfigError:
            continue
        if name in among(keys):
            owners.append(kind)
    return owners


def _named(kinds: list[str]) -> str:
    if len(kinds) == 1:
        return f"the runtime {kinds[0]}"
    return f"the runtimes {', '.join(kinds[:-1])} and {kinds[-1]}"
