"""What a program or a server has answered, as bytes, and the value that it stands for: JSON, or else text."""

from __future__ import annotations

import json
from typing import Any

import orjson

from hermes.host.workers.failures import Raised
from hermes.sdk.wire import NOT_JSON
from hermes.strict_json import exceeds_64_bits

_MARK = b"\xef\xbb\xbf"


def value_of(printed: bytes) -> Any:
    """Return the value of an answer: JSON as strict as the wire's, else the text without newlines at its end.

    Nothing is None. Bytes that are no UTF-8 are replaced. Raises Raised for JSON that only a lenient reader takes:
    as a text it would look like a result and be none.
    """
    content = printed.removeprefix(_MARK).strip()
    if not content:
        return None
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        if content[:1] in b"{[":
            _refuse_almost_json(content, error.msg)
        return printed.removeprefix(_MARK).decode("utf-8", "replace").rstrip("\r\n")
    if exceeds_64_bits(b"[" + content + b"]"):
        raise _refusal("the result holds an integer beyond 64 bits")
    return found


def _refuse_almost_json(content: bytes, reason: str) -> None:
    if exceeds_64_bits(content):
        raise _refusal("the result holds an integer beyond 64 bits")
    try:
        json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise _refusal("the result is nested too deeply") from None
    except ValueError:
        return  # it is no JSON at all
    raise _refusal(f"the result cannot be read: {reason}")


def _refuse_constant(name: str) -> float:
    raise _refusal(f"the result holds {name}, which JSON does not have")


def _refusal(reason: str) -> Raised:
    return Raised(reason, code=NOT_JSON)
