"""The reckoning after a test under which Hermes or its workers died: what was promised to whom, and what came of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from hermes.messages import TERMINAL
from tests.support.clerks import decide, waiting
from tests.support.client import Client
from tests.support.daemon import Daemon
from tests.support.senders import Book, asks, gaps
from tests.support.waiting import until

Record = dict[str, Any]

_ATTEMPTS = 3
_WITHIN = 180.0  # seconds in which everything has ended, however busy the machine is
_MAY_HAVE = ("可能已经生效", "may have taken effect")
_REPEATABLE = {"ledger.read", "ledger.repeat", "ledger.once.repeat"}
_ONCE = {"ledger.once", "ledger.once.repeat"}
_CONFIRMED = "ledger.write"


def settle(daemon: Daemon, book: Book) -> None:
    """Wait until everything has ended, then send again what nobody knows to be kept; what waits for a person is approved."""
    until(lambda: _ended(daemon, book), seconds=_WITHIN)
    for sent in book.sent:
        if not (sent.kept or sent.refused):
            assert book.deliver(sent, daemon, "plain"), sent.request_id
    until(lambda: _ended(daemon, book), seconds=_WITHIN)


def account(
    daemon: Daemon, book: Book, *, others: bool = False, stories: int | None = None, timeouts: bool = False
) -> list[str]:
    """Return everything that is wrong with what was sent, kept, decided, run and told; all has ended by now.

    With `others`, messages that are not in the book may be there too. With `stories`, no more of them are read than this.
    With `timeouts`, calls may have run out of time.
    """
    records = all_records(daemon)
    counts = Counter(record["request_id"] for record in records)
    known = {record["request_id"]: record for record in records}
    complaints = [*book.complaints, *(f"{one}: {n} records" for one, n in counts.items() if n > 1)]
    strange = known.keys() - {sent.request_id for sent in book.sent if not sent.refused}
    complaints += [] if others else [f"{one}: nobody sent it, or it was refused" for one in strange]
    complaints += _of_ends(book, known)
    complaints += _of_effects(known, Counter(_lines(daemon, "effects")), timeouts=timeouts)
    complaints += _of_chains(known, _lines(daemon, "once"))
    complaints += _of_questions(known, book)
    complaints += _of_decisions(known, book.decided)
    accepted = [sent for sent in book.sent if not sent.refused]
    complaints += [f"{sent.request_id}: lost" for sent in accepted if sent.request_id not in known]
    kept = [known[sent.request_id] for sent in accepted if sent.request_id in known]
    return complaints + list(chain.from_iterable(_of_story(daemon, one) for one in islice(kept, stories)))


def figures(daemon: Daemon, book: Book) -> str:
    """Return in one line how much happened, for who reads the test's output: messages by code, retries, decisions."""
    records = all_records(daemon)
    codes = Counter((record["envelope"]["error"] or {}).get("code", "succeeded") for record in records)
    again = sum(record["attempts"] > 1 for record in records)
    retries = sum(record["retry_of"] is not None for record in records)
    refused = sum(sent.refused for sent in book.sent)
    asked = [record for record in records if (record["confirmation"] or {}).get("expires_at") is not None]
    once = Counter(record["message"]["intent"] in _ONCE for record in records)[True]
    return (
        f"{len(records)} messages: {dict(codes.most_common())}; {again} run more than once; {once} with once, "
        f"{len(_lines(daemon, 'once'))} lines; {retries} retries, {refused} refused; "
        f"{len(asked)} had to be confirmed, {len(book.decided)} answers that one is decided"
    )


def _of_ends(book: Book, known: Mapping[str, Record]) -> Iterator[str]:
    """Whoever was told how a message ended was told the same, and who listens was told once."""
    for request_id, times in Counter(end["request_id"] for end in book.ends).items():
        if times > 1:
            yield f"{request_id}: its end was told {times} times"
    for end in chain(book.ends, *(sent.ends for sent in book.sent)):
        record = known.get(end["request_id"])
        if record is None or (end["envelope"], end["timestamp"]) != (
            record["envelope"],
            record["finished_at"],
        ):
            yield f"{end['request_id']}: was told the end {end}, and now {record}"
    for told in chain.from_iterable(sent.records for sent in book.sent):
        if told != known.get(told["request_id"]):
            yield f"{told['request_id']}: was told {told}, and now {known.get(told['request_id'])}"


def _of_story(client: Client, record: Record) -> Iterator[str]:
    """A story is whole, ends once, in what the record says, and asks for a confirmation once if somebody was asked."""
    story, request_id = client.story(record["request_id"]), record["request_id"]
    yield from gaps(story)
    types = [frame.event for frame in story]
    if [one in TERMINAL for one in types].count(True) != 1 or types[-1] not in TERMINAL:
        yield f"{request_id}: its story is {types}"
    elif (story[-1].data["envelope"], story[-1].data["timestamp"]) != (
        record["envelope"],
        record["finished_at"],
    ):
        yield f"{request_id}: its story ends {story[-1].data}, its record is {record}"
    asked = record["confirmation"] is not None and record["confirmation"]["expires_at"] is not None
    if sum(map(asks, story)) != asked:
        yield f"{request_id}: its story asks {sum(map(asks, story))} times: {record}"


