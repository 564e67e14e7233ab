"""What a plugin says about itself, checked and with every default filled in; its code is not looked at here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from hermes.config.document import Document, KeyPath, Substituted
from hermes.config.json_file import read_json
from hermes.errors import ConfigError
from hermes.host.manifests.manifest_file import ConfirmFile, IntentFile, ManifestFile
from hermes.host.manifests.manifest_keys import read_keys
from hermes.host.manifests.schema import Schema, converted
from hermes.host.manifests.slots import Slots

MANIFEST_FILE: Final = "manifest.json"
_SHARED: Final = (
    "keywords",
    "priority",
    "writes",
    "confirm",
)  # what the short form of intents takes from the top


@dataclass(frozen=True, slots=True)
class Confirm:
    """Who has to agree before a call runs. `by` are persons or scopes, empty for the asker or an admin; `expires`
    is in seconds.
    """

    by: tuple[str, ...] = ()
    other_than_asker: bool = False
    expires: float = 600.0


@dataclass(frozen=True, slots=True)
class Workers:
    """How many processes serve a plugin; an idle one beyond `min` is stopped after `idle_stop` seconds."""

    min: int = 1
    max: int = 1
    idle_stop: float = 600.0


@dataclass(frozen=True, slots=True)
class Summary:
    """What of a result goes into its digest: `fields` in this order, all if empty."""

    fields: tuple[str, ...] = ()
    max_chars: int = 1200


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a plugin's processes may use: `memory_mb` and `processes` one worker with all that it started, `open_files`
    each process, `cpu_seconds` one call. None is no limit.
    """

    memory_mb: int | None = None
    open_files: int | None = None
    processes: int | None = None
    cpu_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """Something that a plugin can be asked for. `keywords` have weights with 0 < |w| ≤ 1, `parameters` is a JSON
    Schema, `slots` are RE2 patterns with named groups, `ack` is keyed by language.
    """

    name: str
    description: str = ""
    keywords: Mapping[str, float] = field(default_factory=dict)
    priority: int = 0
    examples: tuple[str, ...] = ()
    parameters: Mapping[str, Any] | None = None
    slots: Mapping[str, str] = field(default_factory=dict)
    writes: bool = False
    idempotent: bool = False
    confirm: Confirm | None = None
    ack: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One plugin. `options` is what only its `runtime` knows to read, in that runtime's own model; `timeout` is in
    seconds, None for the default of hermes.yaml; `config` is the JSON Schema of the plugin's section there; `env`
    names the variables that it is given.
    """

    name: str
    intents: tuple[Intent, ...]
    version: str = "0.0.0"
    description: str = ""
    runtime: str = "python"
    options: Any = None
    timeout: float | None = None
    concurrency: int = 4
    workers: Workers = Workers()
    summary: Summary = Summary()
    config: Mapping[str, Any] | None = None
    env: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    limits: ProcessLimits = ProcessLimits()


def load_manifest(directory: Path) -> Manifest:
    """Return the manifest of the plugin in `directory`; raise ConfigError with all of its `problems`."""
    document = read_json(directory / MANIFEST_FILE)
    manifest, problems = read_manifest(document, directory)
    replace(document, problems=()).refuse(*problems)
    return cast("Manifest", manifest)


def read_manifest(document: Document, directory: Path) -> tuple[Manifest | None, list[ConfigError]]:
    """Return what is right of a manifest, and everything that is wrong with it; None if too little is right.

    Names that are missing or wrong are replaced, everything else that is wrong is left out: it is good for looking
    further, not for running.
    """
    if not isinstance(document.data, dict):
        detail = 'must hold an object such as {"name": …, "intents": […]}'
        return None, [*document.problems, document.problem((), detail)]
    file, options, problems = read_keys(document, directory=directory, check=_disagreements)
    return None if file is None else _manifest(document, file, options=options), problems


def _manifest(document: Document, file: ManifestFile, *, options: Any) -> Manifest:
    return Manifest(
        name=file.name,
        intents=tuple(_intent(document, file, index=index) for index in range(len(file.intents))),
        version=file.version,
        description=file.description,
        runtime=file.runtime,
        options=options,
        timeout=file.timeout,
        concurrency=file.concurrency,
        workers=Workers(**file.workers.model_dump()),
        summary=Summary(**file.summary.model_dump()),
        config=file.config,
        env=file.env,
        dependencies=file.dependencies,
        limits=ProcessLimits(**file.limits.model_dump()),
    )


def _is_short(document: Document, index: int) -> bool:
    return isinstance(document.at(("intents", index)), str)


def _intent(document: Document, file: ManifestFile, *, index: int) -> Intent:
    """Return one intent with what it takes from the top of the file and from `writes`."""
    written = file.intents[index]
    shared: ManifestFile | IntentFile = file if _is_short(document, index) else written
    confirm = shared.confirm
    if "confirm" not in shared.model_fields_set and shared.writes:
        confirm = ConfirmFile()
    return Intent(
        name=written.name,
        description=written.description or file.description,
        keywords=shared.keywords,
        priority=shared.priority,
        examples=written.examples,
        parameters=written.parameters,
        slots=written.slots,
        writes=shared.writes,
        idempotent=written.idempotent,
        confirm=None if confirm is None else Confirm(**confirm.model_dump()),
        ack=written.ack.model_dump(exclude_none=True),
    )


def _disagreements(document: Document, file: ManifestFile) -> list[ConfigError]:
    """Find what is right by itself and does not fit the rest of the manifest."""
    return [*_misplaced(document, file), *_repeated(document, file), *_slots(document, file)]


def _misplaced(document: Document, file: ManifestFile) -> list[ConfigError]:
    if any(_is_short(document, index) for index in range(len(file.intents))):
        return []
    return [
        document.problem(
            (key,), "belongs into an intent; only intents that are plain names take it from here"
        )
        for key in _SHARED
        if key in file.model_fields_set
    ]


def _repeated(document: Document, file: ManifestFile) -> list[ConfigError]:
    names = [intent.name for intent in file.intents]
    return [
        document.problem(("intents", index), f"the intent {name} is there twice; remove one")
        for index, name in enumerate(names)
        if name in names[:index]
    ]


def _slots(document: Document, file: ManifestFile) -> list[ConfigError]:
    """Find the groups that fill nothing: of all mistakes in a slot the easiest to make and the hardest to see."""
    problems = []
    for index, intent in enumerate(file.intents):
        known = (intent.parameters or {}).get("properties")
        if not isinstance(known, dict):
            continue
        for name, groups in Slots(intent.slots).groups.items():
            for group in sorted(groups - known.keys()):
                hint = f"the group {group} fills no parameter; known are {', '.join(known) or 'none'}"
                problems.append(document.problem(("intents", index, "slots", name), hint))
    return problems


def plugin_config(
    manifest: Manifest, raw: Mapping[str, Any], *, base_dir: Path, source: Document | None = None
) -> dict[str, Any]:
    """Return what the plugin gets as its config: `raw`, checked by the manifest, its paths made absolute.

    `raw` is the section `plugins.<name>` of hermes.yaml; text that was filled in there becomes a number or a boolean
    where the manifest asks for one. Paths start from `base_dir`. `source` gives errors their file and line. Raises
    ConfigError that names `plugins.<name>.<key>`.
    """
    where: KeyPath = ("plugins", manifest.name)
    document = source or Document()
    schema = Schema(manifest.config or {})
    options = {
        key: _option(value, schema.properties.get(key), base_dir=base_dir) for key, value in raw.items()
    }
    document.refuse(
        *(
            document.problem((*where, *problem.field.split(".")), problem.message)
            if problem.field
            else document.problem(where, "does not fit what the manifest asks for under config")
            for problem in schema.problems(options, shown=False)
        )
    )
    return options


def _option(value: Any, schema: Any, *, base_dir: Path) -> Any:
    """Return one value of a plugin's section as its part of the JSON Schema wants it."""
    known: Mapping[str, Any] = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        inner = known.get("properties")
        inner = inner if isinstance(inner, dict) else {}
        return {key: _option(item, inner.get(key), base_dir=base_dir) for key, item in value.items()}
    if isinstance(value, list):
        return [_option(item, known.get("items"), base_dir=base_dir) for item in value]
    if isinstance(value, str) and known.get("format") == "path":
        return str((base_dir / value).absolute())
    return converted(str(value), known) if isinstance(value, Substituted) else value
