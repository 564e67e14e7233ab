"""A lock is read as pip reads it, and what is none is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes.cli.plugins.lock_file import read_pins
from hermes.errors import ConfigError

ROOT = Path(__file__).parents[2]


def pins(tmp_path: Path, text: str) -> dict[str, str]:
    file = tmp_path / "some.lock"
    file.write_text(text, encoding="utf-8")
    return read_pins(file)


def test_the_lock_of_this_project_is_read_whole() -> None:
    found = read_pins(ROOT / "requirements.lock")
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert {"pydantic", "packaging", "google-re2", "uvloop"} <= set(found)
    for name, version in found.items():
        assert f"\n{name}=={version} " in text


def test_what_pip_freeze_prints_is_read(tmp_path: Path) -> None:
    assert pins(tmp_path, "# all\n\nA.b==1.0\n-e ./own\nc==2!3.0+local  # ours\n--no-binary d\n") == {
        "a-b": "1.0",
        "c": "2!3.0+local",
    }


def test_a_pin_for_other_pythons_does_not_count(tmp_path: Path) -> None:
    text = "a==1 ; python_version < '3'\na==2 ; python_version >= '3' \\\n    --hash=sha256:0a\n"
    assert pins(tmp_path, text) == {"a": "2"}


@pytest.mark.parametrize("line", ["a>=1", "a", "a==1.*", "a==1,<2", "a @ file:///b", "not a pin", "依赖==1"])
def test_what_is_no_pin_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError) as raised:
        pins(tmp_path, f"b==1 \\\n    --hash=sha256:00\n{line}\n")
    assert (raised.value.line, raised.value.detail) == (3, "is no pin such as requests==2.32.0")


def test_a_lock_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        read_pins(tmp_path / "no.lock")
