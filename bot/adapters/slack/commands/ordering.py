"""Everything that is ordered by command, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.slack.arriving.dispatch import Registers
from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.commands.channel_settings import SettingsForms
from bot.adapters.slack.commands.commands import Commands
from bot.adapters.slack.commands.newest_why import NewestWhy
from bot.adapters.slack.commands.orderers import Orderers
from bot.adapters.slack.commands.reindexing import Reindexing
from bot.adapters.slack.commands.run_screen import RunScreen
from bot.adapters.slack.home.rooms import Rooms
from bot.adapters.slack.pressed.pressing import Presses
from bot.adapters.slack.pressed.why import WhyModals
from bot.adapters.slack.showing.asides import Asides
from bot.adapters.slack.showing.modals import Modals
from bot.adapters.slack.showing.permalinks import Permalinks
from bot.answering.asker_identity import ReaderLookup
from bot.chat.adapters import ChatContext
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLeases, process_owner
from bot.chat.commands.run_message import Clock
from bot.domain.concurrency import BackgroundTasks


def followers_of(
    channel: SlackChannel, office: ChatContext, time: Clock | None = None
) -> RunFollowers:
    """Return who shows runs."""
    owner = process_owner(alone=channel.settings.database_url is None)
    return RunFollowers(
        orders=office.orders,
        notes=RunLeases(office.notes, office.tenant, owner, platform="slack"),
        screen=RunScreen(channel.client, channel.caller, channel, tenant=office.tenant),
        time=time or Clock(),
    )


def command_listeners(
    channel: SlackChannel, office: ChatContext, *, followers: RunFollowers, errands: BackgroundTasks
) -> Sequence[Registers]:
    """Return who takes commands, the settings' form and the button below a run."""
    client, caller = channel.client, channel.caller
    asides, modals = Asides(client), Modals(client, caller)
    orderers = Orderers(channel.colleagues, channel.settings.slack_admins)
    settings = SettingsForms(
        orders=office.orders,
        orderers=orderers,
        rooms=Rooms(client, caller),
        modals=modals,
        asides=asides,
        errands=errands,
    )
    reindexing = Reindexing(
        orders=office.orders,
        orderers=orderers,
        followers=followers,
        permalinks=Permalinks(client, caller),
        presses=Presses(asides, errands),
        asides=asides,
        errands=errands,
    )
    open_spaces = channel.settings.slack_outsider_spaces
    why = NewestWhy(
        office=office,
        readers=ReaderLookup(channel, office.directory, open_spaces=open_spaces),
        modals=WhyModals(modals),
        errands=errands,
    )
    commands = Commands(
        office=office,
        orderers=orderers,
        asides=asides,
        errands=errands,
        settings=settings,
        why=why,
        reindexes=reindexing,
    )
    return (commands, settings, reindexing)
