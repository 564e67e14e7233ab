"""The image gets what its plugins name, on top of what Hermes runs on and without changing that; nothing is fetched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.support.daemon import write_plugin

ROOT = Path(__file__).resolve().parents[2]


def wheel(shelf: Path, name: str, version: str) -> None:
    """Put a package that has nothing but a name on a shelf that pip takes from."""
    shelf.mkdir(exist_ok=True)
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    with zipfile.ZipFile(shelf / f"{module}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{module}.py", f"VERSION = {version!r}\n")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(
            f"{info}/RECORD", f"{module}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n"
        )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a layer that has Hermes and its packages, as the first two steps leave it."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    layer = tmp_path / "layer"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", layer], check=True)
    (site,) = layer.glob("lib/python*/site-packages")
    (site / "all.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    command = layer / "bin" / "hermes"
    command.write_text(f'#!/bin/sh\nexec "{layer}/bin/python" -m hermes "$@"\n')
    command.chmod(0o755)
    wheel(tmp_path / "shelf", "left-pad", "1.5")
    wheel(tmp_path / "shelf", "click", "1000.0")
    return tmp_path


def build(project: Path) -> subprocess.CompletedProcess[str]:
    """Run the step that the Dockerfile runs for plugins."""
    return subprocess.run(
        [project / "scripts" / "layer", "plugins", project / "layer"],
        env=os.environ
        | {"PYTHON": sys.executable, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(project / "shelf")},
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )


def installed(project: Path) -> list[str]:
    (site,) = (project / "layer").glob("lib/python*/site-packages")
    return sorted(path.name for path in site.glob("*.dist-info"))


def test_what_plugins_name_is_installed_into_the_layer(project: Path) -> None:
    write_plugin(project, "a", dependencies=["left-pad>=1", "click>=8"])
    write_plugin(project, "b", dependencies=["left-pad<2"])
    built = build(project)
    assert built.returncode == 0, built.stderr
    assert built.stdout == "ok: 3 met\n"
    assert installed(project) == ["left_pad-1.5.dist-info"]


def test_a_wish_for_another_version_of_what_hermes_runs_on_ends_the_build(project: Path) -> None:
    write_plugin(project, "a", dependencies=["left-pad", "click>=1000"])
    built = build(project)
    assert built.returncode != 0
    assert "click" in built.stderr
    assert installed(project) == []


def test_wishes_that_contradict_each_other_end_the_build_with_who_has_them(project: Path) -> None:
    write_plugin(project, "a", dependencies=["left-pad==1.5"])
    write_plugin(project, "b", dependencies=["left-pad>=2"])
    built = build(project)
    assert built.returncode != 0
    assert "no version is right for all: left-pad==1.5 (a); left-pad>=2 (b)" in built.stderr


def test_without_wishes_nothing_is_done(project: Path) -> None:
    write_plugin(project, "a")
    built = build(project)
    assert (built.returncode, built.stdout, installed(project)) == (0, "", [])


def test_the_image_is_built_with_the_plugins_it_ships() -> None:
    steps = [
        line for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines() if line[:4] in ("COPY", "RUN ")
    ]
    order = [
        "RUN scripts/layer packages /opt/hermes",
        "RUN scripts/layer hermes /opt/hermes",
        "COPY plugins plugins",
        "RUN scripts/layer plugins /opt/hermes",
        "COPY --from=build /opt/hermes /opt/hermes",
    ]
    assert [step for step in steps if step in order] == order
