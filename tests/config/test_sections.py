from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from hermes.config import Config, HermesSection, LimitsSection, RouterSection, load_config
from hermes.errors import ConfigError

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("bind", "host", "port"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        ("localhost:0", "localhost", 0),
        ("[::1]:65535", "::1", 65535),
        ("[::]:80", "::", 80),
        ("0.0.0.0:1", "0.0.0.0", 1),
    ],
)
def test_an_address_has_a_host_and_a_port(bind: str, host: str, port: int) -> None:
    section = HermesSection(bind=bind)
    assert (section.bind_host, section.bind_port) == (host, port)


@pytest.mark.parametrize(
    "bind",
    ["", "8080", ":8080", "::1:8080", "[::1]", "[zz]:80", "host:65536", "host:-1", "http://host:80", "h:1\n"],
)
def test_what_is_no_address_is_refused(bind: str) -> None:
    with pytest.raises(ValidationError, match=r"host:port|IPv6"):
        HermesSection(bind=bind)


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("hermes", "default_timeout", "0"),
        ("hermes", "default_timeout", "-1"),
        ("hermes", "default_timeout", "true"),
        ("hermes", "default_timeout", "~"),
        ("hermes", "default_timeout", ".inf"),
        ("hermes", "log_level", "INFO"),
        ("hermes", "locale", "fr"),
        ("hermes", "plugins_dir", "~/plugins"),
        ("router", "weights", "~/weights.json"),
        ("router", "weights", ""),
        ("router", "weights", 5),
        ("hermes", "plugins_dir", "''"),
        ("hermes", "state_dir", "5"),
        ("hermes", "state_dir", '"a\\0b"'),
        ("hermes", "redis_url", "localhost:6379"),
        ("journal", "sync", "on"),
        ("sessions", "memory_window", "0"),
        ("sessions", "summary_every", "1.5"),
        ("router", "min_confidence", "1.1"),
        ("router", "min_confidence", "-0.1"),
        ("router", "strategies", "[]"),
        ("router", "strategies", "prefix"),
        ("router", "strategies", "[prefix, prefix]"),
        ("circuit_breaker", "failure_threshold", "0"),
        ("circuit_breaker", "cooldown_seconds", "0"),
        ("auth", "mode", "jwt"),
        ("auth", "keys_file", "./keys.yaml"),
        ("limits", "result_bytes", "0"),
        ("limits", "shutdown_grace", "-1"),
        ("limits", "pending", "many"),
        ("limits", "hops", "0"),
        ("limits", "frame_bytes", "65536"),
        ("router", "clarify_threshold", "0.5"),
    ],
)
def test_a_bad_value_is_refused_at_its_key(tmp_path: Path, section: str, key: str, value: str) -> None:
    file = tmp_path / "hermes.yaml"
    file.write_text(f"{section}:\n  {key}: {value}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        load_config(file, {})
    assert [(problem.key, problem.line) for problem in raised.value.problems] == [(f"{section}.{key}", 2)]


def test_nobody_needs_a_key_only_when_that_is_written_out(tmp_path: Path) -> None:
    file = tmp_path / "hermes.yaml"
    file.write_text("auth: {mode: none}")
    assert load_config(file, {}).auth.mode == "none"
    assert Config().auth.mode is None


def test_the_threshold_to_ask_back_is_not_below_the_one_to_match() -> None:
    assert RouterSection(min_confidence=0.7, clarify_threshold=0.7).clarify_threshold == 0.7
    with pytest.raises(ValidationError, match="must not be below min_confidence"):
        RouterSection(min_confidence=0.9)


def test_a_frame_has_room_for_the_largest_result() -> None:
    assert LimitsSection().frame_bytes == 16777216 + 65536
    assert LimitsSection(result_bytes=1000).frame_bytes == 1000 + 65536
    assert LimitsSection(frame_bytes=33554432).frame_bytes == 33554432
    with pytest.raises(ValidationError, match=r"must be at least result_bytes \+ 65536"):
        LimitsSection(frame_bytes=16777216)


def test_sections_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(Config().hermes, "bind", "0.0.0.0:80")  # noqa: B010 - the type checker refuses the plain form too


def shipped(file: str) -> bytes:
    """Return a file as it is committed, or as it lies here where this is no checkout: a user may have changed it."""
    try:
        git = ["git", "show", f"HEAD:./{file}"]
        return subprocess.run(git, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return (ROOT / file).read_bytes()


def test_the_sample_configuration_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "hermes.yaml").write_bytes(shipped("hermes.yaml"))
    config = load_config(tmp_path / "hermes.yaml", {})
    assert config.hermes.bind == "127.0.0.1:8080"
    assert config.hermes.plugins_dir == tmp_path / "plugins"
    assert config.plugins["sqlite-query"] == {"database": "./data/app.db"}


def keys(model: type[BaseModel]) -> Iterator[str]:
    """Return the name of every key of a section and of the sections within."""
    for name, field in model.model_fields.items():
        yield name
        kind: Any = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from keys(kind)


def test_every_key_is_described_in_the_docs() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert [key for key in keys(Config) if f"| `{key}` |" not in text and f"| **{key}** |" not in text] == []
