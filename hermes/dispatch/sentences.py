"""Hermes' own sentences in Chinese and English. What a plugin says is passed on as it is and not found here."""

from __future__ import annotations

import re
from typing import Any, Literal

Locale = Literal["zh", "en"]

_has_chinese = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]").search

_SENTENCES: dict[str, tuple[str, str]] = {
    "ack": ("已受理", "Accepted"),
    "ack_intent": ("已受理，正在执行 {intent}", "Accepted, running {intent}"),
    "no_match": ("无法确定这句话要用哪个工具。", "Cannot tell which tool this is for."),
    "no_intent": ("无法确定：没有名为 {intent} 的意图。", "Cannot tell: there is no intent named {intent}."),
    "nearest": ("最接近的是：{names}。", "The nearest are: {names}."),
    "try_help": ("试试 /help。", "Try /help."),
    "built_in": (
        "这是内置命令 {word}，由 Hermes 自己回答。",
        "This is the built-in word {word}, which Hermes answers itself.",
    ),
    "called": ("{intent}（{told}）", "{intent} ({told})"),
    "or": ("、", ", "),
    "stop": ("。", "."),
    "colon": ("：", ": "),
    "yes": ("是", "yes"),
    "no": ("否", "no"),
    "clarify": ("您指的是哪一个？", "Which one do you mean?"),
    "clarify_one": ("要执行这一个吗？", "Do you mean this one?"),
    "between": ("；", "; "),
    "how_to_choose": ("请回复编号或名称。", "Answer with its number or its name."),
    "how_to_agree": ("请回复“是”或“不”。", "Answer yes or no."),
    "refused": ("好的，没有执行。", "All right, nothing was done."),
    "missing": ("还需要：{wanted}", "Still needed: {wanted}"),
    "invalid_payload": ("参数不符合要求：{problems}", "The parameters do not fit: {problems}"),
    "confirm": (
        "{intent} 需要确认后才会执行，要执行吗？",
        "{intent} needs a confirmation before it runs. Run it?",
    ),
    "declined": ("已拒绝，没有执行。", "It was declined and has not run."),
    "confirmation_expired": (
        "无人及时确认，没有执行。",
        "Nobody confirmed it in time, and it has not run.",
    ),
    "confirmation_changed": (
        "确认之后该意图换了工具，没有执行；请重新发送。",
        "Another tool has taken the intent since it was asked for, and it has not run; send it again.",
    ),
    "still_running": (
        "同一操作正在执行，请稍后再试。",
        "The same operation is still running; try again in a moment.",
    ),
    "outcome_unknown": (
        "无法确定上一次执行是否已经完成，为避免重复，没有再次执行。",
        "Cannot tell whether it was done the last time; it was not done again, so that it is not done twice.",
    ),
    "kept_here": (
        "存储暂时不可用，防止重复执行的状态只保存在本机。",
        "The store is away: what keeps it from being done twice is kept on this machine alone.",
    ),
    "plugin_timeout": ("该工具执行超时（{seconds} 秒）", "The tool timed out after {seconds} s"),
    "plugin_crashed": ("该工具的进程意外退出。", "The tool's process ended unexpectedly."),
    "attempts_used": (
        "已执行 {count} 次，每次都在结束之前因该工具的进程或 Hermes 停止而中断。",
        "It was run {count} times, and each time the tool's process or Hermes stopped before it ended.",
    ),
    "plugin_unavailable": ("该工具目前不可用：{reason}", "The tool is not available now: {reason}"),
    "plugin_disabled": (
        "该工具已停用，管理员可以重新启用它。",
        "The tool is disabled; an admin can enable it again.",
    ),
    "no_room": (
        "等了 {seconds} 秒，该工具仍没有空位，请稍后再试。",
        "The tool had no room within {seconds} s; try again later.",
    ),
    "breaker_open": (
        "该工具最近 {failures} 次调用都失败了，暂停使用，{seconds} 秒后再试。",
        "The tool's last {failures} calls failed, so it is paused; it is tried again in {seconds} s.",
    ),
    "breaker_probing": (
        "该工具最近 {failures} 次调用都失败了，正在用一次调用试探，请稍后再试。",
        "The tool's last {failures} calls failed, and one call tries it now; try again later.",
    ),
    "plugin_error": ("该工具出错：{reason}", "The tool failed: {reason}"),
    "result_too_large": ("结果超过了 {limit} 字节的上限。", "The result is over the limit of {limit} bytes."),
    "cancelled": ("已取消。", "Cancelled."),
    "overloaded": (
        "Hermes 目前无法受理这条消息，没有执行；请稍后再试。",
        "Hermes cannot take this message in at present, and it has not run; try again later.",
    ),
    "confirmation_required": (
        "{intent} 需要有人确认才会执行，不能由工具发起；没有执行。",
        "{intent} needs somebody's confirmation before it runs, and a tool cannot wait for that; it has not run.",
    ),
    "loop_detected": (
        "工具之间相互调用超过了 {hops} 层，没有执行。",
        "Tools have sent for one another more than {hops} levels deep; it has not run.",
    ),
    "no_worker_in_time": (
        "在发起它的调用到时之前，没有空闲的进程",
        "no worker had room before the time of the call that sent it was over",
    ),
    "time_of_sender": (
        "可用的时间只有发起它的调用剩下的那些。",
        "It had no more time than the call that sent it had left.",
    ),
    "interrupted": (
        "执行期间 Hermes 停止了运行，该操作不能自动重复。",
        "Hermes stopped while this ran, and it must not be repeated by itself.",
    ),
    "internal": ("Hermes 内部出错，已记入日志。", "Something went wrong inside Hermes; the log has it."),
    "may_have_taken_effect": ("该操作可能已经生效。", "It may have taken effect."),
    "not_inline": (
        "结果有 {size} 字节，未在此显示；完整内容见 links.raw。",
        "The result has {size} bytes and is not shown here; links.raw has all of it.",
    ),
}


def say(name: str, locale: Locale, **values: Any) -> str:
    """Return the sentence of that name with its values filled in."""
    chinese, english = _SENTENCES[name]
    return (chinese if locale == "zh" else english).format(**values)


def joined(locale: Locale, *sentences: str) -> str:
    """Return sentences behind one another, as the language writes them."""
    return ("" if locale == "zh" else " ").join(sentences)


def locale_of(text: str | None, payload: dict[str, Any], *, preferred: str) -> Locale:
    """Return the language to answer in: the preferred one, or with "auto" that of the text, else of the payload."""
    if preferred == "zh":
        return "zh"
    if preferred == "en":
        return "en"
    texts = [text] if text is not None else [value for value in payload.values() if isinstance(value, str)]
    return "zh" if any(_has_chinese(one) for one in texts) else "en"
