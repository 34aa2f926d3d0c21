"""Permissions that run out: trigger ids for views, addresses for responses, links for sockets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

TRIGGER_SECONDS = 3.0
RESPONSE_SECONDS = 30 * 60.0
RESPONSE_USES = 5


@dataclass
class Ticket:
    """One permission: whose, for where, since when, and how often it was used."""

    user: str
    channel: str
    since: float
    ts: str | None = None
    view_id: str | None = None
    used: int = 0


@dataclass
class Tickets:
    """The permissions that a workspace gave out."""

    now: Callable[[], float]
    triggers: dict[str, Ticket] = field(default_factory=dict)
    responses: dict[str, Ticket] = field(default_factory=dict)
    sockets: set[str] = field(default_factory=set)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def trigger(self, user: str, view_id: str | None = None) -> str:
        """Return a trigger id; ``view_id`` is the view from which it came."""
        key = f"{next(self._numbers)}.trigger"
        self.triggers[key] = Ticket(user, "", self.now(), view_id=view_id)
        return key

    def redeem(self, trigger_id: str) -> Ticket | str:
        """Use a trigger id; return Slack's error when it is not good."""
        ticket = self.triggers.get(trigger_id)
        if ticket is None:
            return "invalid_trigger_id"
        if self.now() - ticket.since > TRIGGER_SECONDS:
            return "expired_trigger_id"
        ticket.used += 1
        return ticket if ticket.used == 1 else "exchanged_trigger_id"

    def response(self, user: str, channel: str, ts: str | None = None) -> str:
        """Return the id of an address to answer at; ``ts`` is the message it came from."""
        key = f"R{next(self._numbers):08d}"
        self.responses[key] = Ticket(user, channel, self.now(), ts)
        return key

    def answer(self, key: str) -> Ticket | str:
        """Use an address once more; return Slack's error when it is not good."""
        ticket = self.responses.get(key)
        if ticket is None or self.now() - ticket.since > RESPONSE_SECONDS:
            return "expired_url"
        ticket.used += 1
        return ticket if ticket.used <= RESPONSE_USES else "used_url"

    def socket(self) -> str:
        """Return the ticket of a socket, good once."""
        key = f"S{next(self._numbers):08d}"
        self.sockets.add(key)
        return key
