"""Requirements of plugins are read as pip reads them, and held against what is installed at this moment."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hermes.host.manifests.requirement import Requirement
from tests.support.installed import install


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def lacks(text: str) -> list[str]:
    return [lack.told() for lack in Requirement(text).lacks()]


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("left-pad", "left-pad", "left-pad"),
        ("Left_Pad >= 2 , < 3", "left-pad", "left-pad<3,>=2"),
        ("left.pad[b, A]==1.*", "left-pad", "left-pad[A,b]==1.*"),
        ("left-pad~=1.2;python_version<'3'", "left-pad", 'left-pad~=1.2; python_version < "3"'),
        (
            "left-pad @ file:///shared/left.whl ; python_version >= '3'",
            "left-pad",
            'left-pad @ file:///shared/left.whl ; python_version >= "3"',
        ),
    ],
)
def test_a_requirement_has_one_name_and_one_line_however_it_is_written(
    text: str, name: str, line: str
) -> None:
    requirement = Requirement(text)
    assert (requirement.name, requirement.line) == (name, line)
    assert Requirement(line).line == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-r other.txt",
        "--index-url there",
        "git+https://host/left-pad",
        "left pad",
        "left-pad>>1",
        "left-pad>=1\n--index-url there",
        "left-pad @ file:///x\n--index-url=there",
        "左边",
        "left-pad; mood == 'good'",
    ],
)
def test_what_is_no_single_requirement_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a requirement such as requests>=2: "):
        Requirement(text)


def test_a_package_that_is_not_there_is_told_with_what_is_wanted() -> None:
    assert lacks("left-pad[fast]>=2") == ["left-pad[fast]>=2 is not installed"]


@pytest.mark.parametrize(
    "wanted", ["left-pad", "LEFT.PAD>=1", "left_pad==1.5", "left-pad~=1.4", "left-pad<1.5.1"]
)
def test_a_version_that_fits_is_not_told(site: Path, wanted: str) -> None:
    install(site, "Left-Pad", "1.5")
    assert lacks(wanted) == []


def test_a_version_that_does_not_fit_is_told_with_the_one_that_is_there(site: Path) -> None:
    install(site, "left-pad", "1.5")
    assert lacks("left-pad>=2") == ["left-pad>=2 is wanted, but 1.5 is installed"]


def test_a_pre_release_that_somebody_installed_counts(site: Path) -> None:
    install(site, "left-pad", "2.0rc1")
    assert lacks("left-pad>=1.9") == []
    assert lacks("left-pad>=2") == ["left-pad>=2 is wanted, but 2.0rc1 is installed"]


def test_a_version_that_is_none_fits_only_where_any_does(site: Path) -> None:
    install(site, "left-pad", "of-our-own")
    assert lacks("left-pad") == []
    assert lacks("left-pad>=1") == ["left-pad>=1 is wanted, but of-our-own is installed"]


def test_a_marker_that_excludes_this_python_excuses() -> None:
    assert lacks('left-pad; python_version < "3"') == []
    assert lacks('left-pad; python_version >= "3"') == ["left-pad is not installed"]


def test_what_an_extra_needs_is_looked_for_and_what_others_need_is_not(site: Path) -> None:
    install(
        site,
        "left-pad",
        "1.0",
        "always-missing",
        'right-pad>=2; extra == "wide"',
        'other-pad; extra == "narrow"',
        'old-pad; python_version < "3" and extra == "wide"',
    )
    assert lacks("left-pad") == []
    assert lacks("left-pad[wide]") == ["right-pad>=2, which left-pad[wide] needs, is not installed"]
    install(site, "right-pad", "1.0")
    assert lacks("left-pad[wide]") == [
        "right-pad>=2, which left-pad[wide] needs, is wanted, but 1.0 is installed"
    ]


def test_extras_that_name_each_other_come_to_an_end(site: Path) -> None:
    install(site, "left-pad", "1.0", 'left-pad[b]; extra == "a"', 'left-pad[a]; extra == "b"')
    assert lacks("left-pad[a]") == []


def test_what_is_installed_or_removed_meanwhile_is_noticed(site: Path) -> None:
    requirement = Requirement("left-pad")
    assert [lack.found for lack in requirement.lacks()] == [None]
    install(site, "left-pad", "1.0")
    assert list(requirement.lacks()) == []
    shutil.rmtree(site / "left_pad-1.0.dist-info")
    assert [lack.found for lack in requirement.lacks()] == [None]
