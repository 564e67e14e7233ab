"""gitlab-run against a GitLab of our own: what it sends, what it says, and what a refusal means."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from hermes.host.manifests.manifest import load_manifest, plugin_config
from hermes.host.manifests.parameters import Parameters
from hermes.sdk.testing import load, run
from tests.support.gitlab import MAIN, TOKEN, FakeGitLab, Order, problem

FOLDER = Path(__file__).parents[2] / "plugins" / "gitlab-run"

handle = load(FOLDER)


async def test_a_pipeline_is_made_and_its_number_address_and_state_come_back(
    runs: FakeGitLab, order: Order
) -> None:
    outcome = await order.attempt(MAIN | {"ref": "功能", "variables": {"DEPLOY": '生产 "1"', "n": ""}})
    assert (outcome.error, outcome.warning) == (None, None)
    assert outcome.data == {
        "id": 101,
        "web_url": "http://gitlab.example/group/web/-/pipelines/101",
        "status": "created",
        "sha": "50f0acb76a40e34a4ff304f7347dcc6587da8a14",
        "project": "group/web",
        "ref": "功能",
    }
    assert set(load_manifest(FOLDER).summary.fields) <= set(outcome.data)
    (made,) = runs.pipelines
    variables = {each["key"]: each["value"] for each in made["variables"]}
    assert len(variables.pop("HERMES_KEY")) == 32
    assert (made["told"]["ref"], variables) == ("功能", {"DEPLOY": '生产 "1"', "n": ""})
    assert order.notes == []


async def test_a_second_attempt_returns_the_pipeline_of_the_first_and_asks_nothing(
    runs: FakeGitLab, order: Order
) -> None:
    first, again = [await order.attempt() for _ in range(2)]
    assert first.data == again.data
    assert [request["method"] for request in runs.seen] == ["POST"]


async def test_two_messages_make_two_pipelines(runs: FakeGitLab, tmp_path: Path) -> None:
    for request_id in ("r-1", "消息-2"):
        assert (await Order(runs, tmp_path, request_id).attempt()).error is None
    keys = [variable["value"] for each in runs.pipelines for variable in each["variables"]]
    assert len(set(keys)) == 2


@pytest.mark.parametrize(
    ("project", "namespace"), [("web", "group"), ("/web/", "/group/"), ("group/web", "other")]
)
async def test_a_bare_name_lies_in_the_configured_namespace(
    order: Order, project: str, namespace: str
) -> None:
    outcome = await order.attempt({"project": project, "ref": "main"}, namespace=namespace)
    assert outcome.data["project"] == "group/web"


@pytest.mark.parametrize(
    ("locale", "line"),
    [("zh", "正在 group/web 的 main 上启动流水线"), ("en", "Starting the pipeline of group/web on main")],
)
async def test_progress_is_told_in_the_language_of_the_request(order: Order, locale: str, line: str) -> None:
    assert [told.text for told in (await order.attempt(locale=locale)).progress] == [line]


async def test_address_and_token_may_come_from_the_variables_of_the_manifest(runs: FakeGitLab) -> None:
    secrets = {"GITLAB_URL": runs.url + "/", "GITLAB_TOKEN": TOKEN + "\n"}
    assert (await run(handle, MAIN, secrets=secrets)).data["id"] == 101


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str, bool]] = [
    ({}, {"payload": {"project": "group/nope", "ref": "main"}}, "not_found", False),
    ({}, {"payload": {"project": "group/web", "ref": "nowhere"}}, "not_found", False),
    ({}, {"payload": {"project": "group/private", "ref": "main"}}, "upstream_denied", False),
    ({}, {"payload": {"project": "group/strict", "ref": "main"}}, "upstream_denied", False),
    ({}, {"token": "glpat-wrong"}, "upstream_denied", False),
    ({}, {"token": "glpat-narrow"}, "upstream_denied", False),
    (
        {"status": 400, "message": {"base": ["No stages / jobs for this pipeline."]}},
        {},
        "invalid_payload",
        False,
    ),
    ({"status": 400, "message": ["odd", 7]}, {}, "invalid_payload", False),
    ({"status": 400, "then": "odd"}, {}, "invalid_payload", False),
    ({"status": 409}, {}, "invalid_payload", False),
    ({"status": 429}, {}, "upstream_unavailable", True),
    ({"then": "move"}, {}, "upstream_denied", False),
]


@pytest.mark.parametrize("locale", ["zh", "en"])
@pytest.mark.parametrize(("day", "more", "code", "retryable"), REFUSED)
async def test_a_refusal_has_its_code_and_leaves_the_key_free(
    runs: FakeGitLab, order: Order, locale: str, day: Any, more: Any, *, code: str, retryable: bool
) -> None:
    runs.start_day(creates=False, **day)
    outcome = await order.attempt(locale=locale, **more)
    assert outcome.error is not None
    assert (outcome.error["code"], outcome.error["retryable"]) == (code, retryable)
    assert any("\u4e00" <= sign <= "\u9fff" for sign in outcome.error["message"]) == (locale == "zh")
    assert (order.store.kept, order.notes, runs.pipelines) == ({}, [], [])
    assert {request["host"] for request in runs.seen} == {"127.0.0.1"}
    assert TOKEN not in repr(outcome)


async def test_gitlabs_own_reason_is_told(runs: FakeGitLab, order: Order) -> None:
    assert (
        "set pipeline variables"
        in problem(await order.attempt({"project": "group/strict", "ref": "main"}))[1]
    )
    runs.start_day(creates=False, status=400, message={"base": ["No stages / jobs for this pipeline."]})
    assert "No stages / jobs" in problem(await order.attempt())[1]


async def test_nobody_listening_has_made_nothing(order: Order) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for host in (f"127.0.0.1:{port}", "a" * 70 + ".example"):
        outcome = await order.attempt(base_url=f"http://{host}")
        assert outcome.error is not None
        assert (problem(outcome)[0], outcome.error["retryable"]) == ("upstream_unavailable", True)
        assert outcome.warning is None
    assert (order.store.kept, order.notes) == ({}, [])


async def test_a_call_that_has_no_time_left_asks_nothing(runs: FakeGitLab, order: Order) -> None:
    assert problem(await order.attempt(within=0.4))[0] == "upstream_unavailable"
    assert (runs.seen, order.store.kept) == ([], {})


@pytest.mark.parametrize(
    "config",
    [
        {"base_url": ""},
        {"base_url": "file:///etc"},
        {"base_url": "gitlab.example.com"},
        {"base_url": "http://me:secret@gitlab.example.com"},
        {"base_url": "http://[gitlab"},
        {"base_url": "http://gitlab.example.com:port"},
        {"base_url": "http://gitlab.example.com/a b"},
        {"base_url": "http://gitlab.example.com/?a=b"},
        {"token": ""},
        {"token": "glpat-right\r\nHost: elsewhere"},
        {"token": "glpat right"},
    ],
)
async def test_what_cannot_be_used_is_told_by_its_key(
    runs: FakeGitLab, order: Order, config: dict[str, Any]
) -> None:
    code, message = problem(await order.attempt(**config))
    assert code == "not_configured"
    assert f"plugins.gitlab-run.{next(iter(config))}" in message
    assert runs.seen == []


async def test_it_loads_without_any_setting_and_says_then_that_it_is_not_configured(tmp_path: Path) -> None:
    manifest = load_manifest(FOLDER)
    config = plugin_config(manifest, {}, base_dir=tmp_path)
    assert manifest.env == ()
    for locale in ("zh", "en"):
        assert problem(await run(handle, MAIN, config=config, locale=locale))[0] == "not_configured"


def test_a_pipeline_is_confirmed_before_it_is_started_and_never_repeated_by_itself() -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert (intent.writes, intent.idempotent, bool(intent.confirm)) == (True, False, True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("触发 group/web 的流水线，分支 main", {"project": "group/web", "ref": "main"}),
        ("在 web 的 main 分支上跑流水线", {"project": "web", "ref": "main"}),
        ("在项目 group/web 的 develop 分支上触发流水线", {"project": "group/web", "ref": "develop"}),
        ("启动 web main 分支的流水线", {"project": "web", "ref": "main"}),
        ("用 main 分支跑 group/web 流水线", {"project": "group/web", "ref": "main"}),
        ("触发　ｗｅｂ　的流水线，分支　ｍａｉｎ", {"project": "web", "ref": "main"}),
        ("run the pipeline of group/web on main", {"project": "group/web", "ref": "main"}),
        ("run web's pipeline on main.", {"project": "web", "ref": "main"}),
        ("trigger a build for web on tag v1.0", {"project": "web", "ref": "v1.0"}),
        ("kick off the pipeline of web on the main branch", {"project": "web", "ref": "main"}),
        (
            "rerun pipeline for group/web-ui, branch feature/x_1.",
            {"project": "group/web-ui", "ref": "feature/x_1"},
        ),
        ("跑一下 web 的流水线", {"project": "web"}),
        ("run the pipeline on main", {"ref": "main"}),
        ("trigger pipeline of branch main", {"ref": "main"}),
        ("触发流水线", {}),
        ("run the pipeline", {}),
    ],
)
def test_project_and_branch_are_found_in_the_sentence_and_never_guessed(
    text: str, found: dict[str, str]
) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert Parameters(intent).fill(text, {}) == found


@pytest.mark.parametrize(
    "payload",
    [
        {"project": "group/web"},
        {"project": "../users", "ref": "main"},
        {"project": "web", "ref": "-x"},
        {"project": "web", "ref": "a b"},
        {"project": "web", "ref": "main", "variables": {"HERMES_KEY": "mine"}},
        {"project": "web", "ref": "main", "variables": {"A-B": "1"}},
        {"project": "web", "ref": "main", "variables": {"A": 1}},
        {"project": "web", "ref": "main", "variables": "A=1"},
    ],
)
def test_what_gitlab_could_not_take_is_refused_by_the_manifest(payload: dict[str, Any]) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert Parameters(intent).problems(payload)
