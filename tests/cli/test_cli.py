"""The command itself: what it offers, how it refuses, and how little it imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hermes import __version__
from tests.cli.command import Hermes

PLUGIN_COMMANDS = ("check", "disable", "enable", "list", "new", "reload", "requirements")
COMMANDS = ("check", "messages", "plugins", "route", "run", "send")


def test_the_version_is_told(lonely: Hermes) -> None:
    done = lonely("--version")
    assert (done.code, done.out) == (0, f"hermes, version {__version__}\n")


def test_the_command_imports_nothing_large_before_it_knows_what_to_do() -> None:
    large = (
        "asyncio",
        "http.client",
        "hermes.app",
        "hermes.cli.client",
        "pydantic",
        "rich",
        "sqlite3",
        "ssl",
    )
    code = f"import sys, hermes.cli, hermes.cli.plugins; print([name for name in {large} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_every_command_is_listed_and_explains_itself(lonely: Hermes) -> None:
    listed = lonely("--help").out
    for name in COMMANDS:
        assert f"\n  {name} " in listed
        explained = lonely(name, "--help")
        assert explained.code == 0
        assert explained.out.startswith(f"Usage: hermes {name} ")


def test_every_command_on_plugins_is_listed_and_explains_itself(lonely: Hermes) -> None:
    listed = lonely("plugins", "--help").out
    for name in PLUGIN_COMMANDS:
        assert f"\n  {name} " in listed
        explained = lonely("plugins", name, "--help")
        assert explained.code == 0
        assert explained.out.startswith(f"Usage: hermes plugins {name} ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fly"], "No such command 'fly'"),
        (["send"], "give a TEXT, or an --intent"),
        (["send", ""], "give a TEXT, or an --intent"),
        (["send", "x", "--payload", "[1]"], "it must be an object such as"),
        (["send", "x", "--payload", '{"a": NaN}'], "NaN is not a number of JSON"),
        (["send", "x", "--payload", "{"], "it is not JSON"),
        (["send", "x", "--wait", "nan"], "it must be a number of seconds"),
        (["send", "x", "--wait", "-1"], "it must be a number of seconds"),
        (["send", "x", "--session", "a b"], "an id has 1 to 128 characters"),
        (["send", b"\xff\xfe"], "it is not UTF-8 text"),
        (["send", "x", "--url", "127.0.0.1:8080"], "is not a URL such as"),
        (["send", "x", "--key", "钥匙"], "the key holds characters that no key has"),
        (["route"], "Missing argument 'TEXT'"),
        (["messages", "list", "--limit", "0"], "is not in the range"),
        (["messages", "list", "--status", "lost"], "is not one of"),
        (["messages", "show", "../etc"], "an id has 1 to 128 characters"),
        (["messages", "retry"], "Missing argument 'ID...'"),
        (["messages", "confirm", "a b"], "an id has 1 to 128 characters"),
        (["check", "--fly"], "No such option"),
        (["plugins", "fly"], "No such command 'fly'"),
        (["plugins", "reload"], "Missing argument 'NAME'"),
        (["plugins", "reload", b"\xff"], "it is not UTF-8 text"),
    ],
)
def test_wrong_usage_ends_with_code_2_and_says_what_is_wrong(
    lonely: Hermes, arguments: list[str | bytes], sentence: str
) -> None:
    done = lonely(*arguments)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["send", "你好"],
        ["route", "x"],
        ["plugins", "list"],
        ["plugins", "reload", "x"],
        ["plugins", "disable", "x"],
        ["plugins", "enable", "x"],
        ["messages", "list"],
        ["messages", "show", "a"],
        ["messages", "retry", "a"],
        ["messages", "confirm", "a"],
    ],
)
def test_a_daemon_that_is_not_there_is_one_line_on_stderr(lonely: Hermes, arguments: list[str]) -> None:
    done = lonely(*arguments, HERMES_URL="http://127.0.0.1:1")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "Error: cannot reach http://127.0.0.1:1: connection refused; is the daemon running? "
        "start it with: hermes run; another address is given with --url or in HERMES_URL\n"
    )
