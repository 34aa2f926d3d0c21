"""Microsoft Teams adapter: receive messages and mentions, post cited replies.

No other package imports botbuilder. The order of the listeners matters: the first that takes an
activity keeps it, so the most specific come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from aiohttp import web

from bot.answering.asker_identity import ReaderLookup
from bot.chat.actions import ActingUser, ActionTargets, ExplainAction
from bot.chat.adapters import ChatContext
from bot.chat.commands.executor import CommandSenders, parse_admins
from bot.chat.commands.run_followers import RunFollowers, run_followers
from bot.chat.showing_more import SeeMore
from bot.chat.thread_replies import ThreadReplies
from bot.domain.messages import Person
from bot.escalations.cards import CardActions
from bot.platforms.teams.actions import AnswerListener
from bot.platforms.teams.answer_forms import KeepButton
from bot.platforms.teams.channel import TeamsChannel, connect, language_of
from bot.platforms.teams.channel_settings import SettingsDialog
from bot.platforms.teams.dispatch import Dispatch, Endpoint, Listener
from bot.platforms.teams.drafts import DraftButtons
from bot.platforms.teams.installation import Greetings, InstallationEvents
from bot.platforms.teams.members import COMMAND_SPELLING
from bot.platforms.teams.message_commands import CommandDeduplicator, MessageCommands
from bot.platforms.teams.messages.intake import MessageListener
from bot.platforms.teams.notices import AskerButtons
from bot.platforms.teams.people_channel import CaseButtons
from bot.platforms.teams.reindex_runs import ReindexListener, RunMessages
from bot.platforms.teams.showing_more import SeeMoreButton
from bot.platforms.teams.thread_replies import TeamsThreadReplies

__all__ = ["TeamsChannel", "connect", "mount"]

ENDPOINT_PATH = "/api/messages"


def mount(app: web.Application, channel: TeamsChannel, context: ChatContext) -> None:
    """Add the endpoint for Teams' requests to an app."""
    channel.streams.on_stopped(context.inbox.cancel)
    channel.colleagues.names = channel.outside_readers.names = context.names
    screen = RunMessages(channel.client, channel, tenant=context.tenant)
    alone = channel.settings.database_url is None
    followers = run_followers(context, screen, platform="teams", alone=alone)
    dispatch = dispatch_to(listeners(channel, context, followers=followers))
    endpoint = Endpoint(
        channel.inbound, channel.background, dispatch, language_of(channel.settings)
    )
    app.router.add_post(ENDPOINT_PATH, endpoint.handle)
    app.cleanup_ctx.append(endpoint.running)
    app.on_cleanup.append(lambda _: channel.client.close())
    followers.mount(app)


def dispatch_to(registered: Sequence[Listener]) -> Dispatch:
    """Return a dispatch with all listeners registered."""
    dispatch = Dispatch()
    for listener in registered:
        listener.register(dispatch)
    return dispatch


def listeners(
    channel: TeamsChannel, context: ChatContext, *, followers: RunFollowers
) -> Sequence[Listener]:
    """Return all listeners, most specific first; case cards show the current view."""
    channel.use_casework(context.casework)
    targets = ActionTargets(
        platform="teams",
        tenant=context.tenant,
        interactions=context.interactions,
        colleague=channel.colleagues.of,
    )
    cards = CardActions(
        tenant=context.tenant,
        casework=context.casework,
        interactions=context.interactions,
        cards=channel,
        background=channel.background,
        second_channel=channel.settings.teams_second_level_channel,
    )
    open_spaces = channel.settings.teams_outsider_spaces
    readers = ReaderLookup(channel, context.directory, open_spaces=open_spaces)
    explain = ExplainAction(context.explainer, context.tenant, readers)
    replies = thread_replies(channel, context, targets)
    return (
        InstallationEvents(channel.client, channel.outside_readers, channel.background),
        replies,
        CaseButtons(context, targets, cards, channel.people, partial(_member, channel)),
        SeeMoreButton(
            SeeMore(targets, context.casework, cards, context.directory),
            cards,
            channel.people,
            channel.client,
        ),
        KeepButton(context.keeping, targets, cards),
        AskerButtons(context.casework, targets),
        AnswerListener(context, channel.posted, explain, targets),
        DraftButtons(context.drafts, channel),
        Greetings(channel, context),
        *_command_listeners(channel, context, explain, followers),
        MessageListener(context, replies, channel.tell_alone),
    )


def thread_replies(
    channel: TeamsChannel, context: ChatContext, targets: ActionTargets
) -> TeamsThreadReplies:
    """Return the listener for what experts write in the threads of cases."""
    replies = ThreadReplies(
        targets=targets,
        casework=context.casework,
        notes=context.notes,
        card_of=channel.card_of,
        sees=partial(_sees, channel),
    )
    return TeamsThreadReplies(
        replies, channel.client, channel.people, context.notes, context.tenant
    )


async def _sees(channel: TeamsChannel, author: ActingUser, where: str) -> bool:
    return await channel.colleagues.sees(author.reference, where)


async def _member(channel: TeamsChannel, where: str, named: str) -> Person | None:
    there = await channel.client.conversations.channel(where)
    return await channel.colleagues.in_channel(there, named)


def _command_listeners(
    channel: TeamsChannel, context: ChatContext, explain: ExplainAction, followers: RunFollowers
) -> Sequence[Listener]:
    """Return the listeners for commands, the settings form and the button below a run."""
    admins = parse_admins(
        channel.settings.teams_admins, setting="TEAMS_ADMINS", is_group=lambda _: False
    )
    senders = CommandSenders(
        platform="teams", colleague=channel.colleagues.of, admins=admins, spelling=COMMAND_SPELLING
    )
    settings = SettingsDialog(channel=channel, executor=context.commands, senders=senders)
    reindexing = ReindexListener(
        channel=channel, executor=context.commands, senders=senders, followers=followers
    )
    commands = MessageCommands(
        channel=channel,
        context=context,
        senders=senders,
        handled=CommandDeduplicator(context.notes, context.tenant),
        settings=settings,
        explain=explain,
        reindexing=reindexing,
    )
    return (commands, settings, reindexing)
