"""Show a channel's settings in a dialog, and save the submitted form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote, unquote

import structlog

from bot.chat.actions import LATER, ActionRejected
from bot.chat.commands.channel_settings import (
    ALL_SPACES,
    GENERAL_FIELD,
    SETTINGS_CHANGED,
    ChannelSettingsForm,
    Choice,
    Field,
    InvalidSettings,
    OutdatedSettings,
    SubmittedSettings,
    current_values,
)
from bot.chat.commands.executor import CommandExecutor, CommandSenders
from bot.chat.commands.types import CommandCaller, Done, Refused
from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.markdown import clip
from bot.domain.messages import Message
from bot.domain.texts import tr
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.payloads.actions import EDIT_SETTINGS, Press
from bot.platforms.teams.payloads.activity import (
    ROOM_ID,
    Body,
    Json,
    is_private,
    reference_of,
    text_at,
)
from bot.platforms.teams.rendering.cards import (
    card,
    dialog,
    dialog_button,
    submit_button,
    text_block,
    text_input,
    text_messages,
    text_paragraphs,
    with_card,
)

NOT_A_CHANNEL = tr(
    "This isn't a channel. Select Copy link in the channel's menu and paste the link here, or "
    "paste the channel's ID, which starts with 19:"
)
NOT_THERE = tr("I'm not in that channel. Add me to its team first, or choose another one.")
OTHERS_READ = tr(
    "Guests or people outside the company can read that channel. Choose one for colleagues only: "
    "questions are shown there in people's own words."
)


_MOST_OFFERED = 100
"""With more spaces than this, their names are typed instead of chosen."""

_VALUE_PREFIX = "="
"""Prefix of every choice value: Teams rejects an empty value."""

_VERSION = "version"
"""Key in the button's data for the version of the settings that the form shows."""

_ON, _OFF = "true", "false"
_LONGEST_LABEL = 200
_LONGEST_NAMES = 4_000
_LONGEST_ADDRESS = 1_000
_FOLLOW_UPS = tr("In threads I'm in, no mention is needed.")
_OTHER_BOTS = tr("Other bots can ask me.")
_SPACES = tr("Spaces I answer from")
_TYPED_SPACES = tr("Spaces I answer from, separated by commas; {all} means all", all=ALL_SPACES)
_PEOPLE = tr("Where people are asked: a channel's link or ID; leave empty for the usual place")

_REVIEWERS = tr(
    "Who rates what I would have said: object IDs of members of this channel, separated by commas"
)

_FIELDS: Sequence[Field] = (
    "answers",
    "follow_ups",
    "spaces",
    "people",
    "model",
    "reviewers",
    "other_bots",
)


def settings_card(
    form: ChannelSettingsForm, shown: SubmittedSettings, wrong: Mapping[Field, str]
) -> Json:
    """Return the form, filled with ``shown``, with the errors in ``wrong`` by field."""
    body: list[Json] = [
        text_block(tr("Settings of this conversation. They apply to everyone here."))
    ]
    inputs = dict(_inputs_by_field(form, shown))
    for name in _FIELDS:
        if name in wrong:
            body += [{**each, "color": "Attention"} for each in text_paragraphs(wrong[name])]
        body += [inputs[name]] if name in inputs else []
    return card(body, [submit_button(tr("Save"), EDIT_SETTINGS, **{_VERSION: form.version})])


def submitted_values(sent: Body, form: ChannelSettingsForm) -> SubmittedSettings:
    """Return the submitted values; settings that the form did not show are unchanged.

    Teams omits empty fields.
    """
    before = current_values(form.policy)
    return SubmittedSettings(
        answers=_chosen_value(sent, "answers", before.answers),
        follow_ups=_toggle_value(sent, "follow_ups", on=before.follow_ups),
        spaces=_chosen_spaces(sent, form) if form.spaces else before.spaces,
        people=_channel_id(text_at(sent, "people").strip()),
        model=_chosen_value(sent, "model", before.model),
        other_bots=_toggle_value(sent, "other_bots", on=before.other_bots),
        reviewers=_names_in(text_at(sent, "reviewers")),
    )


def _inputs_by_field(
    form: ChannelSettingsForm, shown: SubmittedSettings
) -> Iterator[tuple[Field, Json]]:
    yield "answers", _one_of("answers", tr("I answer"), form.answers, shown.answers, unfolded=True)
    yield "follow_ups", _toggle("follow_ups", _FOLLOW_UPS, on=shown.follow_ups)
    if _offers_spaces(form):
        yield "spaces", _many_of("spaces", _SPACES, form.space_choices, shown.spaces)
    elif form.spaces:
        typed = text_input("spaces", _TYPED_SPACES, lines=True, most=_LONGEST_NAMES)
        yield "spaces", {**typed, "value": ", ".join(shown.spaces)}
    yield "people", {**text_input("people", _PEOPLE, most=_LONGEST_ADDRESS), "value": shown.people}
    yield "model", _one_of("model", tr("Answers come from"), form.models, shown.model)
    reviewers = text_input("reviewers", _REVIEWERS, most=_LONGEST_NAMES)
    yield "reviewers", {**reviewers, "value": ", ".join(shown.reviewers)}
    yield "other_bots", _toggle("other_bots", _OTHER_BOTS, on=shown.other_bots)


