"""What a journal promises. It keeps entries whole and finds them again; what they mean is decided above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hermes.values import value


@value
class Entry:
    """One message as it is kept.

    `id` grows with the order of arrival and is the daemon's own; `owner` and `request_id` together are unique.
    `origin` names the message that a chain of retries began with and is None for one that is no retry. `fingerprint`
    tells two bodies under one request_id apart; it is None if the id is of Hermes' own making and cannot be taken
    already. `record`, `data` and `events` are JSON: the record as it is shown, the raw result if it is too large to be
    shown inside the record (else None), and the list of events. Times are Unix seconds; `finished_at` is None as long
    as the message is under way.
    """

    id: int
    owner: str
    request_id: str
    session_id: str
    status: str
    code: str | None
    plugin: str | None
    origin: str | None
    received_at: float
    finished_at: float | None
    fingerprint: bytes | None
    record: bytes
    data: bytes | None
    events: bytes


class Findable(Protocol):
    """What a query looks at in a message, kept or under way."""

    @property
    def id(self) -> int:
        """The daemon's own id."""

    @property
    def owner(self) -> str:
        """Whose it is."""

    @property
    def session_id(self) -> str:
        """The conversation it belongs to."""

    @property
    def status(self) -> str:
        """How far it is."""

    @property
    def code(self) -> str | None:
        """The code of its error."""

    @property
    def plugin(self) -> str | None:
        """The plugin that runs or ran it."""

    @property
    def origin(self) -> str | None:
        """What its chain of retries began with."""


@dataclass(frozen=True, slots=True)
class Query:
    """Which entries to list. None is no condition; `before` is the id that the next page starts under."""

    owner: str | None = None
    session_id: str | None = None
    status: str | None = None
    code: str | None = None
    plugin: str | None = None
    origin: str | None = None
    before: int | None = None
    limit: int = 50

    def accepts(self, message: Findable) -> bool:
        """Say whether a message matches."""
        wanted = (self.owner, self.session_id, self.status, self.code, self.plugin, self.origin)
        actual = (
            message.owner,
            message.session_id,
            message.status,
            message.code,
            message.plugin,
            message.origin,
        )
        if self.before is not None and message.id >= self.before:
            return False
        return all(want in {None, have} for want, have in zip(wanted, actual, strict=True))


@value
class Trimmed:
    """What one step of trimming came to: how many entries it removed, and where the next one starts, None for nowhere."""

    removed: int
    after: int | None


class Journal(Protocol):
    """A durable inbox. Its file names the class as `adapter`.

    What `append` took in, and what `replay` gave, belongs to this process until its end is kept or the process has
    gone: no other process is given it to run. The embedded journals need no more for that than to be opened once; one
    that many share must see to it.

    Every method raises `JournalError` if it could not do what it says; then nothing was changed.
    """

    async def open(self) -> None:
        """Make the journal ready; the ids given out from now on are larger than all that are kept."""

    async def close(self) -> None:
        """Write what was handed in and let go of everything."""

    def next_id(self) -> int:
        """Return the id for a new entry."""

    async def append(self, entry: Entry) -> Entry | None:
        """Keep a new entry, and return None once it is safe.

        If the owner has an entry of this request_id already, nothing is kept and the older entry is returned.
        """

    async def claim(self, entry: Entry) -> None:
        """Keep how far an entry has come, that an attempt begins above all; returns once that is safe."""

    async def finish(self, entry: Entry) -> None:
        """Keep how an entry ended, with its result and events; returns once that is safe. It changes no more."""

    async def find(self, request_id: str, *, owner: str | None) -> Entry | None:
        """Return an entry; with owner None, the newest one of that request_id whoever it belongs to."""

    async def select(self, query: Query) -> Sequence[Entry]:
        """Return the entries that match, newest first, at most `query.limit`; `data` is None and `events` empty in them."""

    async def replay(self, *, after: int, limit: int) -> Sequence[Entry]:
        """Return entries that have not ended, oldest first, of ids over `after`: what this process is to go on with."""

    async def unfinished(self) -> int:
        """Return how many entries have not ended."""

    async def trim(self, *, received_before: float, after: int, limit: int) -> Trimmed:
        """Remove what has ended among the next `limit` entries of ids over `after` that came before a time.

        One call is one small step, which nobody else has to wait long for.
        """

    async def size(self) -> int:
        """Return how many bytes the entries take."""

    async def trouble(self) -> str | None:
        """Return why the journal cannot be written, None if it can; after a failure it is tried anew."""
