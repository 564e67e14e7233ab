"""The search for a Python: what is taken, and what is said when there is none, with stand-ins on a path of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "python"


def search(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", SCRIPT],
        env={"PATH": str(path), **environment},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def old_python(path: Path, name: str) -> Path:
    file = path / name
    file.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit\nexit 1\n', "utf-8")
    file.chmod(0o755)
    return file


def test_an_old_python_is_passed_over_for_a_newer_one(tmp_path: Path) -> None:
    old_python(tmp_path, "python3")
    (tmp_path / "python3.11").symlink_to(sys.executable)
    found = search(tmp_path)
    assert (found.returncode, found.stdout) == (0, f"{tmp_path / 'python3.11'}\n")


def test_without_a_new_enough_python_it_says_what_is_there_and_what_to_do(tmp_path: Path) -> None:
    old_python(tmp_path, "python3")
    found = search(tmp_path)
    assert found.returncode == 1
    assert "Hermes needs Python 3.11 or newer; python3 here is Python 3.9.2." in found.stderr
    assert "make run PYTHON=" in found.stderr


def test_a_python_that_was_asked_for_is_taken_or_refused_but_never_replaced(tmp_path: Path) -> None:
    old = old_python(tmp_path, "mine")
    (tmp_path / "python3").symlink_to(sys.executable)
    refused = search(tmp_path, PYTHON=str(old))
    assert refused.returncode == 1
    assert f"PYTHON={old} is Python 3.9.2" in refused.stderr
    taken = search(tmp_path, PYTHON=sys.executable)
    assert (taken.returncode, taken.stdout) == (0, sys.executable + os.linesep)
