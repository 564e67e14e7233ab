"""`/status`: what is under way, what is waited for, and which plugins are not ready."""

from __future__ import annotations

from typing import Final

from hermes.dispatch.sentences import Locale
from hermes.dispatch.words._readiness import listed, unready
from hermes.dispatch.words._writing import one_line, task_line
from hermes.dispatch.words.base import Answer, Said, Surroundings

_TASKS: Final = 10  # that are told
_IDS: Final = 100
_SAY: Final[dict[Locale, dict[str, str]]] = {
    "zh": {
        "here": "这个会话里进行中的（{count}）：",
        "elsewhere": "这个会话里没有进行中的；你的其他会话里有（{count}）：",
        "nothing": "没有进行中的任务。",
        "more": "- 另有 {count} 个",
        "question": "等待你回答：{question}",
        "unready": "未就绪的插件：{plugins}",
        "ready": "插件都已就绪。",
    },
    "en": {
        "here": "Under way in this session ({count}):",
        "elsewhere": "Nothing is under way in this session; in others of yours ({count}):",
        "nothing": "Nothing is under way.",
        "more": "- and {count} more",
        "question": "Waiting for your answer: {question}",
        "unready": "Plugins that are not ready: {plugins}",
        "ready": "All plugins are ready.",
    },
}


class Status:
    """Tells of the sender's own messages alone: those of this session, or those of all others if there are none."""

    name = "status"
    spellings = ("状态", "狀態")
    takes_more = False
    purpose: Final[dict[Locale, str]] = {
        "zh": "正在做什么，在等什么",
        "en": "what is under way, and what is waited for",
    }

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def answer(self, said: Said) -> Answer:
        """Look, and change nothing."""
        say, live = _SAY[said.locale], said.live
        tasks = await self._around.under_way(live)
        here = [task for task in tasks if task.record.message.session_id == live.session_id]
        shown = here or tasks
        parts = [say["nothing"]]
        if shown:
            lines = [task_line(task, said.locale) for task in shown[:_TASKS]]
            lines += [say["more"].format(count=len(shown) - _TASKS)] if len(shown) > _TASKS else []
            parts = ["\n".join([say["here" if here else "elsewhere"].format(count=len(shown)), "", *lines])]
        question = self._around.questions().get(live.owner, live.session_id)
        if question is not None and question.person == live.record.principal.person:
            parts.append(say["question"].format(question=one_line(question.text, 500)))
        else:
            question = None
        away = unready(self._around, said)
        parts.append(say["unready"].format(plugins=listed(away, said.locale)) if away else say["ready"])
        data = {
            "under_way": [task.record.message.request_id for task in shown[:_IDS]],
            "question": None if question is None else question.request_id,
            "unready": list(away)[:_IDS],
        }
        return Answer("\n\n".join(parts), data)


adapter = Status