def _of_effects(known: Mapping[str, Record], effects: Mapping[str, int], *, timeouts: bool) -> Iterator[str]:
    """A message took effect as often as it was begun at most, and once at least if it succeeded; its end says the truth."""
    for request_id in effects.keys() - known.keys():
        yield f"{request_id}: took effect, but is not known"
    for request_id, record in known.items():
        error = record["envelope"]["error"]
        right = record["status"] == ("failed" if error else "succeeded")
        if right and record["message"]["intent"].startswith("ledger."):
            right = _is_right(record, effects.get(request_id, 0), timeouts=timeouts)
        if not right:
            yield f"{request_id}: took effect {effects.get(request_id, 0)} times: {record}"


def _is_right(record: Record, effects: int, *, timeouts: bool) -> bool:
    intent, attempts = record["message"]["intent"], record["attempts"]
    error, warning = record["envelope"]["error"], record["envelope"]["warning"]
    if attempts > (_ATTEMPTS if intent in _REPEATABLE else 1):
        return False
    least, most = int(error is None), attempts
    if intent in _ONCE:
        least = most = 0  # that is in another book
    return least <= effects <= most and (
        not error or _may_fail(error, warning, record=record, timeouts=timeouts)
    )


def _may_fail(error: Mapping[str, Any], warning: str | None, *, record: Record, timeouts: bool) -> bool:
    intent: str = record["message"]["intent"]
    code, attempts = error["code"], record["attempts"]
    if code == "plugin_error":
        # One that can be retried says that the key is held by a call: one that ran out of time, all others are over.
        return intent in _ONCE and (timeouts or not error["retryable"])
    late = timeouts and code == "plugin_timeout"
    if intent in _REPEATABLE:
        return late or (code, attempts) == ("plugin_crashed", _ATTEMPTS)
    if code == "declined":
        return intent == _CONFIRMED and attempts == 0
    may_have = any(words in (warning or "") for words in _MAY_HAVE)
    return attempts == 1 and may_have and (late or code in ("interrupted", "plugin_crashed"))


def _of_chains(known: Mapping[str, Record], lines: Sequence[str]) -> Iterator[str]:
    """What is to be done once was done once at most in all retries of a message, and once if one of them succeeded."""
    numbers: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        key, number = line.split()
        numbers[key].append(number)
    for request_id, record in known.items():
        first = record
        while first["retry_of"] is not None:
            first = known[first["retry_of"]]
        done = numbers.get(first["request_id"], [])
        succeeded = record["message"]["intent"] in _ONCE and record["status"] == "succeeded"
        if succeeded and [record["envelope"]["data"]["number"]] != done:
            yield f"{request_id}: succeeded, and the chain has {done}: {record}"
    for key, done in numbers.items():
        if len(done) != 1 or key not in known or known[key]["message"]["intent"] not in _ONCE:
            yield f"{key}: was done {len(done)} times: {known.get(key)}"


def _of_questions(known: Mapping[str, Record], book: Book) -> Iterator[str]:
    """Whoever listens was asked once about what needs a confirmation, and the same is asked to the end."""
    for question in book.questions:
        told, kept = question["confirmation"], known[question["request_id"]]["confirmation"] or {}
        if any(told[name] != kept.get(name) for name in ("payload", "expires_at")):
            yield f"{question['request_id']}: somebody was asked {told}, and it is {kept}"
    for request_id, times in Counter(question["request_id"] for question in book.questions).items():
        if times > 1:
            yield f"{request_id}: was asked about {times} times"


def _of_decisions(known: Mapping[str, Record], decided: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """What needs a confirmation was decided by one, and what was decided holds: nothing else has run."""
    for request_id, times in Counter(request_id for request_id, _ in decided).items():
        if times > 1:
            yield f"{request_id}: {times} were told that they have decided it"
    for request_id, approve in decided:
        if known[request_id]["confirmation"]["approved"] is not approve:
            yield f"{request_id}: was decided {approve}, and now {known[request_id]}"
    for request_id, record in known.items():
        if record["message"]["intent"] != _CONFIRMED:
            continue
        approved = (record["confirmation"] or {}).get("approved")
        error = record["envelope"]["error"] or {}
        declined = error.get("code") == "declined"
        if approved is None or declined is approved or (record["attempts"] > 0) is not approved:
            yield f"{request_id}: the decision and what came of it do not fit: {record}"


def _ended(daemon: Daemon, book: Book) -> bool:
    """Approve what waits for a person, and say whether nothing is under way."""
    for request_id in waiting(daemon):
        decide(book, daemon, request_id, approve=True)
    states = ("accepted", "running", "awaiting_confirmation")
    return not any(daemon.get(f"/v1/messages?limit=1&status={state}").json["items"] for state in states)


def all_records(client: Client) -> list[Record]:
    page = client.get("/v1/messages?limit=500").json
    records: list[Record] = page["items"]
    while page["next"] is not None:
        page = client.get(f"/v1/messages?limit=500&cursor={page['next']}").json
        records += page["items"]
    return records


def _lines(daemon: Daemon, book: str) -> list[str]:
    file = daemon.state_dir / "plugins" / "ledger" / book
    return file.read_text().splitlines() if file.exists() else []
