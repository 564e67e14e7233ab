"""`/help`: which tools there are for who asks, with examples; `/help <name>`: what one of them takes."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from hermes.dispatch.sentences import Locale, joined
from hermes.dispatch.words._readiness import listed, unready
from hermes.dispatch.words._writing import code, examples_in, one_line, tool_line
from hermes.dispatch.words.base import Answer, Said, Surroundings
from hermes.host.host import Target
from hermes.host.manifests.misfits import description, options

_TOOLS: Final = 20  # told with their examples
_LENGTH: Final = 2_500  # characters of them
_NAMES: Final = 100  # told without, and in the data
_NAMES_LENGTH: Final = 800
_PARAMETERS: Final = 20
_EXAMPLES: Final = 6
_CHOICES: Final = 12
_SAY: Final[dict[Locale, dict[str, str]]] = {
    "zh": {
        "tools": "我能做这些：",
        "none": "现在没有可用的工具。",
        "more": "另有 {count} 个：{names}",
        "unready": "暂不可用的插件：{plugins}",
        "words": "内置命令：",
        "detail": "“/help 名称”说明其中一个的用法。",
        "unknown": "没有叫“{name}”的工具。",
        "nearest": "最接近的是：{names}。",
        "of": "插件 {plugin}",
        "parameters": "参数：",
        "required": "必填",
        "choices": "可选：{values}",
        "examples": "例如：",
        "writes": "会改动数据。",
        "confirm": "执行前需要确认。",
        "call": "直接调用：{command}",
        "between": "、",
        "colon": "：",
        "join": "，",
    },
    "en": {
        "tools": "This is what I can do:",
        "none": "There are no tools now.",
        "more": "And {count} more: {names}",
        "unready": "Plugins that are not available now: {plugins}",
        "words": "Built-in words:",
        "detail": "“/help name” tells how to use one of them.",
        "unknown": "There is no tool named “{name}”.",
        "nearest": "The nearest are: {names}.",
        "of": "plugin {plugin}",
        "parameters": "Parameters:",
        "required": "required",
        "choices": "one of {values}",
        "examples": "For example:",
        "writes": "It changes something.",
        "confirm": "It is confirmed before it runs.",
        "call": "To call it by name: {command}",
        "between": ", ",
        "colon": ": ",
        "join": ", ",
    },
}


class Help:
    """Tells what can be asked for, within a length that a chat shows."""

    name = "help"
    spellings = ("帮助", "幫助")
    takes_more = True
    purpose: Final[dict[Locale, str]] = {"zh": "能做什么，怎么用", "en": "what can be asked for, and how"}

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def answer(self, said: Said) -> Answer:
        """List the tools, or tell about the one that is named."""
        return self._one(said) if said.rest else self._all(said)

    def _all(self, said: Said) -> Answer:
        say, targets = _SAY[said.locale], self._usable(said)
        lines, rest = _shortened(targets, said.locale)
        parts = ["\n".join([say["tools"], "", *lines]) if lines else say["none"]]
        if rest:
            parts.append(say["more"].format(count=len(rest), names=_names(rest, say["between"])))
        away = unready(self._around, said)
        if away:
            parts.append(say["unready"].format(plugins=listed(away, said.locale)))
        words = [
            f"- {code(f'/{word.name}')} {'、'.join(word.spellings[:1])}{say['colon']}{word.purpose[said.locale]}"
            for word in self._around.words()
        ]
        parts += ["\n".join([say["words"], "", *words]), *([say["detail"]] if targets else [])]
        names = [target.service.intent.name for target in targets]
        return Answer(
            "\n\n".join(parts),
            {"intents": names[:_NAMES], "count": len(names), "unavailable": list(away)[:_NAMES]},
        )

    def _one(self, said: Said) -> Answer:
        say, name = _SAY[said.locale], one_line(said.rest, 100)
        targets = self._usable(said)
        found = _named(name, targets)
        if len(found) == 1:
            return Answer(_details(found[0], said.locale), {"intents": [found[0].service.intent.name]})
        if found:
            lines, rest = _shortened(found, said.locale)
            of = say["of"].format(plugin=code(found[0].plugin.manifest.name)) + say["colon"].rstrip()
            more = [say["more"].format(count=len(rest), names=_names(rest, say["between"]))] if rest else []
            names = [target.service.intent.name for target in found]
            return Answer("\n\n".join([f"{of}\n\n" + "\n".join(lines), *more]), {"intents": names[:_NAMES]})
        for word in self._around.words():
            if _key(name) in map(_key, (word.name, f"/{word.name}", *word.spellings)):
                return Answer(
                    f"{code(f'/{word.name}')}{say['colon']}{word.purpose[said.locale]}", {"intents": []}
                )
        away = {one: why for one, why in unready(self._around, said).items() if _key(one) == _key(name)}
        if away:
            return Answer(say["unready"].format(plugins=listed(away, said.locale)), {"intents": []})
        return Answer(_unknown(name, targets, locale=said.locale), {"intents": []})

    def _usable(self, said: Said) -> list[Target]:
        principal = said.live.record.principal
        usable = [
            one
            for one in self._around.host.targets
            if self._around.may_use(principal, one.service.intent.name)
        ]
        return sorted(usable, key=_rank)


def _rank(target: Target) -> tuple[bool, bool, str]:
    """Return where a tool stands in the list: those that say most about themselves come first."""
    intent = target.service.intent
    return not intent.examples, not intent.description, intent.name


def _shortened(targets: Sequence[Target], locale: Locale) -> tuple[list[str], Sequence[Target]]:
    """Return lines for as many tools as there is room for, and the tools that are left."""
    lines: list[str] = []
    left = _LENGTH
    for number, target in enumerate(targets):
        line = tool_line(target, locale, examples=2 if len(targets) <= 10 else 1)
        left -= len(line)
        if number == _TOOLS or left < 0:
            return lines, targets[number:]
        lines.append(line)
    return lines, ()


def _names(targets: Sequence[Target], between: str) -> str:
    names = [code(target.service.intent.name) for target in targets[:_NAMES]]
    while len(between.join(names)) > _NAMES_LENGTH:
        names.pop()
    return between.join(names) + ("…" if len(names) < len(targets) else "")


def _named(name: str, targets: Sequence[Target]) -> list[Target]:
    key = _key(name.removeprefix("/"))
    intents = [target for target in targets if _key(target.service.intent.name) == key]
    return intents or [target for target in targets if _key(target.plugin.manifest.name) == key]


def _unknown(name: str, targets: Sequence[Target], *, locale: Locale) -> str:
    say = _SAY[locale]
    known = {_key(target.service.intent.name): target.service.intent.name for target in targets}
    known |= {_key(target.plugin.manifest.name): target.plugin.manifest.name for target in targets}
    nearest = [code(known[one]) for one in difflib.get_close_matches(_key(name), known, n=3)]
    sentences = [say["unknown"].format(name=name)]
    if nearest:
        sentences.append(say["nearest"].format(names=say["between"].join(nearest)))
    return joined(locale, *sentences)


def _details(target: Target, locale: Locale) -> str:
    say, intent = _SAY[locale], target.service.intent
    parts = [
        f"{tool_line(target, locale, examples=0)[2:]}{say['join']}{say['of'].format(plugin=code(target.plugin.manifest.name))}"
    ]
    parameters = list(target.service.parameters.properties.items())
    if parameters:
        needed = (intent.parameters or {}).get("required", ())
        lines = [
            _parameter(name, schema, needed=name in needed, locale=locale)
            for name, schema in parameters[:_PARAMETERS]
        ]
        parts.append(
            "\n".join([say["parameters"], "", *lines, *(["- …"] if len(parameters) > _PARAMETERS else [])])
        )
    examples = examples_in(intent.examples, locale, most=_EXAMPLES)
    if examples:
        parts.append("\n".join([say["examples"], "", *(f"- {one}" for one in examples)]))
    effects = [say["writes"]] if intent.writes else []
    effects += [say["confirm"]] if intent.confirm is not None else []
    parts.append(joined(locale, *effects, say["call"].format(command=code(f"/{intent.name}"))))
    return "\n\n".join(parts)


def _parameter(name: str, schema: Any, *, needed: bool, locale: Locale) -> str:
    say = _SAY[locale]
    facts = [say["required"]] if needed else []
    facts += [told] if (told := description(schema)) else []
    values = options(schema)
    if values:
        shown = [code(one_line(str(one), 40)) for one in values[:_CHOICES]]
        facts.append(
            say["choices"].format(values=say["between"].join(shown) + ("…" if len(values) > _CHOICES else ""))
        )
    return f"- {code(name)}" + (say["colon"] + say["join"].join(facts) if facts else "")


def _key(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


adapter = Help
