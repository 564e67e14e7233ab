"""Where plugins are is known as long as the configuration says that much."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes.cli.configuration import find_plugins, plain
from hermes.errors import ConfigError


def found(home: Path, text: str, **environ: str) -> Path:
    (home / "hermes.yaml").write_text(text, encoding="utf-8")
    return find_plugins(home / "hermes.yaml", environ)


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("", "plugins"),
        ("hermes: {plugins_dir: 工具}\n", "工具"),
        ("hermes: {plugins_dir: '${WHERE}'}\n", "tools"),
        ("hermes: {plugins_dir: ./deep/../tools}\n", "tools"),
        ("hermes: {plugins_dir: tools, bind: nowhere}\nrouter: 5\n", "tools"),
        ("plugins: {a: {b: '${NOT_SET}'}}\n", "plugins"),
    ],
)
def test_the_folder_is_found_whatever_else_is_wrong(tmp_path: Path, text: str, folder: str) -> None:
    assert found(tmp_path, text, WHERE="./tools") == tmp_path / folder


@pytest.mark.parametrize(
    "text",
    ["hermes: 5\n", "hermes: {plugins_dir: 5}\n", "hermes: {plugins_dir: '${NOT_SET}'}\n", "- a\n", "{"],
)
def test_what_leaves_it_uncertain_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        found(tmp_path, text)


def test_a_file_that_was_named_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        find_plugins(tmp_path / "none.yaml", {})


def test_a_way_back_up_is_taken_from_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "deep" / "place").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "place")
    assert plain(tmp_path / "link" / ".." / "tools") == tmp_path / "deep" / "tools"
    assert plain(tmp_path / "link" / "tools") == tmp_path / "link" / "tools"
