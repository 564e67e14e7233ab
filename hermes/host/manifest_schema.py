"""The JSON Schema of manifest.json, made from the model that checks manifests; the daemon itself has no use for it."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from hermes.host.manifest_file import ManifestFile


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
    """Return the JSON Schema of manifest.json that is published in docs/."""
    schema = ManifestFile.model_json_schema(mode="validation", schema_generator=_Published)
    return {"$schema": _Published.schema_dialect, **schema}
