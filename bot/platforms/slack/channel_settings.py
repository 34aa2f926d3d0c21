"""Show and save a channel's settings in a modal that is opened by command.

Permission is checked again when the modal is submitted; errors are shown in the modal, so that no
input is lost.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.chat.actions import LATER, ActionRejected
from bot.chat.commands.channel_settings import (
    GENERAL_FIELD,
    SETTINGS_CHANGED,
    ChannelSettingsForm,
    Choice,
    Field,
    InvalidSettings,
    OutdatedSettings,
    SubmittedSettings,
    current_values,
    policy_in_words,
)
from bot.chat.commands.executor import NOT_FOR_OUTSIDERS, CommandExecutor, CommandSenders
from bot.chat.commands.types import CommandCaller, Done, Refused
from bot.domain.errors import BotError
from bot.domain.markdown import clip
from bot.domain.texts import join_texts, tr
from bot.platforms.slack.actions.interactivity import (
    input_block,
    modal,
    modal_metadata,
    selected_values,
    submitted_field,
)
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.client.posting import language_of
from bot.platforms.slack.dispatch import ACCEPT_SECONDS
from bot.platforms.slack.payloads.actions import SETTINGS_FORM
from bot.platforms.slack.payloads.events import Event, id_at, object_at, text_at
from bot.platforms.slack.payloads.markup import escaped
from bot.platforms.slack.payloads.metadata import Place
from bot.platforms.slack.rendering import (
    Block,
    MessageForm,
    plain_text,
    section,
)
from bot.platforms.slack.slash_commands import Command, plain_message

_MOST_OPTIONS = 100  # Slack's limit for the options of a menu or group, and for its groups
_SHORT = 30
_MOST_SHOWN = 2_000
_VALUE_PREFIX = "="
"""Precedes every value, as Slack accepts no empty one."""

_ON = "on"
_FOLLOW_UPS = tr("In threads I'm in, no mention is needed.")
_TITLE = tr("Settings")
_OPEN_AGAIN = tr("To change them: {command}", command="/frontdesk settings")
_PEOPLE = tr("Where people are asked")
_USUAL = tr("If none is selected, the usual place is used. I have to be in the channel.")
_REVIEWERS = tr("Who rates what I would have said")
_REVIEWERS_HINT = tr("Members of this channel; each gets the drafts in a direct message.")
_CHANNEL = re.compile(r"[CG][A-Z0-9]{2,}")


def settings_modal(
    form: ChannelSettingsForm, channel: str, response_url: str
) -> Mapping[str, object]:
    """Return the modal; its result is shown at ``response_url``."""
    about = {"channel": channel, "response_url": response_url, "version": form.version}
    blocks = tuple(_blocks(form, channel))
    metadata = json.dumps(about)
    return modal(SETTINGS_FORM, _TITLE, blocks, submit=tr("Save"), private_metadata=metadata)


def outdated_modal(form: ChannelSettingsForm) -> dict[str, object]:
    """Return what replaces an outdated modal: the present settings, in words.

    Not as a form: in an updated modal Slack keeps what was entered in fields of the same ids.
    """
    now = (join_texts(": ", each) for each in policy_in_words(form.policy))
    text = join_texts("\n", (SETTINGS_CHANGED, "", *now, "", _OPEN_AGAIN))
    return {**modal(SETTINGS_FORM, _TITLE, [section(escaped(clip(text, _MOST_SHOWN)))])}


def submitted_values(view: Event, form: ChannelSettingsForm) -> SubmittedSettings:
    """Return the submitted values; what the modal could not show stays as it is."""
    before = form.policy
    shown = submitted_field(view, "spaces")
    kept = "" if is_channel_id(before.people) else before.people
    return SubmittedSettings(
        answers=_selected_value(view, "answers"),
        follow_ups=bool(_selected_values(view, "follow_ups")),
        spaces=tuple(_selected_values(view, "spaces")) if shown else current_values(before).spaces,
        people=text_at(submitted_field(view, "people"), "selected_conversation") or kept,
        model=_selected_value(view, "model"),
        other_bots=bool(_selected_values(view, "other_bots")),
        reviewers=_selected_users(view),
    )


def _selected_users(view: Event) -> tuple[str, ...]:
    users = submitted_field(view, "reviewers").get("selected_users")
    return tuple(map(str, users)) if isinstance(users, list) else ()


def is_channel_id(people: str) -> bool:
    """Return whether an escalation channel is one that Slack's channel menu can show."""
    return _CHANNEL.fullmatch(people) is not None


