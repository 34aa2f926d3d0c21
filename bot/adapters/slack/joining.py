"""Everything that takes what Slack sends, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.dispatch import Registers
from bot.adapters.slack.errands import Errands
from bot.adapters.slack.messages import Messages
from bot.adapters.slack.own import Own
from bot.office import Office


def listeners(
    channel: SlackChannel,  # noqa: ARG001 - for those to come
    office: Office,
    *,
    own: Own,
    errands: Errands,  # noqa: ARG001
) -> Sequence[Registers]:
    """Return who takes what, most particular first."""
    return (Messages(own, office),)
