"""manifest.json as its author may write it, short forms included; what Hermes works with is in manifest.py."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from hermes.catalog import built_in, known
from hermes.config.validation import InvalidPart, Section
from hermes.host.manifests.dependencies import readable
from hermes.host.manifests.schema import Schema
from hermes.host.manifests.slots import Slots

DEFAULT_WEIGHT: Final = 0.8


class ManifestSection(Section):
    """Base of the parts of a manifest: the docstrings of the fields go into the published JSON Schema."""

    model_config = ConfigDict(use_attribute_docstrings=True)


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _weight(value: float) -> float:
    if value == 0:
        raise ValueError("must not be 0")
    return value


def _weighted(value: Any) -> Any:
    """Give each keyword of a plain list the usual weight."""
    if not isinstance(value, list):
        return value
    for index, keyword in enumerate(value):
        if not isinstance(keyword, str):
            raise InvalidPart("must be text", (index,))
    return dict.fromkeys(value, DEFAULT_WEIGHT)


def _no_blank(value: dict[str, float]) -> dict[str, float]:
    for keyword in value:
        if not keyword.strip():
            raise InvalidPart("must not be blank", (keyword,))
    return value


def _schema(value: dict[str, Any]) -> dict[str, Any]:
    if value.get("type", "object") != "object":
        raise InvalidPart('must be "object": a payload and a config are always objects', ("type",))
    Schema(value)
    return value


def _slots(value: dict[str, str]) -> dict[str, str]:
    Slots(value)
    return value


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _confirm(value: Any) -> Any:
    if isinstance(value, bool):
        return {} if value else None
    if not isinstance(value, dict):
        raise InvalidPart('must be true, false or {"by": […], "other_than_asker": …, "expires": …}')
    return value


def _workers(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if value < 1:
        raise ValueError('must be at least 1; a pool that may be empty is {"min": 0, "max": …}')
    return {"min": value, "max": value}


def _runtime(value: str) -> str:
    if value in built_in("host.runtimes"):  # to look for others means to look at every installed package
        return value
    runtimes = known("host.runtimes")
    if value not in runtimes:
        near = difflib.get_close_matches(value, runtimes, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"is not a known runtime; known are {', '.join(runtimes)}{hint}")
    return value


Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
IntentName = Annotated[str, Field(pattern=r"^[^\s/*]{1,128}$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed, json_schema_input_type=list[Text])]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=31_536_000)]  # at most a year
Weight = Annotated[
    float, Field(ge=-1, le=1, json_schema_extra={"not": {"const": 0}}), AfterValidator(_weight)
]
Keywords = Annotated[
    dict[str, Weight],
    BeforeValidator(_weighted, json_schema_input_type=list[Text] | dict[str, Weight]),
    AfterValidator(_no_blank),
]
JsonSchema = Annotated[dict[str, Any], AfterValidator(_schema)]
SlotPatterns = Annotated[dict[str, str], AfterValidator(_slots)]


class ConfirmFile(ManifestSection):
    """Who has to agree before a call runs."""

    by: Texts = ()
    """Persons or scopes that may confirm; empty: the asker or an admin."""
    other_than_asker: bool = False
    """Whether the asker may not confirm."""
    expires: Seconds = 600.0
    """Seconds until a call that nobody confirmed is given up."""


class WorkersFile(ManifestSection):
    """How many processes serve the plugin."""

    min: Annotated[int, Field(ge=0)] = 1
    """Workers that are kept even when idle."""
    max: Count = Field(default_factory=lambda workers: max(1, workers.get("min", 1)))
    """Workers at the most."""
    idle_stop: Seconds = 600.0
    """Seconds after which an idle worker beyond `min` is stopped."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max < self.min:
            raise InvalidPart("must not be below min", ("max",))
        return self


class SummaryFile(ManifestSection):
    """What of a result goes into its digest."""

    fields: Texts = ()
    """Fields to keep, in this order; empty: all."""
    max_chars: Count = 1200
    """Characters at the most."""