def _blocks(form: ChannelSettingsForm, channel: str) -> Iterator[Block]:
    policy = form.policy
    yield section(
        tr("Settings of {channel}. They apply to everyone there.", channel=f"<#{channel}>")
    )
    yield input_block(
        "answers", tr("I answer"), _with_options("radio_buttons", form.answers, policy.answers)
    )
    yield _checkbox("follow_ups", tr("Follow-ups"), _FOLLOW_UPS, on=policy.follow_ups)
    spaces = current_values(policy).spaces
    if form.spaces and len(spaces) <= _MOST_OPTIONS:
        menu = _multi_menu(form.space_choices, spaces)
        yield input_block("spaces", tr("Spaces I answer from"), menu, optional=True)
    people = policy.people
    yield input_block("people", _PEOPLE, _channel_menu(people), _people_hint(people), optional=True)
    yield input_block(
        "model", tr("Answers come from"), _with_options("static_select", form.models, policy.model)
    )
    reviewers = {"type": "multi_users_select", "placeholder": plain_text(tr("Nobody"))}
    chosen = {"initial_users": sorted(policy.reviewers)} if policy.reviewers else {}
    yield input_block(
        "reviewers", _REVIEWERS, {**reviewers, **chosen}, _REVIEWERS_HINT, optional=True
    )
    yield _checkbox(
        "other_bots", tr("Other bots"), tr("Other bots can ask me."), on=policy.other_bots
    )


def _checkbox(field: Field, label: str, text: str, *, on: bool) -> Block:
    option = {"text": plain_text(text), "value": _ON}
    boxes = {"type": "checkboxes", "options": [option]}
    return input_block(
        field, label, {**boxes, "initial_options": [option]} if on else boxes, optional=True
    )


def _multi_menu(choices: Sequence[Choice], chosen: Sequence[str]) -> Block:
    """Return a menu of all choices, in groups if they exceed the limit of one list."""
    first = [_option(choice) for choice in choices if choice.value in chosen]
    begun = {"initial_options": first} if first else {}
    menu = {"type": "multi_static_select", "placeholder": plain_text(tr("No space")), **begun}
    if len(choices) <= _MOST_OPTIONS:
        return {**menu, "options": [_option(choice) for choice in choices]}
    starts = range(0, min(len(choices), _MOST_OPTIONS**2), _MOST_OPTIONS)
    return {**menu, "option_groups": [_group(choices[at : at + _MOST_OPTIONS]) for at in starts]}


def _group(choices: Sequence[Choice]) -> Block:
    label = f"{clip(choices[0].label, _SHORT)} \u2013 {clip(choices[-1].label, _SHORT)}"
    return {"label": plain_text(label), "options": [_option(choice) for choice in choices]}


def _channel_menu(people: str) -> Block:
    chosen = {"initial_conversation": people} if is_channel_id(people) else {}
    return {
        "type": "conversations_select",
        "placeholder": plain_text(tr("The usual place")),
        "filter": {"include": ["public", "private"], "exclude_external_shared_channels": True},
        **chosen,
    }


def _people_hint(people: str) -> str:
    """Return the hint below the channel menu, which can't show every value."""
    if is_channel_id(people) or not people:
        return _USUAL
    return tr("Currently {place}; choose a channel to change it.", place=clip(people, _SHORT))


def _with_options(kind: str, choices: Sequence[Choice], chosen: str) -> Block:
    offered = choices[:_MOST_OPTIONS]
    options = {"type": kind, "options": [_option(choice) for choice in offered]}
    first = [_option(choice) for choice in offered if choice.value == chosen]
    return {**options, "initial_option": first[0]} if first else options


