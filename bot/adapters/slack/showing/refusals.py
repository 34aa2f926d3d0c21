"""Kinds of blocks that a workspace does not take, remembered so that not each post is refused."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from bot.adapters.slack.calling.pacing import Clock
from bot.adapters.slack.showing.render import Form

_REMEMBERED_SECONDS = 3_600.0

KINDS_REFUSED = frozenset({"invalid_blocks", "invalid_blocks_format"})
"""Slack's codes for blocks that it does not know; others speak of one message's length."""


def kinds_of(form: Form) -> frozenset[str]:
    """Return the types of a form's blocks."""
    return frozenset(str(block["type"]) for block in form.blocks)


class Refusals:
    """What is left out for an hour, since a workspace refused it."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def taken(self, forms: Sequence[Form]) -> Sequence[Form]:
        """Return the forms without anything that was refused; the last is always among them."""
        now = self._clock()
        refused = {kind for kind, until in self._until.items() if until > now}
        return [form for form in forms[:-1] if refused.isdisjoint(kinds_of(form))] + [forms[-1]]

    def learn(self, refused: Iterable[Form], taken: Form) -> None:
        """Note what only the refused forms had."""
        tried = frozenset[str]().union(*(kinds_of(form) for form in refused))
        for kind in tried - kinds_of(taken):
            self._until[kind] = self._clock() + _REMEMBERED_SECONDS
