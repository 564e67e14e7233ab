"""The JSON Schema of manifest.json, made from the models that check manifests; the daemon itself has no use for it."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from hermes.catalog import built_in, find
from hermes.host.manifests.manifest_file import LimitsFile, ManifestFile, ManifestSection
from hermes.host.manifests.manifest_keys import DEFAULT_RUNTIME, RUNTIMES, ManifestKeys


class _Published(GenerateJsonSchema):
    """Leaves out what says nothing to a reader: titles made from names, and defaults of null."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the base class gives it
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        published = super().default_schema(schema)
        if published.get("default", ...) is None:
            del published["default"]
        return published


def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema of manifest.json that is published in docs/.

    A runtime that is shipped has its keys in it. One from outside may have any: its author publishes them.
    """
    schema = _schema_of(ManifestFile)
    kinds = built_in(RUNTIMES)
    schema["allOf"] = [_branch(kind, definitions=schema["$defs"]) for kind in kinds]
    others = {"properties": {"runtime": {"not": {"enum": list(kinds)}}}, "required": ["runtime"]}
    schema["allOf"].append({"if": others, "then": {"additionalProperties": True}})
    del schema["additionalProperties"]  # which would not see what the branches allow
    schema["unevaluatedProperties"] = False
    return {"$schema": _Published.schema_dialect, **schema}


def _branch(kind: str, *, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return what a manifest of one runtime has beside the rest; what its parts refer to goes to the definitions."""
    keys: ManifestKeys = find(RUNTIMES, kind)()
    options = _schema_of(keys.options)
    definitions |= options.pop("$defs", {})
    missing = sorted(LimitsFile.model_fields.keys() - keys.limits)
    properties = options["properties"] | {"limits": {"properties": dict.fromkeys(missing, False)}}
    named: dict[str, Any] = {"properties": {"runtime": {"const": kind}}}
    if kind != DEFAULT_RUNTIME:
        named["required"] = ["runtime"]
    return {"if": named, "then": {"properties": properties, "required": options.get("required", [])}}


def _schema_of(model: type[ManifestSection]) -> dict[str, Any]:
    return model.model_json_schema(mode="validation", schema_generator=_Published)
