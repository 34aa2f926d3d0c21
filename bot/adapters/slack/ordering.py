"""Everything that is ordered by command, joined."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from bot.adapters.slack.asides import Asides
from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.channel_settings import SettingsForms
from bot.adapters.slack.commands import Commands
from bot.adapters.slack.dispatch import Registers
from bot.adapters.slack.errands import Errands
from bot.adapters.slack.followers import Followers
from bot.adapters.slack.modals import Modals
from bot.adapters.slack.newest_why import NewestWhy
from bot.adapters.slack.orderers import Orderers
from bot.adapters.slack.permalinks import Permalinks
from bot.adapters.slack.pressing import Presses
from bot.adapters.slack.readers import Readers
from bot.adapters.slack.reindexing import Reindexing
from bot.adapters.slack.rooms import Rooms
from bot.adapters.slack.run_message import Time
from bot.adapters.slack.run_notes import RunNotes
from bot.adapters.slack.run_screen import RunScreen
from bot.adapters.slack.why import WhyModals
from bot.office import Office

_ALONE = "local"
"""The name of a process where there can only be one."""


def followers_of(channel: SlackChannel, office: Office, time: Time | None = None) -> Followers:
    """Return who shows runs; with a record of its own, this is the only process."""
    owner = _ALONE if channel.settings.database_url is None else str(uuid.uuid4())
    return Followers(
        orders=office.orders,
        notes=RunNotes(office.notes, office.tenant, owner),
        screen=RunScreen(channel.client, channel.caller, channel, tenant=office.tenant),
        time=time or Time(),
    )


def command_listeners(
    channel: SlackChannel, office: Office, *, followers: Followers, errands: Errands
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
    why = NewestWhy(
        office=office, readers=Readers(channel), modals=WhyModals(modals), errands=errands
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
