"""Slack adapter: receive mentions and direct messages, reply in threads.

The order of the listeners matters: Bolt gives an event to the first that matches, so the most
specific come first and plain messages last.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial

from aiohttp import web

from bot.answering.asker_identity import ReaderLookup
from bot.chat.actions import ActionTargets, ExplainAction
from bot.chat.adapters import ChatContext
from bot.chat.commands.executor import CommandSenders, parse_admins
from bot.chat.commands.run_followers import RunFollowers, run_followers
from bot.chat.showing_more import SeeMore
from bot.chat.thread_replies import ThreadReplies
from bot.escalations.cards import CardActions
from bot.platforms.slack.actions.answer_buttons import AnswerButtons, ExplanationModals
from bot.platforms.slack.actions.feedback import AnswerLookup, FeedbackListener
from bot.platforms.slack.actions.interactivity import PressDispatcher
from bot.platforms.slack.actions.shortcuts import MessageShortcut
from bot.platforms.slack.answer_forms import KeepButton
from bot.platforms.slack.bot_identity import InstallationEvents
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.channel_settings import SettingsDialog
from bot.platforms.slack.dispatch import Dispatcher, Endpoint, Listener, bolt_app
from bot.platforms.slack.drafts import DraftButtons
from bot.platforms.slack.home_tab import HomeTab
from bot.platforms.slack.members import MemberNames
from bot.platforms.slack.messages.intake import EditListener, MessageListener, StopEvents
from bot.platforms.slack.notices import AskerButtons
from bot.platforms.slack.payloads.events import is_command
from bot.platforms.slack.people_channel import CaseButtons
from bot.platforms.slack.reindex_runs import ReindexListener, RunMessages
from bot.platforms.slack.showing_more import SeeMoreButton
from bot.platforms.slack.slash_commands import COMMAND_SPELLING, SlashCommands
from bot.platforms.slack.socket_mode import SocketMode, SocketTimeouts
from bot.platforms.slack.thread_replies import SlackThreadReplies, sees_channel
from rag.personal_data.names import DirectoryNames

__all__ = ["PATH", "SlackChannel", "connect", "mount"]

PATH = "/slack/events"


def mount(
    app: web.Application,
    channel: SlackChannel,
    context: ChatContext,
    *,
    timeouts: SocketTimeouts = SocketTimeouts(),  # noqa: B008 - it is frozen
) -> None:
    """Receive Slack's events and hold the channel's session while an application runs.

    With an app-level token events come over a socket, and no route is served; neither where others
    receive.
    """
    settings = channel.settings
    screen = RunMessages(channel.client, channel, tenant=context.tenant)
    followers = run_followers(
        context, screen, platform="slack", alone=settings.database_url is None
    )
    bolt = bolt_app(settings, listeners(channel, context, followers=followers))
    dispatcher = Dispatcher(bolt, channel.identity)
    app.cleanup_ctx.append(lambda _: _running(channel, context.names))
    followers.mount(app)
    if not settings.receives:
        return
    if settings.slack_app_token is not None:
        SocketMode(
            dispatcher,
            token=settings.slack_app_token.get_secret_value(),
            client=channel.client,
            health=channel.health,
            timeouts=timeouts,
        ).run_with(app)
    else:
        secret = settings.slack_signing_secret
        endpoint = Endpoint(
            dispatcher, secret.get_secret_value() if secret else "", most=settings.arriving
        )
        app.router.add_post(PATH, endpoint.handle)


async def _running(channel: SlackChannel, names: DirectoryNames | None) -> AsyncIterator[None]:
    """Hold the channel's session open, and resolve the bot's identity meanwhile.

    The members' names are read too, where they are masked.
    """
    channel.colleagues.names = names
    async with channel.session():
        keeping = [asyncio.create_task(channel.identity.keep_resolved())]
        if names is not None:
            reading = MemberNames(channel.client, names).keep_known()
            keeping.append(asyncio.create_task(reading))
        yield
        # Background tasks may need the bot's identity, so they end first.
        await channel.background.finish()
        for each in keeping:
            each.cancel()
            with suppress(asyncio.CancelledError):
                await each


def listeners(
    channel: SlackChannel, context: ChatContext, *, followers: RunFollowers
) -> Sequence[Listener]:
    """Return all listeners, most specific first."""
    identity, client, background = channel.identity, channel.client, channel.background
    replies = thread_replies(channel, context)
    messages = MessageListener(
        identity, context, channel.mention_names, replies, channel.tell_alone
    )
    commands = command_listeners(channel, context, followers=followers)
    return (
        *commands,
        InstallationEvents(
            context,
            identity=identity,
            client=client,
            background=background,
            prompts=channel.settings.prompts,
        ),
        EditListener(identity, context, messages),
        StopEvents(context, channel.sessions, channel.tell_alone),
        replies,
        *case_listeners(channel, context),
        *answer_listeners(channel, context),
        messages,
    )


def answer_listeners(channel: SlackChannel, context: ChatContext) -> Sequence[Listener]:
    """Return the listeners for buttons, reactions and the message shortcut."""
    presses = PressDispatcher(channel.client, channel.background)
    targets, answers = _targets(channel, context), AnswerLookup(context, channel.client)
    return (
        FeedbackListener(channel, context, targets, answers, presses),
        AnswerButtons(channel, context, targets, _readers(channel, context), presses),
        MessageShortcut(channel, context, answers),
        DraftButtons(context.drafts, channel, presses),
    )


def _targets(channel: SlackChannel, context: ChatContext) -> ActionTargets:
    return ActionTargets(
        platform="slack",
        tenant=context.tenant,
        interactions=context.interactions,
        colleague=channel.colleagues.of,
        # A command may be answered in a direct message, so its asker may act on it anywhere.
        anywhere=is_command,
    )


def _readers(channel: SlackChannel, context: ChatContext) -> ReaderLookup:
    open_spaces = channel.settings.slack_outsider_spaces
    return ReaderLookup(channel, context.directory, open_spaces=open_spaces)


def command_listeners(
    channel: SlackChannel, context: ChatContext, *, followers: RunFollowers
) -> Sequence[Listener]:
    """Return the listeners for commands, the settings modal and the button below a run."""
    senders = CommandSenders(
        platform="slack",
        colleague=channel.colleagues.of,
        admins=parse_admins(
            channel.settings.slack_admins,
            setting="SLACK_ADMINS",
            is_group=lambda name: name.startswith("S"),
        ),
        spelling=COMMAND_SPELLING,
        in_group=channel.colleagues.in_group,
    )
    settings = SettingsDialog(channel=channel, executor=context.commands, senders=senders)
    reindexing = ReindexListener(
        channel=channel,
        executor=context.commands,
        senders=senders,
        followers=followers,
        presses=PressDispatcher(channel.client, channel.background),
    )
    home = HomeTab(channel.client, context.commands, senders, channel.background)
    channel.cases_changed = home.changed
    commands = SlashCommands(
        channel=channel,
        context=context,
        senders=senders,
        open_settings=settings.open,
        order_run=reindexing.order,
        explain_action=ExplainAction(context.explainer, context.tenant, _readers(channel, context)),
        explanation_modals=ExplanationModals(channel.client),
    )
    return (home, commands, settings, reindexing)


def thread_replies(channel: SlackChannel, context: ChatContext) -> SlackThreadReplies:
    """Return the listener for what experts write in the threads of cases."""
    replies = ThreadReplies(
        targets=_targets(channel, context),
        casework=context.casework,
        notes=context.notes,
        card_of=channel.card_of,
        sees=partial(sees_channel, channel.client),
    )
    presses = PressDispatcher(channel.client, channel.background)
    return SlackThreadReplies(replies, channel.client, presses, context.tenant)


def case_listeners(channel: SlackChannel, context: ChatContext) -> Sequence[Listener]:
    """Return the listeners for acts on a case; the channel reads cases from the context."""
    channel.use_casework(context.casework)
    targets = _targets(channel, context)
    presses = PressDispatcher(channel.client, channel.background)
    cards = CardActions(
        tenant=context.tenant,
        casework=context.casework,
        interactions=context.interactions,
        cards=channel,
        background=channel.background,
        second_channel=channel.settings.slack_second_level_channel,
    )
    return (
        CaseButtons(context, targets, cards, presses, channel.client),
        SeeMoreButton(
            SeeMore(targets, context.casework, cards, context.directory), presses, channel.client
        ),
        KeepButton(context.keeping, targets, cards, presses, channel.client),
        AskerButtons(context.casework, targets, presses),
    )
