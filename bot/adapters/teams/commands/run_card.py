"""How far a run is, as a message with a card, and where that is: pure.

Names in it are as people wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator

from bot.adapters.teams.cases.links import address
from bot.adapters.teams.commands.orderers import SPELLING
from bot.adapters.teams.showing.elements import card, press, text_block, with_card
from bot.adapters.teams.wire.actions import RUN_CANCEL
from bot.adapters.teams.wire.body import Json, root_of, text_at
from bot.adapters.teams.wire.reference import read_reference, room_in
from bot.adapters.teams.wire.text import card_plain
from bot.chat.commands.run_leases import RunLease
from bot.chat.commands.run_progress import Progress, progress_of, text_bar
from bot.chat.commands.run_status import RunStatus
from bot.domain.text.markdown import clip
from bot.domain.types import PostedRef

_LONGEST_LINE = 1_000
_LONGEST_NAME = 80


def run_message(told: RunStatus, *, name: str, alone: bool) -> Json:
    """Return the message; somebody called ``name`` ordered the run.

    ``alone``: nobody else reads it. Else no page is named, for not all may know of it.
    """
    shown = progress_of(told, SPELLING, alone=alone)
    body = [*_progress(shown), *_troubles(shown)]
    if name and not alone:
        body.append(_line(f"Ordered by {clip(name, _LONGEST_NAME)}", isSubtle=True, size="Small"))
    buttons = [] if told.ended else [press("Cancel", RUN_CANCEL, run=told.run_id)]
    message = {"type": "message", "summary": shown.title}
    return with_card(message, card(body, buttons))


def link_to_run(shown: RunLease) -> str | None:
    """Return where a run's message opens; None where only who ordered it sees that."""
    there = read_reference(shown.place)
    return address(
        PostedRef(room_in(shown.place), shown.posted),
        tenant=text_at(there, "conversation", "tenantId"),
        root=root_of(there),
    )


def _progress(shown: Progress) -> Iterator[Json]:
    yield _line(shown.title, weight="Bolder")
    if shown.share is not None:
        yield _line(text_bar(shown.share), fontType="Monospace", spacing="Small")
    for fact in shown.facts:
        yield _line(fact, spacing="Small")


def _troubles(shown: Progress) -> Iterator[Json]:
    if shown.trouble_title:
        yield _line(shown.trouble_title, color="Warning")
    for trouble in shown.troubles:
        yield _line(f"\u2022 {trouble}", spacing="Small")
    if shown.cure:
        yield _line(shown.cure)


def _line(text: str, **looks: object) -> Json:
    return text_block(card_plain(clip(text, _LONGEST_LINE)), **looks)
