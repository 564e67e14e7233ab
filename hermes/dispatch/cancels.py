"""Stops messages that are under way, and what they have sent. What it came to is told by whoever runs them."""

from __future__ import annotations

from hermes.dispatch.confirmations import Confirmations
from hermes.dispatch.live import Live, LiveTable
from hermes.errors import Conflict


class Cancels:
    """Cancels messages of a table."""

    def __init__(self, live: LiveTable, confirmations: Confirmations) -> None:
        self._live = live
        self._confirmations = confirmations

    def cancel(self, live: Live) -> None:
        """Stop a message that is under way; raises Conflict if it is past stopping."""
        waits = self._confirmations.is_open(live)
        if live.task is None or not (live.calling or waits):
            raise Conflict("this message has ended already")
        live.cancelled = True
        if waits:
            self._confirmations.cancel(live)
        else:
            live.task.cancel()
            self._give_up_sent(live)

    def give_up(self, live: Live) -> None:
        """Stop what a message has sent, wherever it is: nobody waits for it any more."""
        live.cancelled = True  # what no plugin has yet will see it
        if live.task is not None and live.calling:
            live.task.cancel()
        self._give_up_sent(live)

    def _give_up_sent(self, live: Live) -> None:
        for sent in self._live.sent_by(live):
            self.give_up(sent)
