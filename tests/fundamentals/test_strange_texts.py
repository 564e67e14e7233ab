"""Whatever text comes in, it gets a decision or a refusal that says why, and Hermes goes on."""

from __future__ import annotations

import pytest

from tests.support.daemon import Daemon

STRANGE = {
    "white space": " \n\t\u3000",
    "emoji alone": "🚀🔥👩‍👩‍👧‍👦",
    "direction marks alone": "\u202e\u200f\u202b",
    "zero-width signs alone": "\u200b\ufeff\u2060",
    "punctuation alone": "。？！……///",
    "a NUL": "\0",
    "not a letter that is known": "\U0010ffff\ue000",
}
LONG = 1_000_000


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
def test_a_text_without_a_word_is_a_no_match(daemon: Daemon, text: str) -> None:
    told = daemon.post("/v1/route", {"text": text}).json
    assert (told["outcome"], told["confidence"], told["candidates"]) == ("no_match", 0.0, [])
    assert told["reason"] == "No keyword of any intent is in the text."
    record = daemon.send(text)
    assert (record["decision"]["outcome"], record["envelope"]["error"]["code"]) == ("no_match", "no_match")


def test_no_text_at_all_is_a_no_match_to_the_router_and_no_message(daemon: Daemon) -> None:
    assert daemon.post("/v1/route", {"text": ""}).json["outcome"] == "no_match"
    refused = daemon.post("/v1/messages", {"text": ""})
    assert refused.problem == (422, "invalid_field")


@pytest.mark.parametrize("text", ["\u202eecho hi\u202c", "\u200fecho hi", "🚀echo🚀 hi", "e\u200bcho hi"])
def test_signs_without_a_width_and_emoji_hide_no_keyword(daemon: Daemon, text: str) -> None:
    told = daemon.post("/v1/route", {"text": text}).json
    assert (told["outcome"], told["intent"]) == ("dispatch", "echo")


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("x" * LONG, "no_match"),
        ("不" * (LONG // 6), "no_match"),
        ("/" * LONG, "no_match"),
        ("echo " + "x" * LONG, "dispatch"),
        ("/echo " + "x" * LONG, "dispatch"),
    ],
    ids=["one word", "one Chinese word", "slashes", "a keyword before it", "a command before it"],
)
def test_a_megabyte_gets_its_decision(daemon: Daemon, text: str, outcome: str) -> None:
    assert daemon.post("/v1/route", {"text": text}).json["outcome"] == outcome


def test_a_text_over_the_limit_is_refused(daemon: Daemon) -> None:
    for path in ("/v1/route", "/v1/messages"):
        assert daemon.post(path, {"text": "x" * 1_048_576}).problem == (413, "too_large")


@pytest.mark.parametrize("path", ["/v1/route", "/v1/messages"])
def test_half_a_surrogate_pair_is_no_json(daemon: Daemon, path: str) -> None:
    refused = daemon.request(
        "POST", path, body=b'{"text": "echo \\ud800"}', headers={"content-type": "application/json"}
    )
    assert refused.problem == (400, "malformed")
