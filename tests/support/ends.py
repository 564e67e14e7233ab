"""The sdk's wire over two real pipes, with the host's ends of both in the test's hands."""

from __future__ import annotations

import json
import os
from typing import Any

from hermes.sdk.wire import Wire

Frame = dict[str, Any]


class Ends:
    """A wire over two pipes, with the host's ends of both."""

    def __init__(self) -> None:
        read_fd, self.to_worker = os.pipe()
        self.from_worker, write_fd = os.pipe()
        self.wire = Wire(read_fd, write_fd)
        self._open = [read_fd, self.to_worker, self.from_worker, write_fd]
        self.accepted: list[Frame] = []

    def give(self, data: bytes) -> bool:
        """Write bytes as the host, let the wire read once, and return whether there may be more."""
        os.write(self.to_worker, data)
        return self.wire.receive(self.accepted.append)

    def hang_up(self) -> None:
        """Close the host's end that the wire reads from."""
        self._shut(self.to_worker)

    def turn_away(self) -> None:
        """Close the host's end that the wire writes to."""
        self._shut(self.from_worker)

    def _shut(self, fd: int) -> None:
        os.close(fd)
        self._open.remove(fd)

    def sent(self) -> list[Frame]:
        """Return the frames that the wire has written."""
        return [json.loads(line) for line in os.read(self.from_worker, 1 << 16).splitlines()]

    def close(self) -> None:
        for fd in self._open:
            os.close(fd)
