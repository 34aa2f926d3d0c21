"""Everything that takes what Teams sends, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.teams.arriving.dispatch import Dispatch, Registers
from bot.adapters.teams.cases.caring import case_listeners
from bot.adapters.teams.channel import TeamsChannel
from bot.adapters.teams.commands.ordering import command_listeners
from bot.adapters.teams.home.lifecycle import Lifecycle
from bot.adapters.teams.pressed.presses import presses
from bot.adapters.teams.said.arrivals import Arrivals
from bot.adapters.teams.said.changes import Changes
from bot.adapters.teams.said.messages import Messages
from bot.chat.adapters import ChatContext
from bot.chat.commands.run_followers import RunFollowers


def dispatch_to(takers: Sequence[Registers]) -> Dispatch:
    """Return where what arrives is handed to those who take it."""
    dispatch = Dispatch()
    for taker in takers:
        taker.register(dispatch)
    return dispatch


def listeners(
    channel: TeamsChannel, office: ChatContext, *, followers: RunFollowers
) -> Sequence[Registers]:
    """Return who takes what, most particular first."""
    messages = Messages(office)
    return (
        Lifecycle(channel.places, channel.presence, channel.onlookers, channel.errands),
        *case_listeners(channel, office),
        *presses(channel, office),
        Arrivals(channel, office),
        *command_listeners(channel, office, followers=followers),
        Changes(office, messages),
        messages,
    )
