"""What the documents say can be followed: links lead somewhere, examples are right, commands exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hermes.cli import root
from hermes.config import Config, load_config
from hermes.entries import entries_of
from hermes.host.manifests.manifest import Manifest, load_manifest
from hermes.host.manifests.parameters import Parameters
from hermes.routing.decision import Thresholds
from hermes.routing.router import Router
from hermes.sdk.testing import load, run

ROOT = Path(__file__).parents[2]
READMES = [ROOT / "README.md", ROOT / "README.zh.md"]
PAGES = [*READMES, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
ENVIRON = {"PORT": "8080", "TIMEOUT": "60", "GITLAB_TOKEN": "a-token", "JIRA_TOKEN": "a-token"}

_block = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_link = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_inline = re.compile(r"`([^`\n]+)`")
_heading = re.compile(r"^#+ (.+)$", re.MULTILINE)
_command = re.compile(r"\bhermes((?: [a-z]+)+)")
_machine = re.compile(r"(?<![\w.])/(?:work|tmp|home|root|Users)/")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in _block.findall(page.read_text("utf-8")) if kind == language]


def prose(page: Path) -> str:
    return _block.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the names that headings can be linked by, made as the usual viewers of Markdown make them."""
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in _heading.findall(prose(page)))
    return {heading.strip().replace(" ", "-") for heading in plain}


def broken_links(page: Path) -> Iterator[str]:
    for path, anchor in _link.findall(prose(page)):
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield path
        elif anchor and anchor not in anchors(target):
            yield f"{path}#{anchor}"


def commands(page: Path) -> set[tuple[str, ...]]:
    """Return the words that follow `hermes` where a page shows what to type."""
    shown = [*blocks(page, "sh"), *_inline.findall(prose(page))]
    return {tuple(words.split()) for text in shown for words in _command.findall(text)}


def load_text(folder: Path, text: str) -> Config:
    file = folder / "hermes.yaml"
    file.write_text(text, encoding="utf-8")
    return load_config(file, ENVIRON)


@every_page
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    assert list(broken_links(page)) == []


@every_page
def test_json_examples_are_json(page: Path) -> None:
    for text in blocks(page, "json"):
        assert json.loads(text)


@every_page
def test_hermes_yaml_examples_are_accepted(page: Path, tmp_path: Path) -> None:
    for text in blocks(page, "yaml"):
        load_text(tmp_path, text)


def test_the_small_hermes_yaml_is_among_them(tmp_path: Path) -> None:
    text = blocks(ROOT / "docs" / "configuration.md", "yaml")[0]
    config = load_text(tmp_path, text)
    assert (config.hermes.bind, config.hermes.redis_url) == ("0.0.0.0:8080", "redis://localhost:6379/0")
    assert (config.sessions.memory_window, config.router.clarify_threshold) == (6, 0.8)
    assert config.circuit_breaker.cooldown_seconds == 30


@every_page
def test_no_page_names_a_place_on_somebodys_machine(page: Path) -> None:
    assert _machine.findall(page.read_text("utf-8")) == []


@every_page
def test_every_command_that_is_shown_exists(page: Path) -> None:
    for words in commands(page):
        command: click.Command = root
        path: list[str] = []
        for word in words:
            if not isinstance(command, click.Group):
                break  # the rest are arguments
            found = command.get_command(click.Context(command), word)
            assert found is not None, f"hermes {' '.join([*path, word])}"
            command, path = found, [*path, word]
        assert CliRunner().invoke(root, [*path, "--help"]).exit_code == 0


def test_commands_are_found_where_they_are_shown() -> None:
    assert {("send",), ("check",)} <= commands(READMES[0])


@pytest.mark.parametrize("readme", READMES, ids=lambda page: page.name)
def test_a_readme_begins_with_what_hermes_is_not(readme: Path) -> None:
    beginning = "\n".join(readme.read_text("utf-8").splitlines()[:6])
    assert "hermes-messenger" in beginning
    assert "unrelated" in beginning or "无关" in beginning


def test_both_readmes_show_the_same_plugin() -> None:
    for language in ("json", "python"):
        english, chinese = (blocks(readme, language) for readme in READMES)
        assert english == chinese


@pytest.fixture
def first_plugin(tmp_path: Path) -> Path:
    """The plugin that the README tells to write, in a folder of its name."""
    folder = tmp_path / "oncall"
    folder.mkdir()
    (folder / "manifest.json").write_text(blocks(READMES[0], "json")[0], encoding="utf-8")
    (folder / "plugin.py").write_text(blocks(READMES[0], "python")[0], encoding="utf-8")
    return folder


def _route(manifest: Manifest, text: str) -> str:
    return (
        Router(["prefix", "keyword"], Thresholds(), entries=entries_of(manifest)).route(text).decision.intent
    )


@pytest.mark.parametrize(("text", "team"), [("今天运维谁值班", "运维"), ("who is on call for web", "web")])
async def test_the_first_plugin_of_the_readme_works(first_plugin: Path, text: str, team: str) -> None:
    manifest = load_manifest(first_plugin)
    assert _route(manifest, text) == "oncall.who"
    payload = Parameters(manifest.intents[0]).fill(text, {"text": text})
    outcome = await run(load(first_plugin), payload)
    assert outcome.error is None
    assert outcome.data["team"] == team


def test_the_first_plugin_asks_for_what_a_sentence_does_not_say(first_plugin: Path) -> None:
    parameters = Parameters(load_manifest(first_plugin).intents[0])
    (problem,) = parameters.problems(parameters.fill("who is on call", {}))
    assert (problem.field, problem.missing) == ("team", True)
