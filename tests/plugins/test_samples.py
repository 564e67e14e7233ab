"""What all sample plugins have in common: manifests that load, code that needs nothing, sentences that arrive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes.host.manifests.manifest import Intent, Manifest, load_manifest
from hermes.host.manifests.parameters import Parameters
from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry
from hermes.routing.router import Router
from tests.support.samples import SAMPLES

ROOT = Path(__file__).parents[2]
MANIFESTS = [load_manifest(folder) for folder in SAMPLES.values()]
INTENTS = [(manifest.name, intent) for manifest in MANIFESTS for intent in manifest.intents]
EXAMPLES = [
    pytest.param(intent, text, id=f"{intent.name}: {text}")
    for _, intent in INTENTS
    for text in intent.examples
]


@pytest.fixture(scope="module")
def router() -> Router:
    entries = [
        IntentEntry(intent.name, plugin, intent.keywords, intent.priority, intent.writes)
        for plugin, intent in INTENTS
    ]
    return Router(["prefix", "keyword"], Thresholds(), entries=entries)


@pytest.mark.parametrize("folder", SAMPLES.values(), ids=SAMPLES)
def test_a_plugin_is_called_like_its_folder_and_needs_no_variable(folder: Path) -> None:
    manifest = load_manifest(folder)
    assert manifest.name == folder.name
    assert (manifest.env, manifest.dependencies) == ((), ())


IN_PYTHON = [manifest for manifest in MANIFESTS if manifest.runtime == "python"]


@pytest.mark.parametrize("manifest", IN_PYTHON, ids=lambda manifest: manifest.name)
def test_a_plugin_needs_the_standard_library_and_the_sdk_alone(manifest: Manifest) -> None:
    folder, (module, _, name) = SAMPLES[manifest.name], manifest.options.entry.partition(":")
    code = f"import {module} as plugin, sys; assert plugin.{name}.__code__.co_argcount == 2\n"
    code += "assert not [name for name in sys.modules if name.startswith('hermes.') and name[:10] != 'hermes.sdk']"
    command = [sys.executable, "-S", "-B", "-W", "error", "-c", code]
    subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, check=True, timeout=20)


@pytest.mark.parametrize("intent", [intent for _, intent in INTENTS], ids=lambda intent: intent.name)
def test_an_intent_speaks_chinese_and_english(intent: Intent) -> None:
    assert set(intent.ack) == {"zh", "en"}
    for words in (intent.keywords, intent.examples):
        assert {text.isascii() for text in words} == {True, False}


@pytest.mark.parametrize(("intent", "text"), EXAMPLES)
def test_an_example_of_the_manifest_arrives_with_its_parameters(
    router: Router, intent: Intent, text: str
) -> None:
    decision = router.route(text).decision
    assert (decision.outcome, decision.intent, decision.warning) == ("dispatch", intent.name, None)
    assert decision.confidence >= 0.8
    parameters = Parameters(intent)
    assert parameters.problems(parameters.fill(text, {"text": text})) == []


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("echo hello", "echo"),
        ("复述 你好", "echo"),
        ("回声", "echo"),
        ("ＥＣＨＯ　ｈｉ", "echo"),
        ("echo the pipeline of web", "ci.pipeline.status"),
        ("/echo select 1 from t", "echo"),
        ("系统状态", "system.status"),
        ("负载高吗", "system.status"),
        ("内存还够吗", "system.status"),
        ("服务器怎么样，磁盘满了吗", "system.status"),
        ("how is the server doing", "system.status"),
        ("what is the load and the memory of the server", "system.status"),
        ("show me cpu and disk usage", "system.status"),
        ("uptime", "system.status"),
        ("web 的流水线状态", "ci.pipeline.status"),
        ("pipeline status of group/web", "ci.pipeline.status"),
        ("the build status of web", "ci.pipeline.status"),
        ("/gitlab-pipeline web", "ci.pipeline.status"),
        ("web 项目的构建状态", "ci.pipeline.status"),
        ("SELECT name FROM products", "db.query"),
        ("select * from pipeline", "db.query"),
        ("用 sql 查一下订单", "db.query"),
        ("with t as (select 1) select * from t", "db.query"),
        ("数据库有哪些表", "db.tables"),
        ("show tables", "db.tables"),
        ("what tables does the database have", "db.tables"),
        ("select name from tables", "db.query"),
        ("给 OPS 建个工单：磁盘满了", "ticket.create"),
        ("帮我提单：web 的流水线又红了", "ticket.create"),
        ("在项目 WEB 里新建工单，标题是系统状态页打不开", "ticket.create"),
        ("create a ticket in OPS: the pipeline of web is red, select fails", "ticket.create"),
        ("please open a ticket about the server status", "ticket.create"),
        ("ＣＲＥＡＴＥ Ａ ＴＩＣＫＥＴ: disk full", "ticket.create"),
        ("/ticket-create 磁盘满了", "ticket.create"),
        ("磁盘使用率", "disk.usage"),
        ("磁盘使用率多少", "disk.usage"),
        ("/data 还剩多少空间", "disk.usage"),
        ("哪个分区的剩余空间最少", "disk.usage"),
        ("the disk usage of the server", "disk.usage"),
        ("df", "disk.usage"),
        ("/disk-usage /var", "disk.usage"),
        ("磁盘还剩多少", "system.status"),
        ("磁盘满了吗", "disk.usage"),
        ("磁盘用了多少", "disk.usage"),
        ("硬盘空间", "disk.usage"),
        ("我的硬盘快满了", "disk.usage"),
        ("内存和磁盘用了多少", "system.status"),
        ("how full is the disk", "disk.usage"),
        ("is the disk full", "disk.usage"),
        ("cpu 使用率", "system.status"),
        ("内存使用率", "system.status"),
        ("how much disk space is left", "disk.usage"),
        ("disk usage and load of the server", "system.status"),
        ("https://example.com/a 能打开吗", "http.check"),
        ("检查网站 example.com", "http.check"),
        ("网站 example.com 能访问吗", "http.check"),
        ("上线网站", "no_match"),
        ("10.0.0.5:22 端口通吗", "http.check"),
        ("is https://example.com up", "http.check"),
        ("check the certificate of example.com", "http.check"),
        ("/http-check example.com:22", "http.check"),
        ("提单：https://example.com/a 打不开", "ticket.create"),
        ("create a ticket in OPS: the certificate of example.com expires", "ticket.create"),
        ("echo https://example.com", "echo"),
        ("web 的流水线 https://gitlab.example.com/group/web", "ci.pipeline.status"),
        ("触发 web 的流水线", "ci.pipeline.run"),
        ("帮我重跑一下 group/web 的流水线", "ci.pipeline.run"),
        ("触发流水线", "ci.pipeline.run"),
        ("跑一下 web 的构建", "ci.pipeline.run"),
        ("run the web pipeline on main", "ci.pipeline.run"),
        ("please trigger a build for web on tag v1.0", "ci.pipeline.run"),
        ("Rerun pipeline for web", "ci.pipeline.run"),
        ("/gitlab-run web main", "ci.pipeline.run"),
        ("web 的流水线跑完了吗", "ci.pipeline.status"),
        ("web 的流水线在跑吗", "ci.pipeline.status"),
        ("上次触发的流水线怎么样", "ci.pipeline.status"),
        ("为什么 web 的流水线没有跑起来", "ci.pipeline.status"),
        ("did the web pipeline run", "ci.pipeline.status"),
        ("is the pipeline of web still running", "ci.pipeline.status"),
        ("show the last pipeline run of web", "ci.pipeline.status"),
        ("who triggered the pipeline of web", "ci.pipeline.status"),
        ("8.8.8.8 的归属地", "ip.info"),
        ("IP 8.8.8.8 在哪里", "ip.info"),
        ("where is ip 8.8.8.8", "ip.info"),
        ("where is my ticket", "no_match"),  # no keyword can tell that an address follows
        ("where is the pipeline of web", "ci.pipeline.status"),
        ("is the server up", "no_match"),
        ("the time is up", "no_match"),
        ("查一下 ip 8.8.8.8 的 443 端口通吗", "http.check"),
        ("查一下工单 OPS-12", "no_match"),
        ("show me the jira ticket OPS-12", "no_match"),
        ("触发报警", "no_match"),
        ("trigger an alert", "no_match"),
        ("run the tests", "no_match"),
        ("启动服务器", "no_match"),
        ("open the door", "no_match"),
        ("帮我订一张去上海的机票", "no_match"),
        ("what is the weather like", "no_match"),
        ("帮我把上次那个失败的构建日志拉出来", "no_match"),
    ],
)
def test_a_sentence_arrives_where_it_is_meant_for(router: Router, text: str, intent: str) -> None:
    decision = router.route(text).decision
    assert (decision.intent or decision.outcome) == intent


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("select 1", "db.query"),
        ("is https://example.com up", "http.check"),
        ("https://example.com 通不通", "http.check"),
        ("https://example.com 通吗", "http.check"),
        ("8.8.8.8:53 端口通不通", "http.check"),
    ],
)
def test_a_sentence_that_a_page_tells_to_say_is_taken_without_a_doubt(
    router: Router, text: str, intent: str
) -> None:
    decision = router.route(text).decision
    assert (decision.outcome, decision.intent, decision.warning) == ("dispatch", intent, None)


@pytest.mark.parametrize("intent", [intent for _, intent in INTENTS], ids=lambda intent: intent.name)
def test_a_keyword_that_decides_alone_decides_for_its_own_intent(router: Router, intent: Intent) -> None:
    heavy = [keyword for keyword, weight in intent.keywords.items() if weight > 0.7]
    decisions = {keyword: router.route(keyword).decision for keyword in heavy}
    assert {keyword: one.intent or one.outcome for keyword, one in decisions.items()} == dict.fromkeys(
        heavy, intent.name
    )
