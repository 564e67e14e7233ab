from __future__ import annotations

from typing import Any

import pytest

from hermes.dispatch.outcomes import failed, from_answer, from_failure
from hermes.host.workers.failures import CallEnded, Crashed, Raised, ResultTooLarge, TimedOut, Unavailable
from hermes.messages import ErrorInfo, ResultEnvelope

MAY_HAVE = {"zh": "该操作可能已经生效。", "en": "It may have taken effect."}


@pytest.mark.parametrize(
    "answer",
    [
        *(None, "你好", 7, 1.5, True, [], ["a"], {}),
        {"rows": [1]},
        {"warning": "only a warning"},
        {"data": 1, "more": 2},
        {"error": None, "detail": "x"},
        {"data": 1, "error": None, "elapsed_ms": 1.5},
    ],
)
def test_any_json_that_is_no_envelope_is_the_data(answer: Any) -> None:
    assert from_answer(answer, elapsed_ms=12.5, locale="en") == ResultEnvelope(data=answer, elapsed_ms=12.5)


@pytest.mark.parametrize(
    ("answer", "envelope"),
    [
        ({"data": {"a": 1}}, ResultEnvelope({"a": 1})),
        ({"error": None}, ResultEnvelope(None)),
        ({"data": 1, "error": None, "warning": None}, ResultEnvelope(1)),
        ({"data": 1, "warning": "数据不全"}, ResultEnvelope(1, warning="数据不全")),
        (
            {"data": 1, "error": "没有", "elapsed_ms": 1.5, "warning": None},
            ResultEnvelope(1, ErrorInfo("plugin_error", "没有")),
        ),
        ({"data": 1, "warning": 42}, ResultEnvelope(1, warning="42")),
        ({"data": 1, "error": "没有权限"}, ResultEnvelope(1, ErrorInfo("plugin_error", "没有权限"))),
    ],
)
def test_an_object_of_data_error_and_warning_is_an_envelope_already(
    answer: Any, envelope: ResultEnvelope
) -> None:
    assert from_answer(answer, elapsed_ms=0.0, locale="zh") == envelope


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": "not_found", "message": "没有 web"}, ErrorInfo("not_found", "没有 web")),
        (
            {"code": "upstream_unavailable", "message": "502", "retryable": True},
            ErrorInfo("upstream_unavailable", "502", retryable=True),
        ),
        ({"code": "a1_b", "message": "own codes pass"}, ErrorInfo("a1_b", "own codes pass")),
        ({"code": "Not-A-Code", "message": "m"}, ErrorInfo("plugin_error", "m")),
        ({"code": "not_found\n", "message": "m"}, ErrorInfo("plugin_error", "m")),
        ({"code": "x" * 50, "message": "m"}, ErrorInfo("plugin_error", "m")),
        ({"code": 404, "message": "m"}, ErrorInfo("plugin_error", "m")),
        ({"message": "no code"}, ErrorInfo("plugin_error", "no code")),
        ({"code": "not_found"}, ErrorInfo("not_found", "not_found")),
        ({"code": "not_found", "message": "x" * 5000}, ErrorInfo("not_found", "x" * 1000)),
        ("x" * 5000, ErrorInfo("plugin_error", "x" * 1000)),
        ({"msg": "db down"}, ErrorInfo("plugin_error", "{'msg': 'db down'}")),
        (["odd"], ErrorInfo("plugin_error", "['odd']")),
    ],
)
def test_an_error_has_a_code_and_a_sentence_whatever_a_plugin_returns(
    error: Any, expected: ErrorInfo
) -> None:
    assert from_answer({"error": error}, elapsed_ms=0.0, locale="en").error == expected


@pytest.mark.parametrize("error", ["", {}, {"message": ""}, False])
def test_an_error_that_says_nothing_still_is_one_with_a_sentence(error: Any) -> None:
    for locale, begin in (("zh", "该工具出错"), ("en", "The tool failed")):
        found = from_answer({"data": 1, "error": error}, elapsed_ms=0.0, locale=locale).error  # type: ignore[arg-type]
        assert found is not None
        assert (found.code, found.message.startswith(begin)) == ("plugin_error", True)


FAILURES: list[tuple[CallEnded, str, bool, str, str]] = [
    (TimedOut(20), "plugin_timeout", True, "该工具执行超时（20 秒）", "The tool timed out after 20 s"),
    (TimedOut(0.5), "plugin_timeout", True, "该工具执行超时（0.5 秒）", "The tool timed out after 0.5 s"),
    (Crashed("signal 9"), "plugin_crashed", True, "进程意外退出", "ended unexpectedly"),
    (
        Raised("KeyError: 'x'"),
        "plugin_error",
        False,
        "该工具出错：KeyError: 'x'",
        "The tool failed: KeyError: 'x'",
    ),
    (ResultTooLarge("large"), "result_too_large", False, "1024 字节", "1024 bytes"),
    (Unavailable("no room"), "plugin_unavailable", True, "不可用：no room", "not available now: no room"),
]


def outcome_of(failure: CallEnded, **given: Any) -> ResultEnvelope:
    usual: dict[str, Any] = {
        "elapsed_ms": 0.0,
        "locale": "en",
        "writes": False,
        "repeatable": True,
        "limit": 1,
    }
    return from_failure(failure, **usual | given)


@pytest.mark.parametrize(("failure", "code", "retryable", "chinese", "english"), FAILURES)
def test_every_way_to_fail_has_its_code_and_a_sentence_in_both_languages(
    failure: CallEnded, code: str, retryable: bool, chinese: str, english: str
) -> None:
    for locale, part in (("zh", chinese), ("en", english)):
        envelope = outcome_of(failure, elapsed_ms=3.0, locale=locale, limit=1024)
        assert envelope.error is not None
        assert (envelope.error.code, envelope.error.retryable) == (code, retryable)
        assert part in envelope.error.message
        assert (envelope.data, envelope.warning, envelope.elapsed_ms) == (None, None, 3.0)


@pytest.mark.parametrize("failure", [failure for failure, *_ in FAILURES])
def test_a_call_that_writes_warns_if_nobody_knows_how_far_it_came(failure: CallEnded) -> None:
    unknown = isinstance(failure, TimedOut | Crashed)
    for locale, sentence in MAY_HAVE.items():
        envelope = outcome_of(failure, locale=locale, writes=True, repeatable=False)
        assert envelope.warning == (sentence if unknown else None)


@pytest.mark.parametrize("failure", [failure for failure, *_ in FAILURES])
def test_what_may_have_been_written_is_never_called_retryable(failure: CallEnded) -> None:
    error = outcome_of(failure, writes=True, repeatable=False).error
    assert error is not None
    assert error.retryable == isinstance(failure, Unavailable), (
        "only a call that never started is safe to repeat"
    )


def test_an_end_without_a_call_can_carry_data_and_a_warning() -> None:
    assert failed("clarification_needed", "哪一个？", data={"options": []}, warning="w") == ResultEnvelope(
        data={"options": []}, error=ErrorInfo("clarification_needed", "哪一个？"), warning="w"
    )
