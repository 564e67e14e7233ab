"""What all sample plugins have in common: manifests that load, code that needs nothing, sentences that arrive."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from hermes.host.manifest import Intent, load_manifest
from hermes.host.parameters import Parameters
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


@pytest.mark.parametrize("folder", SAMPLES.values(), ids=SAMPLES)
def test_a_plugin_needs_the_standard_library_and_the_sdk_alone(folder: Path) -> None:
    code = "import plugin, sys; assert plugin.handle.__code__.co_argcount == 2\n"
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
        ("查一下工单 OPS-12", "no_match"),
        ("show me the jira ticket OPS-12", "no_match"),
        ("帮我订一张去上海的机票", "no_match"),
        ("what is the weather like", "no_match"),
        ("帮我把上次那个失败的构建日志拉出来", "no_match"),
    ],
)
def test_a_sentence_arrives_where_it_is_meant_for(router: Router, text: str, intent: str) -> None:
    decision = router.route(text).decision
    assert (decision.intent or decision.outcome) == intent


def test_every_keyword_is_of_one_intent_or_weighs_too_little_to_decide() -> None:
    shared: dict[str, list[float]] = {}
    for keyword, weight in chain.from_iterable(intent.keywords.items() for _, intent in INTENTS):
        shared.setdefault(keyword.casefold(), []).append(weight)
    assert {
        keyword: weights for keyword, weights in shared.items() if len(weights) > 1 and max(weights) > 0.7
    } == {}
