"""Says whether a text speaks against an intent whose keywords it holds. What comes of that is decided elsewhere.

A strong negation (`不要`, `别`, `don't`, `never`) holds for the rest of its clause. A plain one (`不`, `没`, `not`, `no`,
`取消`, `stop`) holds for the keyword that follows it at once, but for small words: "web 没响应重启一下" says to restart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from hermes.routing.folding import is_cjk, legible, readings
from hermes.routing.lexicon import Lexicon
from hermes.values import value

_STRONG = 4  # strong negations of a clause that are looked at: the first holds for whatever the others do
_MOST = 32  # plain negations of a text that are looked at: whoever writes more of them means one of these
_NEAR = 80  # characters in which a keyword that follows at once is looked for
_LONGEST = 8  # characters of CJK, or other words, of such a keyword

# A full stop inside a name (`web.api`) ends no clause, nor does the point of a number.
_bound = re.compile(
    r"[,;!?:()\[\]{}，；！？：。｡…\r\n\u2028\u2029]|\.(?=\s|$)|(?<=[\u3000-\u9fff])\.|--|—"
    r"|但是?|而是|可是|反而|否则|不然|所以|改为|改成|换成"
    r"|\b(?:but|instead|rather|however|otherwise|though|although|because|so|then)\b"
)

# What holds a sign of negation and negates nothing that follows: words, set phrases, questions (能不能), requests (why
# not), double negations (不得不), and what is said not to be done so that the thing itself is (别忘了).
_idiom = re.compile(
    r"([^不\s]{1,2})不\1|([^没\s])没\2|还?有没有|要不(?!要)"
    r"|(?:[特分级性识鉴辨判差告派]|(?<![这那哪两几每各一二三四五六七八九十\d])[个类])别|区别(?=[于对是在开的])|[不莫]但|[不何莫]仅|不[光只单如妨停断止时]|何不|无不"
    r"|不[得能可]不|不得了|差不多|动不动"
    r"|(?:别|勿|不要|不用|不必|不许|不准|无需|不需要)(?:再|你|们|一直)*"
    r"(?:忘|急|着急|慌|怕|担心|客气|犹豫|紧|谢|管|等|愣|光|只|磨蹭|啰嗦|废话|介意|问)"
    r"|别(?:人|的|名|处|样|墅|致|扭|号)"
    r"|\bwhy (?:not|(?:don't|dont|do not) (?:you|we|i))\b|\b(?:can't|cant|couldn't|won't|wouldn't) you\b"
    r"|\b(?:if|or|of course) not\b|\bnot (?:only|just|merely)\b|\bno longer than\b"
    r"|\b(?:don't|dont|do not|never|not) (?:ever |you |to )?"
    r"(?:forget|worry|hesitate|fail|wait|mind|ask|panic|delay|be (?:afraid|shy)|only|just|know|care)\b"
)

_strong = re.compile(
    r"不要|不用|不必|不该|不应[该当]?|不许|不准|不得|不需要?|不宜|不允许|不建议|不再|[请切]?勿|别|甭|无[需须]|毋[需须]|禁止|严禁|以免|避免|拒绝|休想|并非|没[说让叫]要?|从没想"
    r"|\b(?:don't|dont|don t|do not|never|(?:must|should|shall|need) not|(?:must|should|sha|need)n't|not to|no need"
    r"|let's not|lets not|without|avoid|refrain from|refuse to|donot|do'nt|ain't|forbid(?:den)?|prevent|(?:nobody|no one) should"
    r"|under no circumstances?|not safe to)\b"
    r"|\bstop(?= \w+ing\b)|\bno longer\b"
)

_plain = re.compile(
    r"(?P<sign>不|没有?|未|取消|停止|中止|终止|撤销|暂停"
    r"|\b(?:not|no|cannot|cant|wont|[a-z]+n't|cancel(?:l?ing)?|abort|stop|nobody|hold off)\b)"
    r"(?:\s|能够?|可以?|会|想要?|再|去|应该?|愿意?|敢|肯|准备|打算|希望|进行|执行|做|先|马上|立即|立刻|现在|主动|自动|直接"
    r"|随便|随意|轻易|私自|擅自|任何人?|人|必|需要?|有|是|要|得"
    r"|(?:ever|even|actually|really|be|been|being|to|you|me|us|we|on|want|going|supposed|allowed|able|need|have|try"
    r"|trying|the|a|an|any|do|doing|now|today|again|more|further|yet|please|this|that|my|our|your)\b)*"
    r"(?P<object>[把将对给让跟])?"
)

_quotes = str.maketrans("’‘`´ʼ＇_-－", "''''''   ")
_unit = re.compile(r"\W*(?:[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+)")
_space_in_cjk = re.compile(r"(?<=[\u3400-\u9fff])[^\S\r\n]+(?=[\u3400-\u9fff])")


def negated(text: str, lexicon: Lexicon, *, position: int) -> bool:
    """Say whether a negation stands before a positive keyword of the entry at `position`, within one clause.

    Keywords count that are written by hand, and those that `lexicon.learned` goes by. A keyword that holds the
    negation itself (`不再提醒`) is what its author meant. Any string is taken, in time linear in it.
    """
    negations = list(_negations(text))
    if not negations:
        return False
    asked = _Asked(text, lexicon, position=position)
    return any(asked.is_about(negation) and not asked.means(negation.sign) for negation in negations)


@value
class _Negation:
    """A negation's sign, and what follows it in its clause; one that is plain holds only for what comes at once."""

    sign: str
    rest: str
    plain: bool


