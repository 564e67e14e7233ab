"""Says of a text whether it may be anything but the plain naming of a value: a no, a question, a yes, a wait. It reads no value."""

from __future__ import annotations

import re

from hermes.dispatch.phrases import level, phrases, units

_WORDS = phrases(
    "not|no|nope|never|none|nor|neither|without|except|excluding|exclude|excluded|skip|skipping|avoid|avoiding|omit",
    "ignore|but|other|another|outside|minus|unless|instead|rather|leave|spare|keep|stay|must|dont|don|doesn|didn",
    "isn|aren|wasn|won|wouldn|shouldn|cannot|couldn|t|wait|hold|stop|later|cancel|quit|exit|abort|undo|nevermind",
    "forget|wrong|mistake|sorry|minute|moment|what|which|who|whose|when|where|why|how|is|are|was|were|be|should",
    "shall|could|would|can|does|do|did|may|might|know|idea|maybe|perhaps|unsure|whatever|either|help|yes|yeah|yep",
    "ok|okay|sure|fine",
)
_signs = re.compile(
    "[?？؟﹖不别別没沒勿莫非除未吗嗎呢谁誰哪怎几幾]|什么|甚么|什麼|为何|為何|还是|還是|如何|多少|算了|等等|等一|稍等|等下|以外|之外|搞错|搞錯"
    "|弄错|退出|取消|停|免了|跳过|跳過|避开|排除|随便|好的|好吧|是的|可以|行吧|帮助|知道"
)
_CONSENTS = phrases("好|是|行|对|嗯|可|成")


def is_doubtful(text: str) -> bool:
    """Say whether anything in `text` may make it a refusal, a question, a consent or an exception, in Chinese or English.

    It says so too often: what is asked again costs a message, what is taken for a value may cost more.
    """
    if _signs.search(level(text)):
        return True
    said = units(text)
    return not _WORDS.isdisjoint((one,) for one in said) or said in _CONSENTS
