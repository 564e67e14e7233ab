from __future__ import annotations

from pathlib import Path

import pytest

from hermes.host.files.spots import Around, Linked, Tree, find_spots

FOLDER = Path("/etc/hermes/plugins")
CONFIG = Path("/etc/hermes/hermes.yaml")
TREE = Tree(str(FOLDER), FOLDER)
LINKED = Linked("/srv/a", frozenset({FOLDER / "a", FOLDER / "b"}))
AROUND = Around("/etc/hermes", frozenset({("plugins", FOLDER), ("hermes.yaml", CONFIG)}), FOLDER)
CONFIG_ALONE = Around("/etc/hermes", frozenset({("hermes.yaml", CONFIG)}), FOLDER)


@pytest.mark.parametrize("path", ["磁盘", "磁盘/plugin.py", "磁盘/lib/深/x.py"])
def test_what_happens_in_the_tree_is_told_by_entry(path: str) -> None:
    assert TREE.touched(path.split("/")) == frozenset({FOLDER / "磁盘"})


@pytest.mark.parametrize(
    "path",
    ["a/__pycache__/x.pyc", ".git", ".git/x.py", "a/.git/HEAD", "a/x.py~", "a/lib/x.log", "a/.x.py.swp"],
)
def test_what_does_not_count_on_any_level_is_nothing(path: str) -> None:
    assert TREE.touched(path.split("/")) == frozenset()
    assert LINKED.touched(path.split("/")) == frozenset()


@pytest.mark.parametrize(
    "path", ["..data", "..2026_10_01", "a/..data", "a/..2026_10_01/manifest.json", "..data_tmp"]
)
def test_a_swap_of_folders_may_have_changed_everything(path: str) -> None:
    assert TREE.touched(path.split("/")) is None


@pytest.mark.parametrize("path", ["a/..env.swp", "a/lib/..data", "..env~"])
def test_names_with_two_dots_that_swap_nothing_are_nothing(path: str) -> None:
    assert TREE.touched(path.split("/")) == frozenset()


def test_the_watched_folder_itself_is_everything() -> None:
    assert TREE.touched(()) is LINKED.touched(()) is AROUND.touched(()) is None


def test_what_happens_behind_a_link_is_told_by_all_entries_that_lead_there() -> None:
    assert LINKED.touched(["plugin.py"]) == frozenset({FOLDER / "a", FOLDER / "b"})
    assert LINKED.touched(["..data"]) is None


def test_around_the_watched_only_their_names_are_told() -> None:
    assert AROUND.touched(["hermes.yaml"]) == frozenset({CONFIG})
    assert AROUND.touched(["hermes.log"]) == AROUND.touched([".hermes"]) == frozenset()
    assert AROUND.touched(["plugins"]) is None
    assert CONFIG_ALONE.touched(["..data"]) == frozenset({CONFIG})
    assert AROUND.touched(["..data"]) is None


def test_linked_entries_are_found_at_their_real_places(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "plugins", tmp_path / "elsewhere"
    for path in (folder / "plain", elsewhere / "a", elsewhere / ".hidden"):
        path.mkdir(parents=True)
    for name, target in {
        "one": "../elsewhere/a",
        "two": "one",
        "gone": "nowhere",
        "round": "round",
        "self": ".",
        "above": "..",
        ".x": "../elsewhere/.hidden",
    }.items():
        (folder / name).symlink_to(target)
    linked = [spot for spot in find_spots(folder, ()) if isinstance(spot, Linked)]
    assert linked == [Linked(str(elsewhere / "a"), frozenset({folder / "one", folder / "two"}))]


def test_a_linked_folder_and_a_linked_file_are_looked_for_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "real" / "plugins").mkdir(parents=True)
    (tmp_path / "real" / "config").mkdir()
    (tmp_path / "folder").symlink_to("real/plugins")
    (tmp_path / "hermes.yaml").symlink_to("real/config/v1.yaml")
    folder, file = tmp_path / "folder", tmp_path / "hermes.yaml"
    assert find_spots(folder, [file]) == [
        Tree(str(tmp_path / "real" / "plugins"), folder),
        Around(str(tmp_path), frozenset({("folder", folder), ("hermes.yaml", file)}), folder),
        Around(str(tmp_path / "real"), frozenset({("plugins", folder)}), folder),
        Around(str(tmp_path / "real" / "config"), frozenset({("v1.yaml", file)}), folder),
    ]


def test_what_is_not_there_is_not_watched(tmp_path: Path) -> None:
    assert find_spots(tmp_path / "a" / "plugins", [tmp_path / "b" / "hermes.yaml"]) == []
    folder = tmp_path / "plugins"
    assert find_spots(folder, []) == [Around(str(tmp_path), frozenset({("plugins", folder)}), folder)]
