"""Show who has a case, in a modal for their eyes, what its asker agreed to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from slack_bolt.app.async_app import AsyncApp

from bot.chat.actions import interaction_named
from bot.chat.showing_more import NOTHING_LEFT, MoreShown, SeeMore, answer_of
from bot.domain.markdown import disarm, split, without_direction_marks
from bot.domain.texts import tr
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher, modal
from bot.platforms.slack.case_card import time_ago
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.payloads.actions import CASE_SEE_MORE, MORE_VIEW
from bot.platforms.slack.payloads.markup import escaped, escaped_label, to_mrkdwn
from bot.platforms.slack.rendering import SECTION_LIMIT, Block, context, section

_MOST_BLOCKS = 100
_LONGEST_SECTION = SECTION_LIMIT // 2
"""Characters before escaping, which may make a text longer."""
_CUT_NOTE = tr("There is more, but it doesn't fit here.")


class SeeMoreButton:
    """Handles the button of a card that shows more of the conversation. Implements `Listener`."""

    def __init__(self, see: SeeMore, presses: PressDispatcher, client: SlackClient) -> None:
        self._see = see
        self._presses = presses
        self._client = client

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, CASE_SEE_MORE, self._pressed)

    async def _pressed(self, press: Press) -> None:
        case_id = interaction_named(press.value)
        await self._see.see(case_id, press.presser, partial(self._show, press))

    async def _show(self, press: Press, shown: MoreShown) -> None:
        await self._client.views_open(press.trigger_id, more_modal(shown))


def more_modal(shown: MoreShown) -> Mapping[str, object]:
    """Return the modal with an asker's earlier questions and our answers; nothing in it is live."""
    blocks = tuple(_blocks(shown))
    if len(blocks) > _MOST_BLOCKS:
        blocks = (*blocks[: _MOST_BLOCKS - 1], context(_CUT_NOTE))
    return modal(MORE_VIEW, tr("Earlier messages"), blocks)


def _blocks(shown: MoreShown) -> Iterator[Block]:
    yield context(escaped_label(without_direction_marks(shown.heading)))
    if not shown.exchanges:
        yield section(NOTHING_LEFT)
    for each in shown.exchanges:
        yield context(time_ago(each.asked_at))
        yield from _sections(each.question, quoted=True)
        yield from _sections(answer_of(each), quoted=False)


def _sections(text: str, *, quoted: bool) -> Iterator[Block]:
    safe = disarm(without_direction_marks(text))
    for part in split(safe, _LONGEST_SECTION, lambda piece: len(escaped(piece))):
        words = to_mrkdwn(part)
        if words.strip():
            yield section("\n".join(f"> {line}" for line in words.split("\n")) if quoted else words)
