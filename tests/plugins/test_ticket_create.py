"""ticket-create against a Jira of our own: what it sends, what it says, and what a refusal means."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from hermes.host.manifests.manifest import load_manifest, plugin_config
from hermes.host.manifests.parameters import Parameters
from hermes.sdk.testing import Call, OnceStore, Outcome, load, run
from tests.support.jira import TOKEN, USER, FakeJira

FOLDER = Path(__file__).parents[2] / "plugins" / "ticket-create"

handle = load(FOLDER)


async def order(jira: FakeJira, *, call: Call | None = None, locale: str = "en", **more: Any) -> Outcome:
    """Order a ticket; `more` are members of the payload, and `config` that of the plugin."""
    config = {"base_url": jira.url, "token": TOKEN, "project": "OPS"} | more.pop("config", {})
    return await run(handle, {"summary": "磁盘满了"} | more, config=config, locale=locale, call=call)


def problem(outcome: Outcome) -> tuple[str, str]:
    assert outcome.error is not None
    return outcome.error["code"], outcome.error["message"]


async def test_a_ticket_is_created_and_its_number_and_address_come_back(jira: FakeJira) -> None:
    outcome = await order(jira, description="/dev/sda1 已用 100%", type="Bug")
    assert outcome.error is None
    assert outcome.data == {
        "key": "OPS-1",
        "url": f"{jira.url}/browse/OPS-1",
        "summary": "磁盘满了",
        "project": "OPS",
    }
    assert set(outcome.data) == set(load_manifest(FOLDER).summary.fields)
    (issue,) = jira.issues
    (label,) = issue["fields"].pop("labels")
    assert issue["fields"] == {
        "project": {"key": "OPS"},
        "issuetype": {"name": "Bug"},
        "summary": "磁盘满了",
        "description": "/dev/sda1 已用 100%",
    }
    assert label.startswith("hermes-")
    assert len(label) == 23


async def test_every_message_has_a_label_of_its_own_and_a_retry_has_the_same(jira: FakeJira) -> None:
    for request_id in ("r-1", "r-1", "消息-2"):
        await order(jira, call=Call(request_id=request_id))
    labels = [issue["fields"]["labels"] for issue in jira.issues]
    assert labels[0] == labels[1] != labels[2]


async def test_a_second_attempt_returns_the_ticket_of_the_first_and_asks_nothing(jira: FakeJira) -> None:
    call = Call(once=OnceStore())
    first, again = [await order(jira, call=call) for _ in range(2)]
    assert first.data == again.data
    assert [request["method"] for request in jira.seen] == ["POST"]


async def test_a_named_project_comes_before_the_configured_one_in_any_case(jira: FakeJira) -> None:
    outcome = await order(jira, project="web", config={"issue_type": "任务", "base_url": jira.url + "/"})
    assert (outcome.data["key"], outcome.data["url"]) == ("WEB-1", f"{jira.url}/browse/WEB-1")
    assert jira.issues[0]["fields"]["issuetype"] == {"name": "任务"}


@pytest.mark.parametrize(
    ("locale", "line"), [("zh", "正在项目 OPS 中创建工单"), ("en", "Creating a ticket in OPS")]
)
async def test_progress_is_told_in_the_language_of_the_request(
    jira: FakeJira, locale: str, line: str
) -> None:
    assert [told.text for told in (await order(jira, locale=locale)).progress] == [line]


async def test_a_user_makes_it_basic_and_without_one_it_is_a_bearer(jira: FakeJira) -> None:
    await order(jira, config={"user": USER})
    await order(jira)
    secrets = {"JIRA_URL": jira.url, "JIRA_USER": USER, "JIRA_TOKEN": TOKEN + "\n"}
    outcome = await run(handle, {"summary": "disk full", "project": "OPS"}, secrets=secrets)
    assert outcome.error is None
    assert [request["auth"] for request in jira.seen] == ["Basic", "Bearer", "Basic"]


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str, bool]] = [
    ({}, {"project": "NOPE"}, "not_found", False),
    ({}, {"type": "Rumour"}, "invalid_payload", False),
    ({}, {"config": {"token": "jira-wrong"}}, "upstream_denied", False),
    ({}, {"config": {"user": "somebody@example.com"}}, "upstream_denied", False),
    ({"status": 403}, {}, "upstream_denied", False),
    ({"status": 404}, {}, "upstream_unavailable", False),
    ({"status": 413}, {}, "invalid_payload", False),
    ({"status": 422}, {}, "upstream_denied", False),
    ({"status": 429}, {}, "upstream_unavailable", True),
    ({"then": "move"}, {}, "upstream_denied", False),
]


@pytest.mark.parametrize("locale", ["zh", "en"])
@pytest.mark.parametrize(("day", "more", "code", "retryable"), REFUSED)
async def test_a_refusal_has_its_code_and_leaves_the_key_free(
    jira: FakeJira, locale: str, day: Any, more: Any, *, code: str, retryable: bool
) -> None:
    jira.start_day(creates=False, **day)
    store = OnceStore()
    outcome = await order(jira, locale=locale, call=Call(once=store), **more)
    assert outcome.error is not None
    assert (outcome.error["code"], outcome.error["retryable"]) == (code, retryable)
    assert outcome.error["message"].isascii() == (locale == "en")
    assert (store.kept, jira.issues) == ({}, [])
    assert {request["host"] for request in jira.seen} == {"127.0.0.1"}


async def test_jiras_own_reason_is_told(jira: FakeJira) -> None:
    assert "issuetype: The issue type selected is invalid." in problem(await order(jira, type="Rumour"))[1]
    assert "NOPE" in problem(await order(jira, project="nope"))[1]


async def test_the_token_is_in_nothing_that_comes_back(jira: FakeJira) -> None:
    for more in ({}, {"project": "NOPE"}, {"type": "Rumour"}, {"config": {"user": USER}}):
        assert TOKEN not in repr(await order(jira, **more))
    outcome = await order(jira, config={"token": "jira-secret\r\nHost: elsewhere"})
    assert "jira-secret" not in repr(outcome)


async def test_nobody_listening_has_created_nothing(jira: FakeJira) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    store = OnceStore()
    for host in (f"127.0.0.1:{port}", "a" * 70 + ".example"):
        outcome = await order(jira, config={"base_url": f"http://{host}"}, call=Call(once=store))
        assert outcome.error is not None
        assert (problem(outcome)[0], outcome.error["retryable"]) == ("upstream_unavailable", True)
    assert store.kept == {}


async def test_a_call_that_has_no_time_left_asks_nothing(jira: FakeJira) -> None:
    assert problem(await order(jira, call=Call(timeout=0.4)))[0] == "upstream_unavailable"
    assert jira.seen == []


@pytest.mark.parametrize(
    "config",
    [
        {"base_url": ""},
        {"base_url": "file:///etc"},
        {"base_url": "jira.example.com"},
        {"base_url": "http://me:secret@jira.example.com"},
        {"base_url": "http://[jira"},
        {"base_url": "http://jira.example.com:port"},
        {"base_url": "http://jira.example.com/a b"},
        {"base_url": "http://jira.example.com/?a=b"},
        {"token": ""},
        {"token": "jira-right\r\nHost: elsewhere"},
        {"token": "jira right"},
        {"user": "ops:example"},
        {"user": "ops\r\n"},
    ],
)
async def test_what_cannot_be_used_is_told_by_its_key(jira: FakeJira, config: dict[str, str]) -> None:
    code, message = problem(await order(jira, config=config))
    assert code == "not_configured"
    assert f"plugins.ticket-create.{next(iter(config))}" in message
    assert jira.seen == []


async def test_a_ticket_without_any_project_is_not_guessed_at(jira: FakeJira) -> None:
    code, message = problem(await order(jira, config={"project": ""}))
    assert (code, "plugins.ticket-create.project" in message) == ("invalid_payload", True)


async def test_it_loads_without_any_setting_and_says_then_that_it_is_not_configured(tmp_path: Path) -> None:
    manifest = load_manifest(FOLDER)
    config = plugin_config(manifest, {}, base_dir=tmp_path)
    assert manifest.env == ()
    for locale in ("zh", "en"):
        outcome = await run(handle, {"summary": "x"}, config=config, locale=locale)
        assert problem(outcome)[0] == "not_configured"


def test_a_ticket_is_confirmed_before_it_is_created() -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert (intent.writes, intent.idempotent, bool(intent.confirm)) == (True, False, True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("给 OPS 建个工单：磁盘满了", {"project": "OPS", "summary": "磁盘满了"}),
        ("紧急：帮我给 ops 再开个工单: 磁盘满了", {"project": "ops", "summary": "磁盘满了"}),
        ("在 WEB 项目里创建工单：首页很慢", {"project": "WEB", "summary": "首页很慢"}),
        ("OPS 建个工单：磁盘满了", {"project": "OPS", "summary": "磁盘满了"}),
        ("创建工单，项目 OPS，标题是磁盘满了", {"project": "OPS", "summary": "磁盘满了"}),
        ("创建工单到 OPS：磁盘满了", {"project": "OPS", "summary": "磁盘满了"}),
        ("创建工单“磁盘满了”", {"summary": "磁盘满了"}),
        ("提单：项目 web 挂了，12:30 起", {"summary": "项目 web 挂了，12:30 起"}),
        (
            "提单：登录页打不开\n\n\n截图见群\n第二行\n",
            {"summary": "登录页打不开", "description": "截图见群\n第二行"},
        ),
        ("create a ticket in OPS: nginx: 502", {"project": "OPS", "summary": "nginx: 502"}),
        ("urgent: open a ticket for project web: login", {"project": "web", "summary": "login"}),
        ("create a ticket in the web project titled disk full", {"project": "web", "summary": "disk full"}),
        ('create a ticket "disk full" in OPS', {"project": "OPS", "summary": "disk full"}),
        ("in OPS, open a ticket: disk full", {"project": "OPS", "summary": "disk full"}),
        ("ＯＰＥＮ　Ａ　ＴＩＣＫＥＴ　ＩＮ　ＯＰＳ： disk full", {"project": "OPS", "summary": "disk full"}),
        ("在 jira 里建个工单：磁盘满了", {"summary": "磁盘满了"}),
        ("create a ticket in JIRA for me: disk full", {"summary": "disk full"}),
        ("磁盘满了", {"summary": "磁盘满了"}),
        ("建个工单", {}),
        ("提单：", {}),
        ("create a ticket", {}),
        ("open a ticket about the server status", {}),
    ],
)
def test_summary_and_project_are_found_in_the_sentence_and_never_guessed(
    text: str, found: dict[str, str]
) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert Parameters(intent).fill(text, {}) == found


@pytest.mark.parametrize(
    "payload",
    [{"summary": ""}, {"summary": "  "}, {"summary": "a\nb"}, {"summary": "x", "project": 'OPS" OR "1'}, {}],
)
def test_what_jira_could_not_take_is_refused_by_the_manifest(payload: dict[str, str]) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert Parameters(intent).problems(payload)
