"""A manifest whose runtime comes from outside, and keys that stand in the wrong manifest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes.errors import ConfigError
from hermes.host.manifests.manifest import Manifest, load_manifest

COBOL = """
from hermes.host.manifests.manifest_file import ManifestSection

class Options(ManifestSection):
    copybook: str
    column: int = 7

class Cobol:
    options = Options
    limits = frozenset({"memory_mb"})

    def problems(self, document, options, *, directory):
        if (directory / options.copybook).exists():
            return []
        return [document.problem(("copybook",), f"there is no {options.copybook}")]
"""


@pytest.fixture(autouse=True)
def _cobol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runtimes that were installed beside Hermes; one of them lacks a package."""
    site = tmp_path / "site"
    info = site / "outside-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[hermes.host.runtimes]\ncobol = outside_cobol:Cobol\nlisp = outside_lisp:Lisp\n"
    )
    (site / "outside_cobol.py").write_text(COBOL)
    (site / "outside_lisp.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "outside_cobol", raising=False)


def load(folder: Path, **keys: Any) -> Manifest:
    (folder / "plugin.py").touch()
    manifest = {"name": "a", "intents": ["b"], **keys}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=0), encoding="utf-8")
    return load_manifest(folder)


def refusal(folder: Path, **keys: Any) -> list[tuple[str | None, str]]:
    with pytest.raises(ConfigError) as raised:
        load(folder, **keys)
    assert all(problem.line is not None for problem in raised.value.problems)
    return [(problem.key, problem.detail) for problem in raised.value.problems]


def test_a_runtime_from_outside_brings_its_own_keys_defaults_and_checks(tmp_path: Path) -> None:
    (tmp_path / "a.cpy").touch()
    manifest = load(tmp_path, runtime="cobol", copybook="a.cpy", limits={"memory_mb": 5})
    assert (manifest.options.copybook, manifest.options.column) == ("a.cpy", 7)
    assert refusal(tmp_path, runtime="cobol", copybook="b.cpy") == [("copybook", "there is no b.cpy")]
    assert refusal(tmp_path, runtime="cobol", column="7") == [
        ("copybook", "is required"),
        ("column", 'must be a whole number; it is "7"'),
    ]


def test_an_unknown_key_names_what_this_runtime_allows_and_the_nearest(tmp_path: Path) -> None:
    (only,) = refusal(tmp_path, entri="plugin:handle")
    assert only[0] == "entri"
    assert "did you mean entry? allowed here: $schema, concurrency, config," in only[1]
    assert "command" not in only[1]
    ((_, detail),) = refusal(tmp_path, runtime="http", http={"url": "http://a.example"}, htpp={})
    assert "did you mean http?" in detail
    assert "entry" not in detail


@pytest.mark.parametrize(
    ("keys", "key", "owners"),
    [
        ({"command": ["./x"]}, "command", "the runtimes executable and process"),
        ({"http": {}}, "http", "the runtime http"),
        ({"copybook": "x"}, "copybook", "the runtime cobol"),
        (
            {"runtime": "http", "http": {"url": "http://a.example"}, "entry": "a:b"},
            "entry",
            "the runtime python",
        ),
    ],
)
def test_a_key_of_another_runtime_says_whose_it_is(
    tmp_path: Path, keys: dict[str, Any], key: str, owners: str
) -> None:
    assert refusal(tmp_path, **keys) == [(key, f"belongs to {owners}; remove it, or set runtime")]


def test_a_limit_that_nobody_would_hold_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.cpy").touch()
    assert refusal(tmp_path, limits={"cpu_seconds": 5, "memory_mb": 5}) == [
        ("limits.cpu_seconds", "has no effect on the runtime python; it is for the runtime executable")
    ]
    assert refusal(
        tmp_path, runtime="http", http={"url": "http://a.example"}, limits={"memory_mb": 5, "processes": 5}
    ) == [
        (
            "limits.memory_mb",
            "has no effect on the runtime http; it is for the runtimes cobol, executable, process and python",
        ),
        (
            "limits.processes",
            "has no effect on the runtime http; it is for the runtimes executable, process and python",
        ),
    ]


def test_with_an_unknown_runtime_its_keys_are_let_through_and_others_are_not(tmp_path: Path) -> None:
    (runtime, color) = refusal(
        tmp_path, runtime="executabel", command=["./x"], color="red", limits={"cpu_seconds": 5}
    )
    assert runtime[0] == "runtime"
    assert "is not a known runtime; known are cobol, executable, http, lisp, process, python" in runtime[1]
    assert "did you mean executable?" in runtime[1]
    assert color[0] == "color"


def test_a_runtime_that_lacks_a_package_says_which(tmp_path: Path) -> None:
    ((key, detail),) = refusal(tmp_path, runtime="lisp")
    assert key == "runtime"
    assert "needs the Python package 'no_such_package'" in detail


def test_reading_a_manifest_of_http_does_not_import_its_client(tmp_path: Path) -> None:
    load(tmp_path, runtime="http", http={"url": "http://a.example"})
    code = (
        "import sys; from pathlib import Path; from hermes.host.manifests.manifest import load_manifest\n"
        "print(load_manifest(Path(sys.argv[1])).runtime, 'aiohttp' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "http False\n"