def _option(choice: Choice) -> Block:
    return {"text": plain_text(choice.label), "value": f"{_VALUE_PREFIX}{choice.value}"}


def _selected_value(view: Event, field: Field) -> str:
    option = object_at(submitted_field(view, field), "selected_option")
    return text_at(option, "value").removeprefix(_VALUE_PREFIX)


def _selected_values(view: Event, field: Field) -> list[str]:
    return [each.removeprefix(_VALUE_PREFIX) for each in selected_values(view, field)]


_DIRECT = tr(
    "A direct conversation has no settings. Use this in the channel: {command}",
    command="/frontdesk settings",
)
_NOT_THERE = tr(
    "I'm not in that channel, or it is shared with another company. Invite me first, or choose "
    "another one."
)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsDialog:
    """Opens the settings modal and saves submissions. Implements `Listener`.

    Permission is checked again when the modal is submitted. Errors are shown in the modal, so that
    no input is lost.
    """

    channel: SlackChannel
    executor: CommandExecutor
    senders: CommandSenders

    def register(self, bolt: AsyncApp) -> None:
        bolt.view(SETTINGS_FORM)(self._sent)

    async def open(self, command: Command, by: CommandCaller) -> MessageForm | None:
        """Open the modal, or return why it can't be opened. Raises DeliveryFailed."""
        if command.is_direct:
            return plain_message(_DIRECT)
        form = await self.executor.settings(command.channel, by)
        if isinstance(form, Refused):
            return plain_message(form.text)
        view = settings_modal(form, command.channel, command.response_url)
        await self.channel.client.views_open(command.trigger_id, view)
        return None

    async def _sent(self, ack: AsyncAck, body: dict[str, object], view: dict[str, object]) -> None:
        user = id_at(object_at(body, "user"), "id")
        about, language = modal_metadata(view), language_of(self.channel.client.web)
        channel = id_at(about, "channel")
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                result = await self._save(user, channel, text_at(about, "version"), view)
        except ActionRejected as error:
            result = {GENERAL_FIELD: str(error)}
        except (BotError, TimeoutError) as error:
            log.warning("slack.settings_not_saved", error=type(error).__name__, why=str(error))
            result = {GENERAL_FIELD: LATER}
        match result:
            case str():
                told = self._tell(user, text_at(about, "response_url"), result)
                self.channel.background.run(told, what="told of settings")
                await ack()
            case OutdatedSettings(form):
                await ack(response_action="update", view=language.render_all(outdated_modal(form)))
            case errors:
                await ack(response_action="errors", errors=language.render_all(errors))

    async def _save(
        self, user: str, channel: str, version: str, view: Event
    ) -> str | OutdatedSettings | dict[str, str]:
        """Save a submission; return the confirmation, or the errors by field."""
        by = await self.senders.caller(user)
        if not channel:
            raise ActionRejected(NOT_FOR_OUTSIDERS)
        read = partial(submitted_values, view)
        saved = await self.executor.save(
            channel, read, by, version=version, people_problem=self._people_problem
        )
        match saved:
            case InvalidSettings(errors):
                return {str(field): wrong for field, wrong in errors.items()}
            case OutdatedSettings():
                return saved
            case Refused(text):
                return {GENERAL_FIELD: text}
            case Done(text):
                return text

    async def _people_problem(self, channel: str) -> str:
        """Return why escalations can't move there: the bot is not in the channel, or outsiders are.

        The modal offers only the company's own channels, but a client may submit anything.
        """
        if not is_channel_id(channel):
            return _NOT_THERE
        found = await self.channel.client.visible_channel(channel)
        shared = found.get("is_ext_shared") or found.get("is_pending_ext_shared")
        return _NOT_THERE if shared or not found.get("is_member") else ""

    async def _tell(self, user: str, response_url: str, text: str) -> None:
        """Reply where the command was given; in a direct message if that is too long ago."""
        forms = (plain_message(text),)
        try:
            await self.channel.client.respond(response_url, forms)
        except BotError as error:
            log.info("slack.told_directly", why=str(error))
            direct = await self.channel.client.conversations_open(user)
            await self.channel.client.chat_post_message(Place(direct, None, since="0"), forms)
