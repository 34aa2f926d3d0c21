"""The settings of a channel: asked for in words, changed in a dialog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.arriving.pressing import Press
from bot.adapters.teams.commands.orderers import OUTSIDERS, Orderers
from bot.adapters.teams.commands.people_rooms import PeopleRooms
from bot.adapters.teams.commands.saying import paragraphs, said
from bot.adapters.teams.commands.settings_form import filled, first_shown, settings_card
from bot.adapters.teams.showing.elements import card, opens, text_block, with_card
from bot.adapters.teams.wire.actions import SETTINGS
from bot.adapters.teams.wire.body import Json, is_private
from bot.adapters.teams.wire.invokes import dialog
from bot.adapters.teams.wire.reference import reference_of
from bot.chat.actions import LATER, ActionRejected
from bot.chat.commands.channel_settings import (
    ChannelSettingsForm,
    Field,
    InvalidSettings,
    SubmittedSettings,
)
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.types import CommandCaller, Refused
from bot.domain.errors import DeliveryFailed
from bot.domain.types import Message, Policy

_DIRECT = (
    "A personal chat has no settings. Mention me in the channel that they are for, with the one "
    "word: settings"
)
_OPEN = "Frontdesk's admins can look at what this conversation allows, and change it."
_TITLE = "Settings"
_FIRST: Field = "answers"
"""Where it is said what is wrong with no single field."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsForms:
    """Implements Registers, and bot.adapters.teams.commands.commands.Answers.

    The form is that of the conversation in which it is opened and sent. Who may is asked again each
    time. What can't be saved is said in the form, so that nothing that was put in is lost.
    """

    orders: CommandExecutor
    orderers: Orderers
    rooms: PeopleRooms

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_dialog(SETTINGS, self._open, self._send)

    async def answer(self, message: Message, by: CommandCaller) -> tuple[Json, ...]:
        """Return a message with a button that opens the form, or why there is none."""
        if message.private:
            return said(_DIRECT)
        form = await self.orders.settings(message.thread.channel, by)
        if isinstance(form, Refused):
            return said(form.text)
        shown = card([text_block(_OPEN)], [opens(_TITLE, SETTINGS)])
        return (with_card({"type": "message", "summary": _TITLE}, shown),)

    async def _open(self, press: Press) -> Json:
        form = await self._form(press, await self._orderer(press))
        return _asked(form, first_shown(form), {})

    async def _send(self, press: Press) -> Json:
        by = await self._orderer(press)
        form = await self._form(press, by)
        chosen = filled(press.data, form)
        wrong = await self._out_of_reach(chosen, form.policy)
        if wrong:
            return _asked(form, chosen, wrong)
        saved = await self.orders.save(press.channel, chosen, by)
        if isinstance(saved, InvalidSettings):
            return _asked(form, chosen, saved.errors)
        if isinstance(saved, Refused):
            return _asked(form, chosen, {_FIRST: saved.text})
        return dialog(_TITLE, card(paragraphs(saved.text)), height="small")

    async def _orderer(self, press: Press) -> CommandCaller:
        if is_private(press.body):
            raise ActionRejected(_DIRECT)
        by = await self.orderers.of(reference_of(press.body), alone=True)
        if by is None:
            raise ActionRejected(OUTSIDERS)
        return by

    async def _form(self, press: Press, by: CommandCaller) -> ChannelSettingsForm:
        form = await self.orders.settings(press.channel, by)
        if isinstance(form, Refused):
            raise ActionRejected(form.text)
        return form

    async def _out_of_reach(self, chosen: SubmittedSettings, before: Policy) -> dict[Field, str]:
        """Return why people can't be asked, from now on, where somebody chose."""
        if chosen.people in {before.people, ""}:
            return {}
        try:
            trouble = await self.rooms.trouble(chosen.people)
        except DeliveryFailed as error:
            log.warning("teams.people_room_unknown", why=str(error))
            trouble = LATER
        return {"people": trouble} if trouble else {}


def _asked(form: ChannelSettingsForm, shown: SubmittedSettings, wrong: Mapping[Field, str]) -> Json:
    return dialog(_TITLE, settings_card(form, shown, wrong), height="large")
