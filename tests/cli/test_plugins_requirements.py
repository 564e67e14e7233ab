"""`hermes plugins requirements`: what an image has to hold, and what it lacks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hermes.cli.plugins.wanted import gather
from tests.cli.command import Hermes
from tests.support.daemon import furnish, write_plugin
from tests.support.installed import install


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages that the command finds installed."""
    site = tmp_path / "site"
    install(site, "left-pad", "1.5")
    install(site, "right-pad", "2.0")
    return site


def plugins(home: Path, **dependencies: list[str]) -> None:
    for name, wanted in dependencies.items():
        write_plugin(home, name, dependencies=wanted)


def conflicts(home: Path) -> list[list[str]]:
    return [[one.requirement.line for one in conflict] for conflict in gather(home / "plugins").conflicts]


def test_each_requirement_is_a_line_once_with_the_plugins_that_want_it(
    lonely: Hermes, tmp_path: Path
) -> None:
    plugins(
        tmp_path,
        b=["Left_Pad >= 1", "right-pad[x]; python_version >= '3'"],
        a=["left-pad>=1", "left-pad<3"],
        c=[],
    )
    done = lonely("plugins", "requirements")
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        "left-pad<3  # a",
        "left-pad>=1  # a, b",
        'right-pad[x]; python_version >= "3"  # b',
    ]


def test_plugins_without_dependencies_want_nothing(lonely: Hermes, tmp_path: Path) -> None:
    assert lonely("plugins", "requirements").lines == []
    furnish(tmp_path)
    write_plugin(tmp_path, "plain")
    done = lonely("plugins", "requirements")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = lonely("plugins", "requirements", "--check")
    assert (done.code, done.lines) == (0, ["ok: 0 met"])


def test_the_folder_is_that_of_the_configuration_also_where_that_is_wrong_elsewhere(
    lonely: Hermes, tmp_path: Path
) -> None:
    plugins(tmp_path / "deep", a=["left-pad"])
    (tmp_path / "deep" / "other.yaml").write_text("router: {min_confidence: 3}\nauth: '${NOT_SET}'\n")
    done = lonely("plugins", "requirements", "-c", "deep/other.yaml")
    assert (done.code, done.lines) == (0, ["left-pad  # a"])
    (tmp_path / "deep" / "other.yaml").write_text("hermes: {plugins_dir: 5}\n")
    done = lonely("plugins", "requirements", "-c", "deep/other.yaml")
    assert (done.code, done.out) == (1, "")
    assert "hermes.plugins_dir: must be the path of a folder" in done.err


def test_plugins_that_are_wrong_otherwise_are_told_on_stderr_and_still_counted(
    lonely: Hermes, tmp_path: Path
) -> None:
    plugins(tmp_path, a=["left-pad"])
    write_plugin(tmp_path, "late", timeout=-1, dependencies=["right-pad", "no such", "right-pad"])
    (write_plugin(tmp_path, "torn") / "manifest.json").write_text('{"dependencies": ["lost"')
    (write_plugin(tmp_path, "odd") / "manifest.json").write_text('{"dependencies": {"a": 1}}')
    done = lonely("plugins", "requirements")
    assert (done.code, done.lines) == (0, ["left-pad  # a", "right-pad  # late"])
    assert [line.split(": ")[:2] for line in done.err.splitlines()] == [
        ["plugins/late/manifest.json:1", "timeout"],
        ["plugins/late/manifest.json:1", "dependencies[1]"],
        ["plugins/odd/manifest.json:1", "name"],
        ["plugins/odd/manifest.json:1", "intents"],
        ["plugins/odd/manifest.json:1", "dependencies"],
        ["plugins/torn/manifest.json:1", "warning"],
    ]