def _toggle(name: Field, title: str, *, on: bool) -> Json:
    return {"type": "Input.Toggle", "id": name, "title": title, "value": _ON if on else _OFF}


def _one_of(
    name: Field, label: str, choices: Sequence[Choice], chosen: str, *, unfolded: bool = False
) -> Json:
    style = "expanded" if unfolded else "compact"
    value = f"{_VALUE_PREFIX}{_encoded(chosen)}"
    return {**_choices(name, label, choices), "style": style, "value": value}


def _many_of(name: Field, label: str, choices: Sequence[Choice], chosen: Sequence[str]) -> Json:
    value = ",".join(f"{_VALUE_PREFIX}{_encoded(each)}" for each in chosen)
    return {**_choices(name, label, choices), "isMultiSelect": True, "value": value}


def _choices(name: Field, label: str, choices: Sequence[Choice]) -> Json:
    offered = [
        {
            "title": clip(each.label, _LONGEST_LABEL),
            "value": f"{_VALUE_PREFIX}{_encoded(each.value)}",
        }
        for each in choices
    ]
    return {"type": "Input.ChoiceSet", "id": name, "label": label, "choices": offered, "wrap": True}


def _offers_spaces(form: ChannelSettingsForm) -> bool:
    return 0 < len(form.spaces) <= _MOST_OFFERED


def _encoded(value: str) -> str:
    """Return a value without commas, with which Teams separates several values."""
    return quote(value, safe="")


def _decoded(value: str) -> str:
    return unquote(value.strip().removeprefix(_VALUE_PREFIX))


def _chosen_value(sent: Body, name: Field, before: str) -> str:
    return _decoded(text_at(sent, name)) if name in sent else before


def _toggle_value(sent: Body, name: Field, *, on: bool) -> bool:
    return text_at(sent, name) == _ON if name in sent else on


def _names_in(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _chosen_spaces(sent: Body, form: ChannelSettingsForm) -> tuple[str, ...]:
    given = _names_in(text_at(sent, "spaces"))
    return tuple(map(_decoded, given)) if _offers_spaces(form) else tuple(given)


def _channel_id(given: str) -> str:
    """Return a channel's id, also from a link to the channel or to one of its messages."""
    found = ROOM_ID.search(unquote(given)) if "://" in given else None
    return found[0] if found else given


_NO_PERSONAL_SETTINGS = tr(
    "Personal chats have no settings. Go to the channel you want to change and mention me there "
    "with the word \u201csettings\u201d."
)
_OPEN_HINT = tr("Frontdesk's admins can see and change the settings of this conversation here.")
_TITLE = tr("Settings")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsDialog:
    """Opens and saves the settings form. Implements `Listener`.

    The form belongs to the conversation in which it is opened and submitted. The caller's
    permission is checked each time. A rejected form is shown again with its errors, so that no
    input is lost.
    """

    channel: TeamsChannel
    executor: CommandExecutor
    senders: CommandSenders

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_dialog(EDIT_SETTINGS, self._open, self._send)

    async def answer(self, message: Message, by: CommandCaller) -> tuple[Json, ...]:
        """Return a message with a button that opens the form, or the reason for a refusal."""
        if message.private:
            return text_messages(_NO_PERSONAL_SETTINGS)
        form = await self.executor.settings(message.thread.channel, by)
        if isinstance(form, Refused):
            return text_messages(form.text)
        shown = card([text_block(_OPEN_HINT)], [dialog_button(_TITLE, EDIT_SETTINGS)])
        return (with_card({"type": "message", "summary": _TITLE}, shown),)

    async def _open(self, press: Press) -> Json:
        form = await self.executor.settings(press.channel, await self._caller(press))
        if isinstance(form, Refused):
            raise ActionRejected(form.text)
        return _form_dialog(form, current_values(form.policy), {})

    async def _send(self, press: Press) -> Json:
        by = await self._caller(press)
        saved = await self.executor.save(
            press.channel,
            partial(submitted_values, press.data),
            by,
            version=text_at(press.data, _VERSION),
            people_problem=self._people_problem,
        )
        match saved:
            case InvalidSettings(errors, form, filled):
                return _form_dialog(form, filled, errors)
            case OutdatedSettings(form):
                told = {GENERAL_FIELD: SETTINGS_CHANGED}
                return _form_dialog(form, current_values(form.policy), told)
            case Refused(text):
                raise ActionRejected(text)
            case Done(text):
                return dialog(_TITLE, card(text_paragraphs(text)), height="small")

    async def _caller(self, press: Press) -> CommandCaller:
        if is_private(press.body):
            raise ActionRejected(_NO_PERSONAL_SETTINGS)
        return await self.senders.caller(reference_of(press.body))

    async def _people_problem(self, channel: str) -> str:
        """Return why people can't be asked in a channel; "" if they can."""
        if not ROOM_ID.fullmatch(channel):
            return NOT_A_CHANNEL
        try:
            where = await self.channel.client.conversations.channel(channel)
            outside = await self.channel.outside_readers.outside(where)
        except DeliveryRefused:
            return NOT_THERE
        except DeliveryFailed as error:
            log.warning("teams.people_room_unknown", why=str(error))
            return LATER
        return OTHERS_READ if outside else ""


def _form_dialog(
    form: ChannelSettingsForm, shown: SubmittedSettings, wrong: Mapping[Field, str]
) -> Json:
    return dialog(_TITLE, settings_card(form, shown, wrong), height="large")
