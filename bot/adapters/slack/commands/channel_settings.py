"""The settings of a channel: opened by command, saved by its form."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.adapters.slack.commands.commanding import Command
from bot.adapters.slack.commands.orderers import OUTSIDERS, Orderers
from bot.adapters.slack.commands.saying import said
from bot.adapters.slack.commands.settings_form import filled, is_listed, saved_where, settings_view
from bot.adapters.slack.home.rooms import Rooms
from bot.adapters.slack.said.ongoing import ACCEPT_SECONDS
from bot.adapters.slack.showing.asides import Asides
from bot.adapters.slack.showing.modals import Modals
from bot.adapters.slack.showing.render import Form
from bot.adapters.slack.wire.actions import SETTINGS_FORM
from bot.adapters.slack.wire.events import Event, id_at, object_at
from bot.chat.actions import LATER
from bot.chat.commands.channel_settings import Field, InvalidSettings, SubmittedSettings
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.types import CommandCaller, Refused
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError
from bot.domain.types import Policy

_DIRECT = (
    "A direct conversation has no settings. Say this in the channel that they are for: "
    "/frontdesk settings"
)
_NOT_THERE = (
    "I'm not in that channel, or another company shares it. Invite me there first, or choose "
    "another."
)
_FIRST: Field = "answers"
"""Where it is said what is wrong with no single field."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsForms:
    """Implements Registers, and bot.adapters.slack.commands.commands.Opens.

    Who may is asked again when the form is sent. What can't be saved is said in the form, so that
    nothing that was put in is lost.
    """

    orders: CommandExecutor
    orderers: Orderers
    rooms: Rooms
    modals: Modals
    asides: Asides
    errands: BackgroundTasks

    def register(self, bolt: AsyncApp) -> None:
        bolt.view(SETTINGS_FORM)(self._sent)

    async def open(self, command: Command, by: CommandCaller) -> Form | None:
        """Open the form, or return why not. Raises DeliveryFailed."""
        if command.is_direct:
            return said(_DIRECT)
        form = await self.orders.settings(command.channel, by)
        if isinstance(form, Refused):
            return said(form.text)
        view = settings_view(form, command.channel, command.response_url)
        await self.modals.open(command.trigger_id, view)
        return None

    async def _sent(self, ack: AsyncAck, body: dict[str, object], view: dict[str, object]) -> None:
        user = id_at(object_at(body, "user"), "id")
        channel, response_url = saved_where(view)
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                done = await self._saved(user, channel, view)
        except (BotError, TimeoutError) as error:
            log.warning("slack.settings_not_saved", error=type(error).__name__, why=str(error))
            done = {_FIRST: LATER}
        if isinstance(done, str):
            self.errands.run(self._tell(user, response_url, done), what="told of settings")
            await ack()
        else:
            await ack(response_action="errors", errors=done)

    async def _saved(self, user: str, channel: str, view: Event) -> str | dict[str, str]:
        """Save a form; return what to say, or what is wrong by field."""
        by = await self.orderers.of(user)
        if by is None or not channel:
            return {_FIRST: OUTSIDERS}
        form = await self.orders.settings(channel, by)
        if isinstance(form, Refused):
            return {_FIRST: form.text}
        chosen = filled(view, form.policy)
        if await self._is_out_of_reach(chosen, form.policy):
            return {"people": _NOT_THERE}
        saved = await self.orders.save(channel, chosen, by)
        if isinstance(saved, InvalidSettings):
            return {str(field): wrong for field, wrong in saved.errors.items()}
        return {_FIRST: saved.text} if isinstance(saved, Refused) else saved.text

    async def _is_out_of_reach(self, chosen: SubmittedSettings, before: Policy) -> bool:
        """Tell whether people would be asked, from now on, where the bot is not, or others read.

        The form offers only channels of one's own; what comes back from a client may be anything.
        """
        if chosen.people in {before.people, ""}:
            return False
        return not (is_listed(chosen.people) and await self.rooms.is_own(chosen.people))

    async def _tell(self, user: str, response_url: str, text: str) -> None:
        """Say it where the command was given; in a direct message if that is too long ago."""
        form = said(text)
        try:
            await self.asides.tell(response_url, form.text, form.blocks)
        except BotError as error:
            log.info("slack.told_directly", why=str(error))
            await self.rooms.open_thread(await self.rooms.direct(user), form)
