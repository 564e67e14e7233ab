"""What a message that a plugin sends has of the one that sends it: its name, and what goes down from parent to child."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from hermes.dispatch.live import Live
from hermes.values import value

_ID_CHARS = 128
_DIGEST_CHARS = 20


def child_id(parent: str, number: int) -> str:
    """Return the request_id of what a message sends as its `number`th: `<parent>.<number>`.

    Of a parent that is too long for that, its beginning and a digest are taken.
    """
    suffix = f".{number}"
    if len(parent) + len(suffix) <= _ID_CHARS:
        return parent + suffix
    digest = hashlib.sha256(parent.encode()).hexdigest()[:_DIGEST_CHARS]
    return f"{parent[: _ID_CHARS - len(suffix) - len(digest) - 1]}~{digest}{suffix}"


@value
class Sent:
    """Where a message comes from that a plugin sends: the message it runs, and how many that had sent with it.

    `deadline` is when the time of the call that sends it is over, on the clock of the event loop.
    """

    parent: Live
    number: int
    deadline: float

    @property
    def request_id(self) -> str:
        """Its id: the same whenever its parent runs."""
        return child_id(self.parent.record.message.request_id, self.number)

    @property
    def first_id(self) -> str:
        """The id that it has in the first of the retries of its parent: what makes its writes one."""
        return child_id(self.parent.first_id, self.number)

    def metadata(self, received_at: float) -> dict[str, Any]:
        """Return what its record says of it, so that another process can go on with it; times are Unix seconds."""
        left = self.deadline - asyncio.get_running_loop().time()
        return {
            "hops": self.parent.hops + 1,
            "deadline": round(received_at + left, 3),
            "locale": self.parent.locale,
        }


def inherit(live: Live) -> None:
    """Give a message that a plugin sent what its record says of it; raises KeyError or TypeError if that is nothing.

    It has as much time from now on as it had when it came: a call that is run again after a restart begins anew too.
    """
    given = live.record.metadata
    live.hops = given["hops"]
    live.locale = "zh" if given["locale"] == "zh" else "en"
    seconds = given["deadline"] - live.record.received_at
    live.deadline = asyncio.get_running_loop().time() + seconds
