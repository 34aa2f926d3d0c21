"""Everything that takes what Slack sends, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.slack.arriving.dispatch import Registers
from bot.adapters.slack.cases.caring import case_listeners
from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.commands.ordering import command_listeners
from bot.adapters.slack.home.lifecycle import Lifecycle
from bot.adapters.slack.home.own import Own
from bot.adapters.slack.pressed.presses import presses
from bot.adapters.slack.said.arrivals import Arrivals
from bot.adapters.slack.said.changes import Changes
from bot.adapters.slack.said.messages import Messages
from bot.adapters.slack.said.stopping import Stopping
from bot.chat.adapters import ChatContext
from bot.chat.commands.run_followers import RunFollowers
from bot.domain.concurrency import BackgroundTasks


def listeners(
    channel: SlackChannel,
    office: ChatContext,
    *,
    own: Own,
    errands: BackgroundTasks,
    followers: RunFollowers,
) -> Sequence[Registers]:
    """Return who takes what, most particular first."""
    messages = Messages(own, office, channel.names)
    return (
        Arrivals(own, office, channel=channel, errands=errands),
        Changes(own, office, messages),
        Lifecycle(own),
        Stopping(office, channel.sessions),
        *case_listeners(channel, office, errands=errands),
        *presses(channel, office, own=own, errands=errands),
        *command_listeners(channel, office, followers=followers, errands=errands),
        messages,
    )
