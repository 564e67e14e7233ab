"""Makes the folder of a new plugin from a template, a folder of files each; `templates/` holds one for each kind."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from hermes.config.json_file import read_json
from hermes.errors import ConfigError
from hermes.host.folders import plugin_folders
from hermes.host.manifests.manifest import MANIFEST_FILE
from hermes.host.manifests.manifest_schema import manifest_schema
from hermes.values import value

SCHEMA_FILE = "manifest.schema.json"
_SUFFIX = ".template"
_TEST = "test_plugin"  # of a template; what is made is called after the plugin


@value
class Made:
    """The names of the files in a new folder, sorted, and the schema beside the folder if that was written too."""

    names: list[str]
    schema: Path | None


def kinds() -> list[str]:
    """Return the names of the templates, sorted."""
    return sorted(one.name for one in _templates().iterdir() if one.is_dir())


def owner(name: str, parent: Path) -> Path | None:
    """Return the folder in `parent` whose plugin has a name already, or None."""
    for directory in plugin_folders(parent):
        try:
            data = read_json(directory / MANIFEST_FILE).data
        except (ConfigError, OSError):
            continue
        if isinstance(data, dict) and data.get("name") == name:
            return directory
    return None


def scaffold(name: str, parent: Path, *, kind: str, url: str) -> Made:
    """Make the folder `name` in `parent`, which is made too; `url` is where the daemon listens.

    It is there in one step, whole: a daemon that watches `parent` never sees half of it. The JSON Schema that the
    manifest names lies beside it. Raises FileExistsError if there is something of this name, and OSError.
    """
    target = parent / name
    if os.path.lexists(target):
        raise FileExistsError(f"{target} is there already")
    parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=parent))  # what is hidden is no plugin
    try:
        names = [_write(one, made, name=name, url=url) for one in (_templates() / kind).iterdir()]
        made.chmod(0o755)
        new_schema = _write_schema(parent / SCHEMA_FILE)
        made.rename(target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return Made(sorted(names), parent / SCHEMA_FILE if new_schema else None)


def _templates() -> Traversable:
    return files("hermes.cli.plugins") / "templates"


def _write(template: Traversable, folder: Path, *, name: str, url: str) -> str:
    text = template.read_text("utf-8").replace("{{name}}", name).replace("{{url}}", url)
    text = text.replace("{{words}}", name.replace("-", " ").replace("_", " ").strip())
    # pytest wants modules of different names: the tests of two plugins are to run together.
    own_test = f"test_{name.replace('-', '_')}"
    file = folder / template.name.removesuffix(_SUFFIX).replace(_TEST, own_test)
    if file.suffix == ".json":
        # A keyword that the plugin's name makes may be one that is there already, and keys stand once.
        text = _json(json.loads(text))
    file.write_text(text, encoding="utf-8", newline="\n")
    if text.startswith("#!"):
        file.chmod(0o755)
    return file.name


def _write_schema(file: Path) -> bool:
    """Keep the schema as this version has it, and say whether it was written.

    Another file of this name, which is somebody's own, stays as it is.
    """
    schema = manifest_schema()
    if file.exists():
        try:
            there = read_json(file).data
        except ConfigError:
            return False
        if there == schema or not isinstance(there, dict) or there.get("title") != schema.get("title"):
            return False
    file.write_text(_json(schema), encoding="utf-8", newline="\n")
    return True


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
