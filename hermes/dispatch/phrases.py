"""The words in which people answer a question, folded and cut into units, and whether a text is made of such words alone.

A unit is a Chinese character, or a word of another script. It knows no question and no option.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable

from hermes.routing.folding import is_cjk, readings

Units = tuple[str, ...]

LONGEST = 12  # units of a phrase
_MOST = 64  # units of an answer: who writes more says something of their own


def units(text: str) -> Units:
    """Return the units of a text, folded; none if it is too long to be an answer."""
    if len(text) > 8 * _MOST:
        return ()
    found = _units(readings(text)[0])
    return found if len(found) <= _MOST else ()


def ways(text: str) -> set[Units]:
    """Return the units of a text in each way it can be read, those of camelCase whole and split."""
    return {_units(words) for words in readings(text[: 8 * _MOST])} - {()}


def phrases(*texts: str) -> frozenset[Units]:
    """Return the units of each text, which are separated by `|`."""
    return frozenset(units(one) for text in texts for one in text.split("|"))


def covered(text: Units, content: Collection[Units], *, filler: Collection[Units]) -> bool:
    """Say whether a text consists of nothing but phrases of `content`, one at least, and of `filler`."""
    reached: list[set[bool]] = [{False}, *(set() for _ in text)]  # whether there was content, by position
    for start in range(len(text)):
        if not reached[start]:
            continue
        for end in range(start + 1, min(start + LONGEST, len(text)) + 1):
            piece = text[start:end]
            if piece in content:
                reached[end].add(True)
            if piece in filler:
                reached[end] |= reached[start]
    return True in reached[-1] if text else False


def asks(text: str) -> bool:
    """Say whether a text asks something itself."""
    return any(sign in text for sign in "?？؟﹖")


def level(text: str) -> str:
    """Return a text with its compatible forms (full width, circled) levelled."""
    return unicodedata.normalize("NFKC", text)


def _units(words: Iterable[str]) -> Units:
    return tuple(unit for word in words for unit in (word if is_cjk(word) else (word,)))


POLITE = phrases(
    "请|麻烦|谢谢|谢了|多谢|吧|了|啊|哦|呀|啦|嘛|那|就|我|我要|我想|我想要|我选|我要选|选|选择|要|用|嗯|好|是",
    "please|pls|thanks|thank you|thx|i|i d like|i want|i ll take|i would like|i choose|i pick|choose|pick|take|select|use|with",
)
"""What is said beside an answer and changes nothing about it."""

FILLER = POLITE | phrases(
    "的|那个|这个|那|这|帮我|给我|看|看看|看一下|看下|一下|我说的是|我指的是|指的是|我是说|想|里|关于|哪个是|它|查|查一下",
    "the|a|an|this|that|it|it s|its|is|one|ones|of|to|for|in|on|with|and|me|my|mean|meant|i mean|i meant|go|go for|about",
)
"""What is said around the words that tell which one is meant."""

REFUSALS = phrases(
    "算了|不用|不用了|不要|不要了|不了|不|不是|不对|不需要|不必|不想|不选|不做|不执行|否|无|没有|没事|没事了|取消|放弃|作罢|免了|停",
    "别|别了|都不是|都不要|都不对|一个都不是|以上都不是|都不选|哪个都不是|不行|不可以|当我没说|当没说|没什么",
    "no|nope|nah|n|never mind|nevermind|nvm|cancel|cancel it|cancel that|forget it|forget about it|none|none of them",
    "none of these|none of those|neither|neither of them|not now|do not|don t|dont|don t do it|do not do it|leave it|skip it|abort|stop|stop it",
)
"""What says that nothing is to be done."""

CONSENTS = phrases(
    "是|是的|是啊|是呀|对|对的|对啊|没错|好|好的|好啊|行|可以|确认|确定|嗯|嗯嗯|要|要的|执行|同意|当然|就是|就是这个|就这个|来吧|做吧",
    "y|yes|yeah|yep|yup|ok|okay|sure|right|correct|exactly|of course|do it|go|go ahead|confirm|confirmed|that one|this one|that s it|that s right|please do",
)
"""What says that the only one is meant."""
