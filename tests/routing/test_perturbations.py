"""How people write the same sentence in other ways, over the golden table: the decision stays, with its score."""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import normalize

import pytest

from hermes.routing.router import Routed
from tests.routing.test_golden import ROWS, router

# Each line is a word in simplified and in traditional characters.
TRADITIONAL = str.maketrans(
    dict(
        line.split()
        for line in """状 狀,态 態,样 樣,务 務,机 機,负 負,载 載,内 內,够 夠,吗 嗎,台 臺,开 開,运 運,时 時,间 間,满 滿,还 還,盘 盤,哪 哪,个 個,区 區,余 餘
硬 硬,挂 掛,点 點,线 線,过 過,条 條,败 敗,没 沒,项 項,构 構,触 觸,发 發,红 紅,帮 幫,烦 煩,启 啟,动 動,谢 謝,标 標,题 題,页 頁,单 單,给 給
维 維,证 證,书 書,几 幾,网 網,检 檢,归 歸,属 屬,这 這,询 詢,库 庫,数 數,据 據,订 訂,结 結,声 聲,复 復,说 說,为 為,么 麼,会 會,议 議
张 張,写 寫,诗 詩,报 報,录 錄,体 體,验 驗,愿 願,编 編,译 譯,错 錯,误 誤,信 信,清 清,请 請,别 別,问 問,应 應,该 該,无 無,须 須,后 後,执 執""".replace(
            "\n", ","
        ).split(",")
    )
)


def wide(text: str) -> str:
    return "".join(chr(ord(sign) + 0xFEE0) if "!" <= sign <= "~" else sign for sign in text)


WAYS: dict[str, Callable[[str], str]] = {
    "a full stop": lambda text: f"{text}.",
    "a Chinese full stop": lambda text: f"{text}。",
    "marks": lambda text: f"{text}!!？！…",
    "a comma after it": lambda text: f"{text}，",
    "a comma before it": lambda text: f"，{text}",
    "commas at the spaces": lambda text: text.replace(" ", ", "),
    "quotes": lambda text: f"“{text}”",
    "brackets": lambda text: f"【{text}】",
    "double spaces": lambda text: text.replace(" ", "  "),
    "other spaces": lambda text: text.replace(" ", "\u3000").join("\t\n"),
    "an emoji after it": lambda text: f"{text} 🎉",
    "emoji at the spaces": lambda text: text.replace(" ", " 👩‍👩‍👧 ").join(["🚀", "❤️"]),
    "zero-width spaces": "\u200b".join,
    "a byte order mark": lambda text: f"\ufeff{text}",
    "right-to-left marks": lambda text: f"\u202b{text}\u202c\u200f",
    "soft hyphens": lambda text: re.sub("(?<=[a-z])(?=[a-z])", "\u00ad", text),
    "full width": wide,
    "capitals": str.upper,
    "small letters": str.lower,
    "compatible forms": lambda text: normalize("NFKC", text),
    "traditional characters": lambda text: text.translate(TRADITIONAL),
    "half of a character after it": lambda text: f"{text}\ud83d",
}
# Where a comma ends the clause, what was negated no longer is; capitals have no humps.
_UNFIT: dict[str, Callable[[str, str], bool]] = {
    "commas at the spaces": lambda expected, _: expected.startswith("clarify"),
    "capitals": lambda _, text: bool(re.search("[a-z][A-Z]", text)),
    "small letters": lambda _, text: bool(re.search("[a-z][A-Z]", text)),
}


def outcome(routed: Routed) -> object:
    decision = routed.decision
    return decision.outcome, decision.intent, decision.confidence, decision.candidates


@pytest.mark.parametrize("way", WAYS)
def test_another_way_to_write_a_sentence_does_not_change_its_decision(way: str) -> None:
    wrong = []
    for plugins, expected, text in ROWS:
        if text.startswith(("/", "／")) or (way in _UNFIT and _UNFIT[way](expected, text)):
            continue
        plain, dressed = router(plugins).route(text), router(plugins).route(WAYS[way](text))
        if outcome(plain) != outcome(dressed):
            wrong.append((WAYS[way](text), dressed.decision))
    assert not wrong


def test_the_ways_are_different() -> None:
    for way, write in WAYS.items():
        assert any(write(text) != text for _, _, text in ROWS), way


INFLECTED = [
    ("show the log of web", "show the logs of web"),
    ("compile the project", "compiling the project"),
    ("is the disk full", "are the disks full"),
    ("trigger the pipeline of web", "triggering the pipelines of web"),
    ("restart web", "restarting web"),
    ("list the table", "list the tables"),
    ("create a ticket: disk full", "create a ticket: disks full"),
    ("certificate of example.com", "certificates of example.com"),
]


@pytest.mark.parametrize(("plain", "inflected"), INFLECTED)
def test_a_plural_and_a_gerund_go_where_the_word_goes(plain: str, inflected: str) -> None:
    asked = router("samples build-tool log-viewer service-control")
    one, other = asked.route(plain).decision, asked.route(inflected).decision
    assert one.outcome == "dispatch"
    assert (one.outcome, one.intent) == (other.outcome, other.intent)
