"""`/cancel`: stops what its sender has under way in this session, and closes the question that is open there."""

from __future__ import annotations

from typing import Final

from hermes.dispatch.sentences import Locale
from hermes.dispatch.under_way import Task
from hermes.dispatch.words._writing import task_line
from hermes.dispatch.words.base import Answer, Said, Surroundings

_TASKS: Final = 10  # that are told
_IDS: Final = 100
_SAY: Final[dict[Locale, dict[str, str]]] = {
    "zh": {
        "cancelled": "正在取消 {count} 个：",
        "more": "- 另有 {count} 个",
        "effects": "其中会改动数据的可能已经生效。",
        "closed": "刚才的问题不再等待回答。",
        "nothing": "这个会话里没有可取消的。",
        "elsewhere": "你的其他会话里还有 {count} 个进行中的，/status 查看。",
    },
    "en": {
        "cancelled": "Cancelling {count}:",
        "more": "- and {count} more",
        "effects": "What changes something may have taken effect.",
        "closed": "The question is not open any more.",
        "nothing": "There is nothing to cancel in this session.",
        "elsewhere": "In other sessions of yours {count} are under way; /status shows them.",
    },
}


class Cancel:
    """Stops messages of the sender alone, and only those that came before it."""

    name = "cancel"
    spellings = ("取消",)
    takes_more = False
    purpose: Final[dict[Locale, str]] = {
        "zh": "取消这个会话里进行中的和等待的",
        "en": "stop what runs or waits in this session",
    }

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def answer(self, said: Said) -> Answer:
        """Stop what can be stopped; its end comes in its own record."""
        live = said.live
        tasks = await self._around.under_way(live)
        here = [task for task in tasks if task.record.message.session_id == live.session_id]
        stopped = [task for task in here if await self._around.stop(task)]
        closed = self._around.questions().close(live.owner, live.session_id)
        text = self._text(stopped, said, closed=closed, elsewhere=len(tasks) - len(here))
        ids = [task.record.message.request_id for task in stopped[:_IDS]]
        return Answer(text, {"cancelled": ids, "question_closed": closed})

    def _text(self, stopped: list[Task], said: Said, *, closed: bool, elsewhere: int) -> str:
        say, parts = _SAY[said.locale], []
        if stopped:
            lines = [task_line(task, said.locale) for task in stopped[:_TASKS]]
            lines += [say["more"].format(count=len(stopped) - _TASKS)] if len(stopped) > _TASKS else []
            parts.append("\n".join([say["cancelled"].format(count=len(stopped)), "", *lines]))
            parts += [say["effects"]] if any(map(self._may_have_written, stopped)) else []
        if closed:
            parts.append(say["closed"])
        if not parts:
            parts.append(say["nothing"])
            parts += [say["elsewhere"].format(count=elsewhere)] if elsewhere else []
        return "\n\n".join(parts)

    def _may_have_written(self, task: Task) -> bool:
        target = self._around.host.find(task.record.message.intent)
        return task.record.attempts > 0 and target is not None and target.service.intent.writes


adapter = Cancel
