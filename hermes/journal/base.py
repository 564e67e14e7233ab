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
    `fingerprint` tells two bodies under one
    request_id apart; it is None if the id is of Hermes' own making and cannot be taken already. `record`, `data` and `events` are JSON: the record as
    it is shown, the raw result if it is too large to be shown inside the record (else None), and the list of events.
    Times are Unix seconds; `finished_at` is None as long as the message is under way.
    """

    id: int
    owner: str
    request_id: str
    session_id: str
    status: str
    code: str | None
    plugin: str | None
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


@dataclass(frozen=True, slots=True)
class Query:
    """Which entries to list. None is no condition; `before` is the id that the next page starts under."""

    owner: str | None = None
    session_id: str | None = None
    status: str | None = None
    code: str | None = None
    plugin: str | None = None
    before: int | None = None
    limit: int = 50

    def accepts(self, message: Findable) -> bool:
        """Say whether a message matches."""
        wanted = (self.owner, self.session_id, self.status, self.code, self.plugin)
        actual = (message.owner, message.session_id, message.status, message.code, message.plugin)
        if self.before is not None and message.id >= self.before:
            return False
        return all(want in {None, have} for want, have in zip(wanted, actual, strict=True))


class Journal(Protocol):
    """A durable inbox. Its file names the class as `adapter`.

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

    async def update(self, entry: Entry) -> None:
        """Write the new state of an entry that was appended, and return once it is safe."""

    async def find(self, request_id: str, *, owner: str | None) -> Entry | None:
        """Return an entry; with owner None, the newest one of that request_id whoever it belongs to."""

    async def select(self, query: Query) -> Sequence[Entry]:
        """Return the entries that match, newest first, at most `query.limit`; `data` is None and `events` empty in them."""

    async def unfinished(self, *, after: int, limit: int) -> Sequence[Entry]:
        """Return entries that have not ended, oldest first, of ids over `after`; without data and events as well."""

    async def trouble(self) -> str | None:
        """Return why the journal cannot be written, None if it can; after a failure it is tried anew."""
