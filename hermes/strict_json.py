"""Finds the integers that orjson would read as the nearest float. It refuses nothing itself: who reads words the refusal."""

from __future__ import annotations

import json

import re2

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_LONGEST = 20  # characters of either
# So many digits in a row, wherever: seldom true, and several times quicker found than the next.
_ZEROS, _MANY = bytes.maketrans(b"123456789", b"0" * 9), b"0" * 19
# Digits enough to be out of range, where a number may begin: far quicker found than parsed.
_suspect = re2.compile(rb"-[0-9]{19}|[:,\[\s][0-9]{20}").search


class _Beyond(Exception):
    """An integer out of range was met."""


def exceeds_64_bits(text: bytes) -> bool:
    """Say whether `text`, a JSON object or array, holds an integer outside −2⁶³ … 2⁶⁴ − 1.

    Floats may have any number of digits. What is no JSON holds none, as far as it can be read.
    """
    if _MANY not in text.translate(_ZEROS) or _suspect(text) is None:
        return False
    try:
        json.loads(text, parse_int=_check)
    except _Beyond:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _check(digits: str) -> None:
    if len(digits) > _LONGEST or not _SMALLEST <= int(digits) <= _LARGEST:
        raise _Beyond
