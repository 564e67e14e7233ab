"""Where commands find the daemon of the folder that they are called in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes.cli.address import DEFAULT_URL, Address, configured_address
from tests.cli.command import Hermes
from tests.cli.scripted import Scripted

CONFIGURED = "hermes.bind of ./hermes.yaml"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("bind", "url"),
    [
        ("127.0.0.1:18200", "http://127.0.0.1:18200"),
        ("localhost:1", "http://localhost:1"),
        ("0.0.0.0:8081", "http://127.0.0.1:8081"),
        ('"[::]:8081"', "http://[::1]:8081"),
        ('"[::1]:65535"', "http://[::1]:65535"),
        ("127.0.0.1:${PORT}", "http://127.0.0.1:9000"),
    ],
)
def test_the_address_is_the_one_that_the_configuration_binds(home: Path, bind: str, url: str) -> None:
    (home / "hermes.yaml").write_text(f"# 配置\nhermes:\n  bind: {bind}\nplugins: {{}}\n", encoding="utf-8")
    assert configured_address({"PORT": "9000"}) == Address(url, CONFIGURED)


@pytest.mark.parametrize(
    "text", ["", "hermes:\n", "hermes: {}\n", "plugins: {}\n", "hermes: {log_level: info}\n"]
)
def test_a_configuration_without_an_address_gives_the_default(home: Path, text: str) -> None:
    (home / "hermes.yaml").write_text(text)
    assert configured_address({}) == Address(DEFAULT_URL, "the default, as ./hermes.yaml has no hermes.bind")


@pytest.mark.parametrize(
    "text",
    [
        "hermes: [",
        "hermes: {bind: [1]}",
        "hermes: 8080",
        "- hermes",
        "hermes: {bind: here}",
        "hermes: {bind: 127.0.0.1:0}",
        "hermes: {bind: 127.0.0.1:99999}",
        "hermes: {bind: '${NOT_SET}:80'}",
        "hermes: {bind: \x01}",
        "[" * 5000,
        "#" * (1 << 20) + "\nhermes: {bind: 127.0.0.1:1}",
    ],
    ids=lambda text: text[:24],
)
def test_a_configuration_that_is_wrong_gives_the_default_and_says_so(home: Path, text: str) -> None:
    (home / "hermes.yaml").write_text(text)
    assert configured_address({}) == Address(
        DEFAULT_URL, "the default, as hermes.bind of ./hermes.yaml cannot be understood"
    )


def test_a_folder_without_a_configuration_or_with_one_that_cannot_be_read_gives_the_default(
    home: Path,
) -> None:
    assert configured_address({}) == Address(DEFAULT_URL, "the default, as there is no ./hermes.yaml")
    (home / "hermes.yaml").mkdir()
    assert configured_address({}) == Address(DEFAULT_URL, "the default, as ./hermes.yaml cannot be read")


def test_a_command_calls_the_daemon_of_its_folder(lonely: Hermes, scripted: Scripted, tmp_path: Path) -> None:
    scripted.say_json({"items": []})
    address = scripted.start().removeprefix("http://")
    (tmp_path / "hermes.yaml").write_text(f"hermes: {{bind: {address}}}\n")
    done = lonely("plugins", "list")
    assert (done.code, done.err) == (0, "")
    assert [asked.path for asked in scripted.asked] == ["/v1/plugins"]


@pytest.mark.parametrize("way", ["option", "variable"])
def test_an_address_that_is_given_goes_before_the_configured_one(
    lonely: Hermes, scripted: Scripted, tmp_path: Path, way: str
) -> None:
    scripted.say_json({"items": []})
    (tmp_path / "hermes.yaml").write_text("hermes: {bind: 127.0.0.1:1}\n")
    url = scripted.start()
    done = (
        lonely("plugins", "list", "--url", url)
        if way == "option"
        else lonely("plugins", "list", HERMES_URL=url)
    )
    assert (done.code, done.err) == (0, "")


def test_who_reaches_nobody_is_told_where_the_address_comes_from_and_how_to_give_another(
    lonely: Hermes, tmp_path: Path
) -> None:
    (tmp_path / "hermes.yaml").write_text("hermes: {bind: 127.0.0.1:1}\n")
    done = lonely("plugins", "list", HERMES_URL="")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "Error: cannot reach http://127.0.0.1:1 (hermes.bind of ./hermes.yaml): connection refused; is the daemon "
        "running? start it with: hermes run; another address is given with --url or in HERMES_URL\n"
    )


def test_the_address_is_found_without_the_configuration_being_loaded() -> None:
    code = "import sys, hermes.cli.options; sys.exit('pydantic' in sys.modules or 'hermes.config' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=20, check=False).returncode == 0
