"""What is pressed or reacted to on Slack."""

from __future__ import annotations

from bot.adapters.slack.wire.reply_to import response_url_of
from bot.chat.actions import ActionTargets, KnowsColleagues
from bot.domain.ports import Interactions
from bot.domain.types import Message


def subjects_of(
    *, tenant: str, interactions: Interactions, colleagues: KnowsColleagues
) -> ActionTargets:
    """Return who may act on what.

    What was asked by command may be answered in a direct message; it is its asker's anywhere.
    """
    return ActionTargets(
        platform="slack",
        tenant=tenant,
        interactions=interactions,
        colleagues=colleagues,
        anywhere=_by_command,
    )


def _by_command(message: Message) -> bool:
    return response_url_of(message) is not None
