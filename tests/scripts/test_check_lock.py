"""The lock is told apart from one that no longer fits pyproject.toml: through the scripts as `make check` runs them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def run(project: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / "scripts" / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


def edit(file: Path, *, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_the_lock_of_this_tree_fits(project: Path) -> None:
    checked = run(project, "check_lock.py")
    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_dependency_that_is_not_locked_is_named(project: Path) -> None:
    edit(project / "pyproject.toml", old="dependencies = [", new='dependencies = [\n    "left-out>=2",')
    checked = run(project, "check_lock.py")
    assert checked.returncode == 1
    assert "left-out>=2 is asked for, but the lock has none" in checked.stderr


def test_a_pin_below_what_is_asked_for_is_named(project: Path) -> None:
    edit(project / "pyproject.toml", old='"click>=8.1"', new='"click>=1000"')
    assert "click>=1000 is asked for, but the lock has " in run(project, "check_lock.py").stderr


def test_a_pin_that_misses_a_promised_platform_is_named(project: Path) -> None:
    edit(
        project / "requirements.lock",
        old=" ; sys_platform != 'win32' \\\n",
        new=" ; sys_platform == 'linux' \\\n",
    )
    checked = run(project, "check_lock.py")
    assert checked.returncode == 1
    assert "(darwin arm64, Python 3.11)" in checked.stderr


def test_a_pin_that_nothing_asks_for_is_named(project: Path) -> None:
    with (project / "requirements.lock").open("a", encoding="utf-8") as lock:
        lock.write("stowaway==1.0 \\\n    --hash=sha256:00\n    # via nobody\n")
    assert "stowaway is locked, but nothing asks for it" in run(project, "check_lock.py").stderr


@pytest.mark.parametrize("line", ["--index-url there", "click @ file:///there", "click>=8"])
def test_anything_but_a_pin_is_refused(project: Path, line: str) -> None:
    with (project / "requirements.lock").open("a", encoding="utf-8") as lock:
        lock.write(line + "\n")
    for script in ("check_lock.py", "lockfile.py"):
        refused = run(project, script, *(["project"] if script == "lockfile.py" else []))
        assert refused.returncode == 1
        assert f"{line!r} is no pin" in refused.stderr


def test_a_part_holds_what_it_pulls_in_with_hashes_and_nothing_of_the_other_parts(project: Path) -> None:
    picked = run(project, "lockfile.py", "project")
    assert picked.returncode == 0
    pins = [block.split("==")[0] for block in picked.stdout.split("\n") if "==" in block]
    assert {"pydantic", "pydantic-core", "starlette", "anyio"} <= set(pins)
    assert not {"pytest", "ruff", "hatchling", "mypy"} & set(pins)
    assert picked.stdout.count("--hash=sha256:") >= len(pins)


def test_an_unknown_part_is_refused_with_the_known_ones(project: Path) -> None:
    refused = run(project, "lockfile.py", "nonsense")
    assert refused.returncode == 1
    assert "no part named nonsense; there are build, dev, extras, learn, project" in refused.stderr
