"""What people say and what must come of it: `intent` is dispatched, `intent?` with a warning."""

from __future__ import annotations

import pytest

from hermes.messages import Decision
from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry
from hermes.routing.router import Router

SYSTEM = dict.fromkeys(["负载", "内存", "memory", "磁盘", "disk", "cpu"], 0.9)
SYSTEM |= {"load": 0.7, "状态": 0.4, "status": 0.4, "系统状态": 0.8, "system status": 0.8, "k8s集群": 0.8}
PIPELINE = {
    "流水线": 0.9,
    "pipeline": 0.9,
    "构建": 0.5,
    "build": 0.5,
    "GitLab": 0.6,
    "状态": 0.3,
    "status": 0.3,
}
ROUTER = Router(
    ["prefix", "keyword"],
    Thresholds(),
    entries=[
        IntentEntry(
            "echo", "echo", {"echo": 0.9, "say after me": 0.9, "回声": 0.9, "复述": 0.9, "重复": 0.6}
        ),
        IntentEntry("system.status", "system-status", SYSTEM),
        IntentEntry("ci.pipeline.status", "gitlab-pipeline", PIPELINE, priority=10),
        IntentEntry(
            "db.query",
            "sqlite-query",
            {"查询": 0.6, "query": 0.6, "sql": 0.9, "数据库": 0.7, "database": 0.7},
        ),
        IntentEntry("db.tables", "sqlite-query", {"有哪些表": 0.9, "list tables": 0.9, "数据库": 0.65}),
        IntentEntry("log.show", "log-viewer", {"日志": 0.65, "log": 0.8}),
        IntentEntry("ci.build", "build-tool", {"编译": 0.9, "compile": 0.9, "构建": 0.65}),
    ],
)

CHINESE = [
    ("看看机器的负载", "system.status"),
    ("内存还剩多少？", "system.status"),
    ("磁盘快满了吗", "system.status"),
    ("ＣＰＵ占用高不高", "system.status"),
    ("cpu和内存，还有磁盘", "system.status"),
    ("系统状态怎么样", "system.status"),
    ("系统，状态怎么样", "no_match"),
    ("查看K8S集群", "system.status"),
    ("查看ｋ８ｓ集群🚀", "system.status"),
    ("状态", "no_match"),
    ("web 的流水线过了吗", "ci.pipeline.status"),
    ("web的流水线状态", "ci.pipeline.status"),
    ("流\u200b水线", "ci.pipeline.status"),
    ("🚀🚀流水线🚀🚀", "ci.pipeline.status"),
    ("上一条 Pipeline 失败了没", "ci.pipeline.status"),
    ("ｇｉｔｌａｂ上的构建", "ci.pipeline.status"),
    ("GitLab 怎么了", "ci.pipeline.status?"),
    ("流水线在跑，机器的负载高吗", "ci.pipeline.status"),  # by priority
    ("负载这么高，是在编译吗", "clarify"),
    ("帮我把上次那个失败的构建日志拉出来", "clarify"),
    ("看看昨天的日志", "log.show?"),
    ("编译一下 web", "ci.build"),
    ("查询数据库里的用户", "db.query"),
    ("查询一下明天的天气", "db.query?"),
    ("跑一句 SQL：select 1", "db.query"),
    ("数据库", "clarify"),
    ("数据库里有哪些表", "db.tables"),
    ("回声 你好", "echo"),
    ("复述：我爱北京天安门", "echo"),
    ("再重复一遍", "echo?"),
    ("明天下午有没有空的会议室", "no_match"),
    ("今天天气不错", "no_match"),
    ("你好", "no_match"),
    ("目录catalog在哪", "no_match"),
]

ENGLISH = [
    ("How is the LOAD on this machine?", "system.status?"),
    ("how much memory is left", "system.status"),
    ("Is the disk full?", "system.status"),
    ("are the disks full", "system.status"),
    ("CPU!", "system.status"),
    ("system status, please", "system.status"),
    ("status of the system", "no_match"),
    ("did the web pipeline pass", "ci.pipeline.status"),
    ("show all pipelines", "ci.pipeline.status"),
    ("did the web, pipeline pass ??", "ci.pipeline.status"),
    ("ｄｉｄ　ｔｈｅ　ｐｉｐｅｌｉｎｅ　ｐａｓｓ", "ci.pipeline.status"),
    ("status of the build", "ci.pipeline.status?"),
    ("the GITLAB build", "ci.pipeline.status"),
    ("the git-lab build", "ci.pipeline.status"),
    ("pipeline-status", "ci.pipeline.status"),
    ("getPipelineStatus", "ci.pipeline.status"),
    ("pipeline and disk", "ci.pipeline.status"),  # by priority
    ("memory of the sql server", "clarify"),
    ("show me the log", "log.show"),
    ("something is logging a lot", "log.show"),
    ("show me the catalog", "no_match"),
    ("I cannot login", "no_match"),
    ("build log", "log.show"),
    ("run this sql: select 1", "db.query"),
    ("query the database", "db.query"),
    ("list tables", "db.tables"),
    ("list all tables", "no_match"),
    ("compiling takes too long", "ci.build"),
    ("echo hello", "echo"),
    ("say after me: good morning", "echo"),
    ("the echoes of the past", "echo"),
    ("the workload is high", "no_match"),
    ("downloads", "no_match"),
    ("what can you do?", "no_match"),
]

COMMANDS = [
    ("/echo 流水线", "echo"),
    ("／回声 你好", "echo"),
    ("/gitlab-pipeline web", "ci.pipeline.status"),
    ("/sqlite-query 用户", "clarify"),
    ("/var/log/syslog", "log.show"),
    ("/help", "no_match"),
]

HARMLESS = ["{}。", "{}！！", "，{}", "  {}  ", "{} 🎉", "\ufeff{}", "“{}”", "{}\n", "\u202b{}\u202c", "…{}…"]


def came_to(decision: Decision) -> str:
    return f"{decision.intent}{'?' if decision.warning else ''}" or decision.outcome


@pytest.mark.parametrize(("text", "expected"), [*CHINESE, *ENGLISH, *COMMANDS])
def test_a_sentence_goes_where_a_person_would_send_it(text: str, expected: str) -> None:
    assert came_to(ROUTER.route(text).decision) == expected


@pytest.mark.parametrize(("text", "expected"), [*CHINESE, *ENGLISH])
def test_punctuation_space_and_emoji_around_a_sentence_change_nothing(text: str, expected: str) -> None:
    plain = ROUTER.route(text).decision
    for dress in HARMLESS:
        dressed = ROUTER.route(dress.format(text)).decision
        assert came_to(dressed) == expected
        assert dressed.candidates == plain.candidates


@pytest.mark.parametrize(("text", "expected"), ENGLISH)
def test_case_and_width_change_nothing(text: str, expected: str) -> None:
    wide = "".join(chr(ord(sign) + 0xFEE0) if "!" <= sign <= "~" else sign for sign in text)
    assert came_to(ROUTER.route(wide).decision) == expected
    if text.lower() == text:
        assert came_to(ROUTER.route(text.upper()).decision) == expected
