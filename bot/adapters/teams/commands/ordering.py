"""Everything that is ordered in words, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.teams.arriving.dispatch import Registers
from bot.adapters.teams.channel import TeamsChannel
from bot.adapters.teams.commands.channel_settings import SettingsForms
from bot.adapters.teams.commands.commands import Commands
from bot.adapters.teams.commands.newest_why import NewestWhy
from bot.adapters.teams.commands.once import Once
from bot.adapters.teams.commands.orderers import Orderers
from bot.adapters.teams.commands.people_rooms import PeopleRooms
from bot.adapters.teams.commands.reindexing import Reindexing
from bot.adapters.teams.commands.run_screen import RunScreen
from bot.adapters.teams.commands.standing import Standing
from bot.answering.asker_identity import ReaderLookup
from bot.chat.adapters import ChatContext
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLeases, process_owner
from bot.chat.commands.run_message import Clock


def followers_of(
    channel: TeamsChannel, office: ChatContext, time: Clock | None = None
) -> RunFollowers:
    """Return who shows runs."""
    owner = process_owner(alone=channel.settings.database_url is None)
    return RunFollowers(
        orders=office.orders,
        notes=RunLeases(office.notes, office.tenant, owner, platform="teams"),
        screen=RunScreen(channel.connector, channel.places, channel, tenant=office.tenant),
        time=time or Clock(),
    )


def command_listeners(
    channel: TeamsChannel, office: ChatContext, *, followers: RunFollowers
) -> Sequence[Registers]:
    """Return who takes orders, the settings' form and the button below a run."""
    orderers = Orderers(channel.colleagues, channel.settings.teams_admins)
    settings = SettingsForms(
        orders=office.orders,
        orderers=orderers,
        rooms=PeopleRooms(channel.places, channel.onlookers),
    )
    reindexing = Reindexing(
        orders=office.orders,
        orderers=orderers,
        followers=followers,
        connector=channel.connector,
        errands=channel.errands,
    )
    open_spaces = channel.settings.teams_outsider_spaces
    readers = ReaderLookup(channel, office.directory, open_spaces=open_spaces)
    commands = Commands(
        office=office,
        orderers=orderers,
        once=Once(office.notes, office.tenant),
        connector=channel.connector,
        errands=channel.errands,
        settings=settings,
        standing=Standing(office.orders, channel.onlookers),
        why=NewestWhy(office, readers),
        reindexing=reindexing,
    )
    return (commands, settings, reindexing)
