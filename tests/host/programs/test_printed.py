from __future__ import annotations

from typing import Any

import pytest

from hermes.host.programs.printed import value_of
from hermes.host.workers.failures import Raised


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        (b"", None),
        (b" \r\n", None),
        (b"null", None),
        (b"-9223372036854775808", -(2**63)),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"\xef\xbb\xbf{}\r\n", {}),
        ("甲\r\n\r\n".encode(), "甲"),
        (b"0042", "0042"),
        (b"1.5.3", "1.5.3"),
        (b"[1, 2", "[1, 2"),
        (b"{not json}", "{not json}"),
        (b"a\x00b", "a\x00b"),
        (b"0.1234567890123456789012345", 0.12345678901234568),
        (b'["123456789012345678901234"]', ["123456789012345678901234"]),
    ],
)
def test_an_answer_is_json_or_the_text_that_it_is(printed: bytes, value: Any) -> None:
    assert value_of(printed) == value


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (b'{"a": [NaN]}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1e400}', "cannot be read|beyond"),
        (b'{"a": -9223372036854775809}', "beyond 64 bits"),
        (b"1" * 30, "beyond 64 bits"),
        (b'{"a": 123456789012345678901234, "b": NaN}', "beyond 64 bits"),
        (b'{"a": "\\udc00"}', "cannot be read"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_not_strict_is_no_text_and_no_result(printed: bytes, reason: str) -> None:
    with pytest.raises(Raised, match=reason):
        value_of(printed)
