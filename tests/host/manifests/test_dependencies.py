"""A plugin is taken in only with the packages it names, and one that names none costs nothing to ask."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.config.document import Document
from hermes.config.json_file import read_json
from hermes.errors import ConfigError
from hermes.host.manifests.dependencies import missing, require
from hermes.host.manifests.manifest import load_manifest
from hermes.host.plugin import Places, load_plugin
from tests.support.installed import install

MANIFEST = """\
{
  "name": "needy",
  "intents": ["needy"],
  "dependencies": [
    %s
  ]
}
"""


def write(folder: Path, *dependencies: str) -> Path:
    file = folder / "manifest.json"
    listed = ",\n    ".join(json.dumps(one, ensure_ascii=False) for one in dependencies)
    file.write_text(MANIFEST % listed, encoding="utf-8")
    (folder / "plugin.py").touch()
    return file


def places(home: Path) -> Places:
    return Places(
        plugins_dir=home, state_dir=home, base_dir=home, configs={}, environment={}, source=Document()
    )


def refused(folder: Path) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        load_plugin(folder, places(folder))
    return [f"{one.line} {one.key}: {one.detail}" for one in raised.value.problems]


def test_every_package_that_lacks_is_told_with_its_line_and_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    install(tmp_path / "site", "right-pad", "1.5")
    write(
        tmp_path, "left-pad", "pytest", 'Right_Pad[x]>=2; python_version > "3"', "none; python_version < '3'"
    )
    assert refused(tmp_path) == [
        (
            "5 dependencies[0]: left-pad is not installed; install it for the Python that Hermes runs on: "
            "python -m pip install left-pad (in the image: hermes plugins requirements), then have the plugin reloaded"
        ),
        (
            "7 dependencies[2]: right-pad[x]>=2 is wanted, but 1.5 is installed; install it for the Python that Hermes "
            "runs on: python -m pip install 'right-pad[x]>=2' (in the image: hermes plugins requirements), then have the plugin reloaded"
        ),
    ]


def test_a_plugin_is_taken_in_once_its_package_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    write(tmp_path, "left-pad>=1")
    assert len(refused(tmp_path)) == 1
    install(tmp_path / "site", "left-pad", "1.0")
    assert load_plugin(tmp_path, places(tmp_path)).manifest.dependencies == ("left-pad>=1",)


def test_a_requirement_that_cannot_be_read_is_a_problem_of_the_manifest(tmp_path: Path) -> None:
    write(tmp_path, "pytest", "请求>=2")
    with pytest.raises(ConfigError) as raised:
        load_manifest(tmp_path)
    (problem,) = raised.value.problems
    assert (problem.line, problem.key) == (6, "dependencies[1]")
    assert problem.detail.startswith("is not a requirement such as requests>=2: ")


def test_requirements_that_cannot_be_read_are_not_told_as_missing_too(tmp_path: Path) -> None:
    file = write(tmp_path, "a b", "left-pad")
    assert [one.key for one in missing(["a b", "left-pad"], read_json(file))] == ["dependencies[1]"]


def test_nothing_is_raised_if_nothing_lacks(tmp_path: Path) -> None:
    require(["pytest", "left-pad; python_version < '3'"], tmp_path / "not even read")


def test_what_reads_requirements_is_imported_only_for_a_plugin_that_has_some(tmp_path: Path) -> None:
    write(tmp_path)
    code = (
        "import sys; from pathlib import Path; from hermes.host.manifests.manifest import load_manifest;"
        f"load_manifest(Path({str(tmp_path)!r})); print('packaging' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
    write(tmp_path, "pytest")
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"
