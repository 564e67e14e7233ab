"""Text that a server sent, whatever character set it says that it is in: headers are wrong more often than contents."""

from __future__ import annotations

import codecs
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SINGLE: Final = ("iso8859", "cp125", "koi8", "mac-")  # one byte is one character
_WIDE: Final = ("utf-16", "utf-32")
_JSON: Final = (b"{", b"[", b'"')
_NO_CHARSETS: Final = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"})
_MEANT: Final = {"gb2312": "gb18030", "gbk": "gb18030", "ascii": "cp1252", "iso8859-1": "cp1252"}
"""What is mostly sent under the name of a smaller set, as browsers read it too."""


def utf8_of(content: bytes, charset: str | None) -> tuple[bytes, bool]:
    """Return a content as UTF-8, and whether all of it could be read; what could not is replaced.

    A byte order mark counts for more than what the server says. So does UTF-8 that can hardly be anything else, such as
    Chinese under the name of Latin-1. A name that is no character set counts as none, which is UTF-8.
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            return _decoded(content.removeprefix(mark), name)
    declared = _known(charset)
    if declared is None or declared == "utf-8" or _is_plainly_utf8(content, declared):
        return _decoded(content, "utf-8")
    if declared in _WIDE:
        declared += _byte_order(content, declared)
    found, whole = _decoded(content, declared)
    return (found, whole) if whole else _best(content, found)


def _best(content: bytes, found: bytes) -> tuple[bytes, bool]:
    """Return a content that is not in the set it is said to be in: as UTF-8 if it is that."""
    utf8, whole = _decoded(content, "utf-8")
    return (utf8, True) if whole and 0 not in content else (found, False)


def _known(charset: str | None) -> str | None:
    """Return Python's name of a character set, None if it is none."""
    if charset is None:
        return None
    try:
        name = codecs.lookup(charset.strip().strip("\"'")).name
        bytes(4).decode(name)  # fails where a codec does not make text of bytes
    except (LookupError, ValueError):
        return None
    return None if name.replace("-", "_") in _NO_CHARSETS else _MEANT.get(name, name)


def _is_plainly_utf8(content: bytes, declared: str) -> bool:
    """Say whether a content is UTF-8 whatever is said of it.

    Of a set with one byte a character, any longer sequence that UTF-8 has tells; of one with several, some short texts are
    good UTF-8 too, but none to speak of has sequences of three bytes. JSON in a wide set has zeros.
    """
    if declared.startswith(_WIDE):
        return content.lstrip()[:1] in _JSON and 0 not in content
    if content.isascii():
        return False
    least = 0xC2 if declared.startswith(_SINGLE) else 0xE0
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return max(content) >= least


def _byte_order(content: bytes, declared: str) -> str:
    """Return the byte order of text without a mark: that in which its first character is not a huge number."""
    width = int(declared[-2:]) // 8
    return "-be" if content[: width - 1] == bytes(width - 1) else "-le"


def _decoded(content: bytes, name: str) -> tuple[bytes, bool]:
    try:
        return content.decode(name).encode(), True
    except UnicodeError:
        return content.decode(name, "replace").encode("utf-8", "replace"), False
