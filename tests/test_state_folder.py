"""One daemon a state folder, whatever name it is reached by and whatever is removed from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes.errors import StartError
from hermes.state_folder import StateFolder


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with StateFolder(folder):
        for file in folder.iterdir():
            file.unlink()
        (tmp_path / "link").symlink_to(folder)
        for name in ("state", "link"):
            with pytest.raises(StartError, match="another Hermes uses"), StateFolder(tmp_path / name):
                pass
    with StateFolder(folder):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_what_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match=r"hermes\.state_dir"), StateFolder(tmp_path / "file"):
        pass