def test_no_name_can_make_a_line_of_its_own(lonely: Hermes, tmp_path: Path) -> None:
    folder = write_plugin(tmp_path, "evil")
    manifest = {"name": "x\n--index-url there", "dependencies": ["left-pad", "right-pad @ file:///a\n-r b"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    done = lonely("plugins", "requirements")
    assert done.lines == ["left-pad  # x --index-url there"]


def test_wishes_that_no_version_meets_are_reported_with_who_has_them(lonely: Hermes, tmp_path: Path) -> None:
    plugins(tmp_path, a=["left-pad==1.5"], b=["Left-Pad>=2"], c=["right-pad"])
    done = lonely("plugins", "requirements")
    assert done.code == 1
    assert done.lines == ["left-pad==1.5  # a", "left-pad>=2  # b", "right-pad  # c"]
    assert done.err == "no version is right for all: left-pad==1.5 (a); left-pad>=2 (b)\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("p>=1", "p<3"),
        ("p>1", "p<1.1"),
        ("p~=1.4", "p!=1.4"),
        ("p==1.*", "p>=1.2"),
        ("p<1", "p!=0"),
        ("p>=1!2", "p<1!3"),
        ("p==2; python_version < '3'", "p==1"),
        ("p===own", "p>=3"),
        ("p", "p==3rc1"),
    ],
)
def test_wishes_that_a_version_meets_are_no_conflict(tmp_path: Path, first: str, second: str) -> None:
    plugins(tmp_path, a=[first], b=[second])
    assert conflicts(tmp_path) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("p==1", "p==2"),
        ("p<2", "p>=2"),
        ("p~=1.4", "p>=2"),
        ("p==1.*", "p<1"),
        ("p!=1", "p==1"),
        ("p>2", "p<2"),
    ],
)
def test_wishes_that_no_version_meets_are_found(tmp_path: Path, first: str, second: str) -> None:
    plugins(tmp_path, a=[first], b=[second])
    assert conflicts(tmp_path) == [sorted([first, second])]


def test_a_check_tells_what_is_not_installed_or_is_another_version(
    lonely: Hermes, tmp_path: Path, site: Path
) -> None:
    plugins(tmp_path, a=["left-pad>=2", "right-pad", "none; python_version < '3'"], b=["mid-pad"])
    done = lonely("plugins", "requirements", "--check", PYTHONPATH=str(site))
    assert done.code == 1
    assert done.lines == [
        "a: left-pad>=2 is wanted, but 1.5 is installed",
        "b: mid-pad is not installed",
    ]
    assert done.err == "what installs it: python -m pip install 'left-pad>=2' mid-pad\n"


def test_a_check_of_what_is_met_ends_well(lonely: Hermes, tmp_path: Path, site: Path) -> None:
    plugins(tmp_path, a=["left-pad>=1", "right-pad"], b=["left-pad>=1"])
    done = lonely("plugins", "requirements", "--check", PYTHONPATH=str(site))
    assert (done.code, done.lines, done.err) == (0, ["ok: 2 met"], "")


def test_a_check_against_a_lock_looks_at_its_pins_alone(lonely: Hermes, tmp_path: Path, site: Path) -> None:
    plugins(tmp_path, a=["left-pad>=1", "right-pad>=3"], b=["mid-pad"])
    (tmp_path / "some.lock").write_text(
        "# made by hand\n"
        "left-pad==1.0 \\\n    --hash=sha256:00\n    # via a\n"
        "left-pad==9.0 ; python_version < '3' \\\n    --hash=sha256:01\n"
        "Right_Pad==2.5\n"
    )
    done = lonely("plugins", "requirements", "--check", "--lock", "some.lock", PYTHONPATH=str(site))
    assert done.code == 1
    assert done.lines == [
        "b: mid-pad is not in some.lock",
        "a: right-pad>=3 is wanted, but 2.5 is in some.lock",
    ]


def test_json_has_the_same_for_scripts(lonely: Hermes, tmp_path: Path, site: Path) -> None:
    plugins(tmp_path, a=["left-pad>=2"], b=["right-pad", "left-pad==1"])
    done = lonely("plugins", "requirements", "--check", "--json", PYTHONPATH=str(site))
    found = json.loads(done.out)
    assert done.code == 1
    assert [(one["requirement"], one["plugins"], one["met"]) for one in found["requirements"]] == [
        ("left-pad==1", ["b"], False),
        ("left-pad>=2", ["a"], False),
        ("right-pad", ["b"], True),
    ]
    assert found["conflicts"] == [["left-pad==1", "left-pad>=2"]]
    assert [one["detail"] for one in found["lacking"]] == [
        "left-pad==1 is wanted, but 1.5 is installed",
        "left-pad>=2 is wanted, but 1.5 is installed",
    ]


def test_a_lock_is_for_a_check(lonely: Hermes) -> None:
    done = lonely("plugins", "requirements", "--lock", os.devnull)
    assert (done.code, done.out) == (2, "")
    assert "--lock says what to --check against; give both" in done.err
