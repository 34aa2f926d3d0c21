"""Kinds of blocks that a workspace does not take, remembered so that not each post is refused."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from bot.adapters.slack.calling.pacing import Clock
from bot.adapters.slack.showing.render import Form

_REMEMBERED_SECONDS = 600.0

KINDS_REFUSED = frozenset({"invalid_blocks", "invalid_blocks_format"})
"""Slack's codes for blocks that it does not know; others speak of one message's length."""


def kinds_of(form: Form) -> frozenset[str]:
    """Return the types of a form's blocks."""
    return frozenset(str(block["type"]) for block in form.blocks)


class Refusals:
    """What is left out for ten minutes, since a workspace does not take it.

    Slack refuses a message also for what is wrong in it alone. So a kind of blocks counts as
    refused where Slack names its type, or once two different messages went through without it.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}
        self._suspected: dict[str, tuple[int, float]] = {}

    def taken(self, forms: Sequence[Form]) -> Sequence[Form]:
        """Return the forms without anything that was refused; the last is always among them."""
        now = self._clock()
        refused = {kind for kind, until in self._until.items() if until > now}
        return [form for form in forms[:-1] if refused.isdisjoint(kinds_of(form))] + [forms[-1]]

    def unknown(self, kinds: Iterable[str]) -> None:
        """Note types of blocks that Slack says it does not take."""
        for kind in kinds:
            self._until[kind] = self._clock() + _REMEMBERED_SECONDS

    def learn(self, refused: Iterable[Form], taken: Form) -> None:
        """Note what only the refused forms of a message had, if another's had it before."""
        tried = frozenset[str]().union(*(kinds_of(form) for form in refused))
        message, now = hash(taken.text), self._clock()
        for kind in tried - kinds_of(taken):
            before, until = self._suspected.get(kind, (message, now))
            if before != message and until > now:
                self.unknown([kind])
            self._suspected[kind] = (message, now + _REMEMBERED_SECONDS)
