"""A sentence comes in, an envelope comes back: in Chinese and English, with emoji and full-width letters."""

from __future__ import annotations

import pytest

from tests.support.daemon import Daemon


@pytest.mark.parametrize(
    ("sentence", "intent"),
    [
        ("系统状态怎么样", "system.status"),
        ("how is the server", "system.status"),
        ("复述 你好，世界 👋", "echo"),
        ("echo good morning 🌅", "echo"),
        ("ＥＣＨＯ　ｆｕｌｌ　ｗｉｄｔｈ", "echo"),
        ("请帮我看看服务器的ＣＰＵ", "system.status"),
    ],
)
def test_a_sentence_reaches_the_plugin_it_is_meant_for(daemon: Daemon, sentence: str, intent: str) -> None:
    record = daemon.send(sentence)
    assert record["status"] == "succeeded"
    assert record["message"]["intent"] == record["decision"]["intent"] == intent
    assert record["decision"]["outcome"] == "dispatch"
    assert record["envelope"]["error"] is None


@pytest.mark.parametrize(
    "sentence", ["复述 “引号” 与 emoji 👩‍👩‍👧‍👦🇨🇳", "echo ｆｕｌｌ\u3000ｗｉｄｔｈ\u2028next\tline\u0000end"]
)
def test_every_character_comes_back_as_it_was_sent(daemon: Daemon, sentence: str) -> None:
    record = daemon.send(sentence)
    assert record["envelope"]["data"] == {"text": sentence}
    assert daemon.get(record["links"]["raw"]).json == {"text": sentence}


def test_the_envelope_has_data_error_time_and_warning_and_nothing_else(daemon: Daemon) -> None:
    envelope = daemon.send("echo hello")["envelope"]
    assert set(envelope) == {"data", "error", "elapsed_ms", "warning"}
    assert envelope["data"] == {"text": "echo hello"}
    assert envelope["error"] is envelope["warning"] is None
    assert isinstance(envelope["elapsed_ms"], float)


def test_the_record_says_what_was_asked_by_whom_and_what_became_of_it(daemon: Daemon) -> None:
    record = daemon.send("复述 早上好", source="im", metadata={"room": "运维"})
    message = record["message"]
    assert set(message) == {"request_id", "session_id", "intent", "payload", "source", "timestamp"}
    assert message["payload"] == {"text": "复述 早上好"}
    assert message["source"] == "im"
    assert record["request_id"] == message["request_id"]
    assert record["session_id"] == message["session_id"]
    assert record["principal"] == {"kind": "local", "id": "local", "person": None}
    assert record["plugin"]["name"] == "echo"
    assert record["metadata"] == {"room": "运维"}
    assert record["attempts"] == 1
    assert message["timestamp"] == record["received_at"] <= record["finished_at"]
    assert record["links"]["self"] == f"/v1/messages/{record['request_id']}"
    assert record["parent"] is record["resumes"] is record["retry_of"] is record["confirmation"] is None


def test_the_record_is_the_same_whenever_it_is_asked_for(daemon: Daemon) -> None:
    record = daemon.send("echo once")
    assert daemon.record(record["request_id"]) == record


def test_the_digest_is_the_result_in_words(daemon: Daemon) -> None:
    assert daemon.send("echo hello")["digest"] == "**text**: echo hello"
    failed = daemon.send("这句话没有工具")
    assert failed["envelope"]["error"]["message"] in failed["digest"]


def test_an_intent_with_its_payload_needs_no_sentence_and_no_router(daemon: Daemon) -> None:
    record = daemon.send(intent="echo", payload={"text": "直接", "steps": 0})
    assert record["decision"]["outcome"] == "given"
    assert record["envelope"]["data"] == {"text": "直接", "steps": 0}


def test_an_empty_intent_is_left_to_the_router(daemon: Daemon) -> None:
    record = daemon.send("echo hello", intent="")
    assert record["decision"]["outcome"] == "dispatch"
    assert record["message"]["intent"] == "echo"


def test_messages_sort_by_the_time_they_came_if_hermes_names_them(daemon: Daemon) -> None:
    ids = [daemon.accept(intent="lab.process") for _ in range(3)]
    assert ids == sorted(ids)
