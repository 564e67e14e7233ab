"""Writes docs/manifest.schema.json from the model that Hermes itself checks manifests with."""

import json
from pathlib import Path

from hermes.host.manifests.manifest_schema import manifest_schema

if __name__ == "__main__":
    target = Path(__file__).parent.parent / "docs" / "manifest.schema.json"
    target.write_text(json.dumps(manifest_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
