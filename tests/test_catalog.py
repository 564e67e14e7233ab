from __future__ import annotations

from pathlib import Path

import pytest

from hermes.catalog import find, known
from hermes.errors import ConfigError
from hermes.routing.strategies.keyword import KeywordStrategy

FAMILY = "routing.strategies"


def install(site: Path, kinds: dict[str, str], **modules: str) -> None:
    """Lay out what an installed distribution with these entry points and modules looks like."""
    info = site / "outside_kinds-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-kinds\nVersion: 1.0\n")
    points = "\n".join(f"{kind} = {target}" for kind, target in kinds.items())
    (info / "entry_points.txt").write_text(f"[hermes.{FAMILY}]\n{points}\n")
    for name, code in modules.items():
        (site / f"{name}.py").write_text(code)


def test_a_kind_is_found_by_the_name_of_its_file() -> None:
    assert find(FAMILY, "keyword") is KeywordStrategy


def test_the_contract_of_a_family_is_no_kind() -> None:
    assert known(FAMILY) == ("keyword", "prefix")


def test_an_unknown_kind_names_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(ConfigError) as refused:
        find(FAMILY, "keywords")
    assert "'keywords'; known: keyword, prefix; did you mean 'keyword'?" in str(refused.value)


@pytest.mark.parametrize("kind", ["", "../../errors", "base", "关键词", "__init__"])
def test_a_kind_that_is_like_nothing_gets_no_suggestion(kind: str) -> None:
    with pytest.raises(ConfigError) as refused:
        find(FAMILY, kind)
    assert str(refused.value).endswith("known: keyword, prefix")


def test_kinds_from_outside_come_through_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, {"coin": "outside_coin:Coin"}, outside_coin="class Coin:\n    sides = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert known(FAMILY) == ("coin", "keyword", "prefix")
    assert find(FAMILY, "coin").__name__ == "Coin"


def test_a_kind_from_outside_cannot_take_the_place_of_one_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, {"keyword": "outside_keyword:Mine"}, outside_keyword="class Mine: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find(FAMILY, "keyword") is KeywordStrategy


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, {"oracle": "outside_oracle:Oracle"}, outside_oracle="import delphi_of_old\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="'oracle' needs the Python package 'delphi_of_old'"):
        find(FAMILY, "oracle")


def test_an_entry_point_that_names_nothing_usable_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = {"gone": "outside_things:Gone", "number": "outside_things:number"}
    install(tmp_path, targets, outside_things="number = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="'gone' cannot be loaded"):
        find(FAMILY, "gone")
    with pytest.raises(ConfigError, match="neither a class nor a factory"):
        find(FAMILY, "number")
