"""gitlab-pipeline against a GitLab of our own that runs as a process and answers in the documented shapes."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from hermes.host.manifests.manifest import load_manifest, plugin_config
from hermes.host.manifests.parameters import Parameters
from hermes.sdk.testing import Call, Outcome, load, run

FOLDER = Path(__file__).parents[2] / "plugins" / "gitlab-pipeline"
FAKE = Path(__file__).parent / "fakes" / "gitlab.py"
TOKEN = "glpat-right"

handle = load(FOLDER)


@pytest.fixture(scope="module")
def gitlab() -> Iterator[str]:
    with subprocess.Popen([sys.executable, str(FAKE)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


async def ask(url: str, project: str, *, ref: str | None = None, **more: Any) -> Outcome:
    payload = {"project": project} | ({} if ref is None else {"ref": ref})
    config = {"base_url": url, "token": TOKEN} | more.pop("config", {})
    return await run(handle, payload, config=config, **more)


def requests_seen(url: str) -> list[dict[str, str]]:
    with urlopen(url + "/seen") as response:
        seen: list[dict[str, str]] = json.load(response)
    return seen


def code(outcome: Outcome) -> str:
    assert outcome.error is not None
    return str(outcome.error["code"])


def message(outcome: Outcome) -> str:
    assert outcome.error is not None
    return str(outcome.error["message"])


async def test_a_failed_pipeline_names_the_first_job_that_broke_it(gitlab: str) -> None:
    outcome = await ask(gitlab, "group/api")
    assert outcome.error is None
    facts = {name: outcome.data[name] for name in load_manifest(FOLDER).summary.fields}
    assert facts == {
        "pipeline_id": 412,
        "status": "failed",
        "failed_job_name": "unit 单元测试",
        "duration": 94,
    }
    assert outcome.data["pipeline"]["user"]["username"] == "root"


async def test_a_passed_pipeline_has_no_failed_job(gitlab: str) -> None:
    outcome = await ask(gitlab, "group/docs")
    assert (outcome.data["status"], outcome.data["failed_job_name"]) == ("success", None)


async def test_a_running_pipeline_is_the_last_one_and_has_no_duration_yet(gitlab: str) -> None:
    outcome = await ask(gitlab, "group/web")
    assert (outcome.data["pipeline_id"], outcome.data["duration"]) == (303, None)


async def test_a_branch_narrows_the_question(gitlab: str) -> None:
    outcome = await ask(gitlab, "group/web", ref="main")
    assert (outcome.data["pipeline_id"], outcome.data["failed_job_name"]) == (302, "lint")


@pytest.mark.parametrize("project", ["docs", "/docs/", "group/docs"])
async def test_a_bare_name_lies_in_the_configured_namespace(gitlab: str, project: str) -> None:
    outcome = await ask(gitlab, project, config={"namespace": "group"})
    assert outcome.data["project"] == "group/docs"


async def test_a_project_may_be_given_by_its_number(gitlab: str) -> None:
    outcome = await ask(gitlab, "22", config={"namespace": "group"})
    assert outcome.data["pipeline_id"] == 412


async def test_progress_is_told_in_the_language_of_the_request(gitlab: str) -> None:
    chinese = await ask(gitlab, "group/api", locale="zh")
    english = await ask(gitlab, "group/api", locale="en")
    assert [line.text for line in chinese.progress] == [
        "正在查询 group/api 的流水线",
        "流水线 412 失败了，正在找出失败的任务",
    ]
    assert [line.text for line in english.progress] == [
        "Looking up the pipeline of group/api",
        "Pipeline 412 failed; looking for the job that broke it",
    ]


async def test_address_and_token_may_come_from_the_variables_of_the_manifest(gitlab: str) -> None:
    secrets = {"GITLAB_URL": gitlab + "/", "GITLAB_TOKEN": TOKEN + "\n"}
    outcome = await run(handle, {"project": "group/docs"}, secrets=secrets)
    assert outcome.data["status"] == "success"


@pytest.mark.parametrize(
    ("project", "expected", "retryable"),
    [
        ("group/unknown", "not_found", False),
        ("group/empty", "not_found", False),
        ("group/private", "upstream_denied", False),
        ("broken/down", "upstream_unavailable", True),
        ("broken/busy", "upstream_unavailable", True),
        ("broken/html", "upstream_unavailable", False),
        ("broken/shape", "upstream_unavailable", False),
        ("broken/items", "upstream_unavailable", False),
        ("broken/cut", "upstream_unavailable", True),
    ],
)
@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_each_bad_answer_has_its_code(
    gitlab: str, locale: str, project: str, *, expected: str, retryable: bool
) -> None:
    outcome = await ask(gitlab, project, locale=locale)
    assert outcome.data is None
    assert outcome.error is not None
    assert (outcome.error["code"], outcome.error["retryable"]) == (expected, retryable)
    assert message(outcome).isascii() == (locale == "en")


async def test_an_unknown_project_is_named(gitlab: str) -> None:
    assert "group/unknown" in message(await ask(gitlab, "group/unknown", locale="zh"))
    assert "group/web has no pipeline on nowhere" in message(await ask(gitlab, "group/web", ref="nowhere"))


@pytest.mark.parametrize(
    ("token", "expected"), [("", "401"), ("glpat-wrong", "401"), ("glpat-narrow", "403")]
)
async def test_a_token_that_gitlab_refuses_is_upstream_denied(gitlab: str, token: str, expected: str) -> None:
    outcome = await ask(gitlab, "group/docs", config={"token": token})
    assert code(outcome) == "upstream_denied"
    assert outcome.logs == (f"GitLab answered {expected}",)


async def test_a_slow_gitlab_ends_before_the_time_of_the_call_is_up(gitlab: str) -> None:
    outcome = await ask(gitlab, "broken/slow", call=Call(timeout=1.0))
    assert outcome.error is not None
    assert (outcome.error["code"], outcome.error["retryable"]) == ("upstream_unavailable", True)


async def test_a_call_that_has_no_time_left_asks_nothing(gitlab: str) -> None:
    assert code(await ask(gitlab, "group/docs", call=Call(timeout=0.4))) == "upstream_unavailable"


async def test_nobody_listening_is_upstream_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert code(await ask(f"http://127.0.0.1:{port}", "group/docs")) == "upstream_unavailable"


async def test_a_moved_project_is_followed_on_the_same_host(gitlab: str) -> None:
    assert (await ask(gitlab, "moved/here")).data["pipeline_id"] == 501


async def test_the_token_never_follows_a_redirect_to_another_host(gitlab: str) -> None:
    outcome = await ask(gitlab, "moved/away")
    assert code(outcome) == "upstream_denied"
    seen = await asyncio.to_thread(requests_seen, gitlab)
    assert any("moved%2Faway" in request["path"] for request in seen)
    assert {request["host"] for request in seen} == {"127.0.0.1"}


@pytest.mark.parametrize(
    "config",
    [
        {"base_url": ""},
        {"base_url": "file:///etc"},
        {"base_url": "ftp://gitlab.example.com"},
        {"base_url": "gitlab.example.com"},
        {"base_url": "http://me:secret@gitlab.example.com"},
        {"base_url": "http://[gitlab"},
        {"token": "glpat-right\r\nHost: elsewhere"},
        {"token": "glpat right"},
    ],
)
async def test_what_cannot_be_used_is_told_by_its_key(gitlab: str, config: dict[str, str]) -> None:
    outcome = await ask(gitlab, "group/docs", config=config)
    assert code(outcome) == "not_configured"
    assert f"plugins.gitlab-pipeline.{next(iter(config))}" in message(outcome)


@pytest.mark.parametrize("url", ["http://gitlab.example.com:port", "http://" + "a" * 70 + ".example"])
async def test_an_address_without_a_host_behind_it_is_upstream_unavailable(url: str) -> None:
    assert code(await ask(url, "group/docs")) == "upstream_unavailable"


@pytest.mark.parametrize(
    "project", ["group/docs", "group/unknown", "group/private", "broken/down", "broken/cut", "moved/away"]
)
async def test_the_token_is_in_nothing_that_comes_back(gitlab: str, project: str) -> None:
    assert TOKEN not in repr(await ask(gitlab, project))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("web 的流水线过了吗", {"project": "web"}),
        ("项目 web 的流水线", {"project": "web"}),
        ("帮我看看web的流水线", {"project": "web"}),
        ("web 项目的最近一次构建", {"project": "web"}),
        ("看看项目 group/web 分支 main 的流水线", {"project": "group/web", "ref": "main"}),
        ("ｗｅｂ　的流水线", {"project": "web"}),
        ("did the web pipeline pass", {"project": "web"}),
        ("did web's last pipeline pass?", {"project": "web"}),
        ("is the pipeline of web green?", {"project": "web"}),
        ("show the pipeline for project group/web.ui.", {"project": "group/web.ui"}),
        ("pipeline of group/web on branch main", {"project": "group/web", "ref": "main"}),
        ("web", {"project": "web"}),
        ("流水线过了吗", {}),
        ("did the pipeline pass", {}),
        ("show the latest pipeline", {}),
        ("pipeline of branch main", {"ref": "main"}),
        ("state of pipeline", {}),
        ("gitlab 流水线", {}),
    ],
)
def test_the_project_is_found_in_the_sentence_and_never_guessed(text: str, found: dict[str, str]) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert Parameters(intent).fill(text, {}) == found


@pytest.mark.parametrize("project", ["../users", "web project", "", "-rf", 22])
def test_a_project_that_is_no_path_is_refused_by_the_manifest(project: str | int) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert Parameters(intent).problems({"project": project})


def test_the_plugin_loads_without_any_setting_or_variable(tmp_path: Path) -> None:
    manifest = load_manifest(FOLDER)
    assert manifest.env == ()
    assert plugin_config(manifest, {}, base_dir=tmp_path) == {}
