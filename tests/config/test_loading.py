from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from hermes.config import Config, load_config
from hermes.errors import ConfigError, ConfigErrors

MINIMAL = """\
hermes:
  bind: 0.0.0.0:8080
  log_level: info
  plugins_dir: ./plugins
  default_timeout: 60
  redis_url: redis://localhost:6379/0
sessions:
  memory_window: 6
  summary_every: 10
  summary_max_tokens: 200
router:
  min_confidence: 0.6
  clarify_threshold: 0.8
circuit_breaker:
  failure_threshold: 3
  cooldown_seconds: 30
"""


def load(folder: Path, text: str | bytes, **environ: str) -> Config:
    file = folder / "hermes.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_config(file, environ)


def refusal(folder: Path, text: str | bytes, **environ: str) -> list[str]:
    """Return what is wrong with a file, as `line key: what`."""
    with pytest.raises(ConfigError) as raised:
        load(folder, text, **environ)
    return [f"{problem.line} {problem.key}: {problem.detail}" for problem in raised.value.problems]


def test_without_a_file_all_is_default(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        config = load_config(None, {})
        assert config.hermes.plugins_dir == Path.cwd() / "plugins"
        assert config.router.weights == Path.cwd() / "router-weights.json"
        assert config.base_dir == Path.cwd()
    assert config.path is None
    assert (config.hermes.bind_host, config.hermes.bind_port) == ("127.0.0.1", 8080)
    assert config.journal.sync == "full"
    assert config.plugins == {}


def test_the_file_of_the_current_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "hermes.yaml").write_text("hermes: {bind: '127.0.0.1:0'}")
    with contextlib.chdir(tmp_path):
        config = load_config(None, {})
    assert config.hermes.bind_port == 0
    assert config.path == Path("hermes.yaml")


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml: there is no such file"):
        load_config(tmp_path / "gone.yaml", {})


@pytest.mark.parametrize("text", [b"", b"\xef\xbb\xbf", b"# nothing\r\n", b"hermes:\nplugins:\n  echo:\n"])
def test_an_empty_file_and_empty_sections_run(tmp_path: Path, text: bytes) -> None:
    config = load(tmp_path, text)
    assert config.hermes.default_timeout == 60
    assert config.limits.inline_bytes == 65536


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_minimal_file_runs_unchanged(tmp_path: Path, newline: str, mark: str) -> None:
    config = load(tmp_path, mark + MINIMAL.replace("\n", newline))
    assert (config.hermes.bind_host, config.hermes.bind_port) == ("0.0.0.0", 8080)
    assert config.hermes.plugins_dir == tmp_path / "plugins"
    assert config.router.weights == tmp_path / "router-weights.json"
    assert config.hermes.redis_url == "redis://localhost:6379/0"
    assert config.sessions.summary_every == 10
    assert config.circuit_breaker.cooldown_seconds == 30


def test_relative_folders_start_from_the_file_and_absolute_ones_stay(tmp_path: Path) -> None:
    config = load(tmp_path, "hermes: {plugins_dir: ../tools, state_dir: /var/lib/hermes}")
    assert config.hermes.plugins_dir == tmp_path / "../tools"
    assert load(tmp_path, "router: {weights: ../mine.json}").router.weights == tmp_path / "../mine.json"
    assert config.hermes.state_dir == Path("/var/lib/hermes")


def test_everything_that_is_wrong_is_told_at_once_with_line_key_and_remedy(tmp_path: Path) -> None:
    text = """\
hermes:
  bind: 8080
  log_levl: info
  log_level: loud
  default_timeout: soon
  default_timeout: 5
sessions: {max_parallel: 2}
webhooks: {}
nonsense: 1
plugins: {echo: 3}
"""
    assert refusal(tmp_path, text) == [
        "2 hermes.bind: must be text; it is 8080",
        (
            "3 hermes.log_levl: is not a known key; did you mean log_level? allowed here: bind, default_timeout, "
            "locale, log_level, plugins_dir, redis_url, state_dir"
        ),
        "4 hermes.log_level: must be 'debug', 'info', 'warning' or 'error'; it is \"loud\"",
        "6 hermes.default_timeout: is there twice; the first is in line 5, remove one",
        "7 sessions.max_parallel: is not available in this version; remove it",
        "8 webhooks: is not available in this version; remove it",
        (
            "9 nonsense: is not a known key; allowed here: auth, circuit_breaker, hermes, journal, limits, "
            "plugins, reload, router, sessions"
        ),
        "10 plugins.echo: must be a mapping of keys to values; it is 3",
    ]


