"""`/reset`: forgets what was said in this session, so that the next message begins anew. It stops nothing."""

from __future__ import annotations

from typing import Final

from hermes.dispatch.sentences import Locale
from hermes.dispatch.words.base import Answer, Said, Surroundings

_SAY: Final[dict[Locale, dict[str, str]]] = {
    "zh": {"anew": "好的，重新开始。", "closed": "刚才的问题不再等待回答。"},
    "en": {"anew": "All right, we begin anew.", "closed": " The question is not open any more."},
}


class Reset:
    """Closes the open question of the session and forgets the session."""

    name = "reset"
    spellings = ("重来", "重來")
    takes_more = False
    purpose: Final[dict[Locale, str]] = {
        "zh": "忘掉这个会话，重新开始",
        "en": "forget this session and begin anew",
    }

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def answer(self, said: Said) -> Answer:
        """Forget."""
        say, live = _SAY[said.locale], said.live
        closed = self._around.questions().close(live.owner, live.session_id)
        await self._around.forget(live.owner, live.session_id)
        return Answer(say["anew"] + (say["closed"] if closed else ""), {"question_closed": closed})


adapter = Reset