def _negations(text: str) -> Iterator[_Negation]:
    """Yield the negations of a text, clause by clause; of very many not all."""
    level = _space_in_cjk.sub("", legible(text.translate(_quotes)))
    left = _MOST
    for clause in _bound.split(_idiom.sub(" ", level)):
        for strong in islice(_strong.finditer(clause), _STRONG):
            yield _Negation(strong[0], clause[strong.end() :], plain=False)
        for plain in islice(_plain.finditer(clause), left):
            near = plain["object"] is None
            rest = clause[plain.end() : plain.end() + _NEAR] if near else clause[plain.end() :]
            yield _Negation(plain["sign"], rest, plain=near)
            left -= 1


class _Asked:
    """One intent of a text, as far as it can be negated."""

    def __init__(self, text: str, lexicon: Lexicon, *, position: int) -> None:
        self._lexicon = lexicon
        self._position = position
        # Among what is learned are small words too, which lead to no intent alone.
        learned = self._learned(text)
        enough = max(learned.values(), default=0.0) / 2
        self._telling = {keyword for keyword, weight in learned.items() if weight >= enough}
        self._all = self._keywords(text)

    def is_about(self, negation: _Negation) -> bool:
        """Say whether a keyword stands where a negation holds."""
        if not negation.rest.strip() or not self._keywords(negation.rest):
            return False
        return not negation.plain or self._begins(_unit.findall(negation.rest)[:_LONGEST])

    def means(self, sign: str) -> bool:
        """Say whether a keyword in the text holds the sign of a negation itself."""
        return any(_folded(sign) in _folded(keyword) for keyword in self._all)

    def _begins(self, units: Sequence[str]) -> bool:
        """Say whether a keyword begins with the first of `units`: without that one it is not found any more."""
        return any(
            not self._keywords("".join(units[:end])) <= self._keywords("".join(units[1:end]))
            for end in range(1, len(units) + 1)
        )

    def _keywords(self, text: str) -> set[str]:
        """Return the keywords in `text` that speak for the intent."""
        declared = self._lexicon.match(text).get(self._position, ())
        found = {match.keyword for match in declared if match.weight > 0}
        return found | (self._learned(text).keys() & self._telling) if self._telling else found

    def _learned(self, text: str) -> dict[str, float]:
        if self._lexicon.learned is None:
            return {}
        intent = self._lexicon.entries[self._position].intent
        matched = (one.matched for one in self._lexicon.learned.score(text) if one.intent == intent)
        return {match.keyword: match.weight for match in chain.from_iterable(matched) if match.weight > 0}


def _folded(text: str) -> str:
    words = " ".join(readings(text)[0])
    return words if is_cjk(words) else f" {words} "