def test_a_store_in_redis_needs_to_know_where_that_is(tmp_path: Path) -> None:
    needed = "1 sessions.store: needs hermes.redis_url; set that too"
    assert refusal(tmp_path, "sessions: {store: redis}") == [needed]
    assert load(tmp_path, "").store == "sqlite"
    assert load(tmp_path, "hermes: {redis_url: 'redis://r'}").store == "redis"
    assert load(tmp_path, "{hermes: {redis_url: 'redis://r'}, sessions: {store: memory}}").store == "memory"


@pytest.mark.parametrize("key", ["webhooks", "outbound", "schedules", "models", "logging"])
def test_a_section_of_the_contract_that_is_not_there_yet_is_told_apart_from_an_unknown_one(
    tmp_path: Path, key: str
) -> None:
    assert refusal(tmp_path, f"{key}: {{a: 1}}") == [f"1 {key}: is not available in this version; remove it"]


@pytest.mark.parametrize("text", ["- a\n", "just words", "5"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    assert "must hold a mapping" in refusal(tmp_path, text)[0]


def test_the_environment_reaches_texts_numbers_and_choices(tmp_path: Path) -> None:
    text = """\
hermes:
  bind: 127.0.0.1:${PORT}
  default_timeout: ${TIMEOUT}
  log_level: ${LEVEL}
  state_dir: ${HOME}/.hermes
router: {min_confidence: "${LOW}", strategies: ["${FIRST}", keyword]}
limits: {pending: "${PENDING}"}
"""
    environ = {
        "PORT": "9",
        "TIMEOUT": "1.5",
        "LEVEL": "debug",
        "HOME": "/home/甲",
        "LOW": "0.5",
        "FIRST": "prefix",
    }
    config = load(tmp_path, text, PENDING="7", **environ)
    assert config.hermes.bind_port == 9
    assert config.hermes.default_timeout == 1.5
    assert config.hermes.log_level == "debug"
    assert config.hermes.state_dir == Path("/home/甲/.hermes")
    assert config.router.min_confidence == 0.5
    assert config.router.strategies == ("prefix", "keyword")
    assert config.limits.pending == 7


def test_a_number_in_quotes_is_text_and_no_number(tmp_path: Path) -> None:
    assert refusal(tmp_path, "hermes: {default_timeout: '60'}") == [
        '1 hermes.default_timeout: must be a number; it is "60"'
    ]


def test_a_missing_variable_is_the_only_problem_of_its_key(tmp_path: Path) -> None:
    assert refusal(tmp_path, "hermes:\n  default_timeout: ${GONE}\n") == [
        "2 hermes.default_timeout: the environment variable GONE is not set; set it or remove this key"
    ]


def test_what_was_filled_in_is_never_shown(tmp_path: Path) -> None:
    text = """\
hermes:
  bind: ${SECRET}
  log_level: ${SECRET}
  default_timeout: ${SECRET}
  redis_url: ${SECRET}
  locale: ${SECRET}
journal: ${SECRET}
router:
  strategies: ${SECRET}
  min_confidence: ${NUMBER}
plugins:
  echo: ${SECRET}
limits:
  pending: ${NUMBER}
"""
    lines = refusal(tmp_path, text, SECRET="hunter2", NUMBER="-4711")
    assert len(lines) == 10
    assert not any("hunter2" in line or "4711" in line for line in lines)


def test_options_of_plugins_stay_as_they_are(tmp_path: Path) -> None:
    config = load(tmp_path, "plugins:\n  gitlab: {url: 'https://甲', on: yes, deep: {list: [1, 2.5, ~]}}\n")
    assert config.plugins == {"gitlab": {"url": "https://甲", "on": "yes", "deep": {"list": [1, 2.5, None]}}}
    assert config.source.lines[("plugins", "gitlab", "on")] == 2


def test_the_error_of_a_broken_file_can_be_printed_anywhere(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors) as raised:
        load(tmp_path, 'hermes: {"locale": "\\ud800"}')
    assert str(raised.value).encode("utf-8")