class LimitsFile(ManifestSection):
    """What a plugin's processes may use; no limit where nothing is given. Which of them there are is the runtime's to say."""

    memory_mb: Count | None = None
    """Memory of one worker, in MiB."""
    open_files: Count | None = None
    """Files that a process may have open."""
    processes: Count | None = None
    """Processes that one worker may have, its own included."""
    cpu_seconds: Count | None = None
    """Seconds of processor time that one call may use."""


class AckFile(ManifestSection):
    """What to tell the asker at once; `{name}` stands for a parameter."""

    zh: Text | None = None
    en: Text | None = None


Confirmation = Annotated[
    ConfirmFile | None, BeforeValidator(_confirm, json_schema_input_type=bool | ConfirmFile)
]


class IntentFile(ManifestSection):
    """Something that the plugin can be asked for."""

    name: IntentName
    """Unique among all plugins, such as ci.pipeline.status."""
    description: str = ""
    """One sentence for people and models; the plugin's own if left out."""
    keywords: Keywords = Field(default_factory=dict)
    """Words with weights: 0 < w <= 1 speaks for this intent, a negative one against it; a plain list weighs 0.8."""
    priority: int = 0
    """Settles a tie: the strictly higher one wins."""
    examples: Texts = ()
    """What people say when they mean this."""
    parameters: JsonSchema | None = None
    """JSON Schema of the payload."""
    slots: SlotPatterns = Field(default_factory=dict)
    """RE2 patterns whose named groups fill parameters from the text."""
    writes: bool = False
    """Whether a call changes something outside."""
    idempotent: bool = False
    """Whether a call may safely be run again."""
    confirm: Confirmation = None
    """Whether somebody has to agree first; as `writes` if left out."""
    ack: AckFile = Field(default_factory=AckFile)
    """What the asker is told at once."""


class ManifestFile(ManifestSection):
    """The manifest of a Hermes plugin, but for the keys that only its runtime has."""

    schema_: str | None = Field(default=None, alias="$schema")
    """Where an editor finds this schema; Hermes does not read it."""
    name: Name
    """The plugin's name, unique among all plugins."""
    version: Annotated[str, Field(min_length=1, max_length=64)] = "0.0.0"
    description: str = ""
    """One sentence on what the plugin is for."""
    runtime: Annotated[str, AfterValidator(_runtime)] = "python"
    """How the plugin is run: python, executable, process, http, or one that was installed."""
    intents: Annotated[
        tuple[Annotated[IntentFile, BeforeValidator(_named)], ...],
        Field(min_length=1),
        BeforeValidator(
            _listed, json_schema_input_type=Annotated[list[IntentName | IntentFile], Field(min_length=1)]
        ),
    ]
    """What the plugin can be asked for; a plain name takes keywords, priority, writes and confirm from below."""
    keywords: Keywords = Field(default_factory=dict)
    priority: int = 0
    writes: bool = False
    confirm: Confirmation = None
    timeout: Seconds | None = None
    """Seconds a call may take; hermes.default_timeout if left out."""
    concurrency: Count = 4
    """Calls that one worker takes at the same time."""
    workers: Annotated[WorkersFile, BeforeValidator(_workers, json_schema_input_type=Count | WorkersFile)] = (
        Field(default_factory=WorkersFile)
    )
    summary: SummaryFile = Field(default_factory=SummaryFile)
    config: JsonSchema | None = None
    """JSON Schema of the plugin's section in hermes.yaml; "format": "path" marks a path beside that file."""
    env: Annotated[tuple[Variable, ...], BeforeValidator(_listed)] = ()
    """Environment variables that the plugin needs; no other is handed on."""
    dependencies: Annotated[Texts, AfterValidator(readable)] = ()
    """Python packages that the plugin needs, as pip names them."""
    limits: LimitsFile = Field(default_factory=LimitsFile)
