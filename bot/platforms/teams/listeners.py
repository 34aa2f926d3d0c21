"""Wire the listeners for everything that Teams sends: messages, buttons, dialogs and commands.

Order matters: the first listener that takes an activity keeps it, so the most specific come first.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.answering.asker_identity import ReaderLookup
from bot.chat.actions import ActionTargets, ButtonQuestions, ExplainAction
from bot.chat.adapters import ChatContext
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLeases, process_owner
from bot.chat.commands.run_message import Clock
from bot.chat.votes import AnswerVotes, ReactionVotes
from bot.escalations.cards import CardActions
from bot.escalations.casework import IdempotentActs
from bot.platforms.teams.actions.explanations import FeedbackReasons, WhyButton
from bot.platforms.teams.actions.feedback import AnswerLookup, FeedbackLoop, FeedbackReactions
from bot.platforms.teams.actions.requests import RequestButtons
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.commands.channel_settings import PeopleChannelCheck, SettingsDialog
from bot.platforms.teams.commands.message_commands import (
    CommandDeduplicator,
    MessageCommands,
    StatusCommand,
    WhyCommand,
)
from bot.platforms.teams.commands.reindex_runs import ReindexListener, RunMessages
from bot.platforms.teams.escalations.buttons import AskerButtons, CaseButtons
from bot.platforms.teams.messages.edits import EditListener
from bot.platforms.teams.messages.intake import MessageListener
from bot.platforms.teams.tenant.identity import CommandSenders, Experts
from bot.platforms.teams.tenant.installation import Greetings, InstallationEvents
from bot.platforms.teams.transport.dispatch import Dispatch, Listener


def answer_listeners(channel: TeamsChannel, context: ChatContext) -> Sequence[Listener]:
    """Return the listeners for thumbs, reactions and the buttons below an answer."""
    tenant, interactions = context.tenant, context.interactions
    subjects = ActionTargets(
        platform="teams",
        tenant=tenant,
        interactions=interactions,
        colleagues=channel.colleagues,
    )
    answers, judging = AnswerLookup(context, channel.parts), AnswerVotes(interactions)
    reacting = ReactionVotes(platform="teams", tenant=tenant, judging=judging, notes=context.notes)
    wishing = ButtonQuestions(interactions=interactions, inbox=context.inbox)
    open_spaces = channel.settings.teams_outsider_spaces
    readers = ReaderLookup(channel, context.directory, open_spaces=open_spaces)
    return (
        FeedbackLoop(tenant=tenant, answers=answers, judging=judging, subjects=subjects),
        FeedbackReactions(answers=answers, reacting=reacting, subjects=subjects),
        RequestButtons(wishing=wishing, subjects=subjects),
        WhyButton(
            why=ExplainAction(context, readers),
            subjects=subjects,
            reasons=FeedbackReasons(tenant=tenant, judging=judging, subjects=subjects),
        ),
    )


def case_listeners(channel: TeamsChannel, context: ChatContext) -> Sequence[Listener]:
    """Return the listeners for case actions; cards show the current view."""
    channel.use_casework(context.casework)
    tenant, casework, interactions = context.tenant, context.casework, context.interactions
    cards = CardActions(
        tenant=tenant,
        casework=casework,
        interactions=interactions,
        cards=channel,
        background=channel.background,
    )
    return (
        CaseButtons(
            tenant=tenant,
            casework=casework,
            saying=IdempotentActs(tenant=tenant, casework=casework, notes=context.notes),
            cards=cards,
            faces=channel.people,
            experts=Experts(channel.colleagues),
        ),
        AskerButtons(tenant=tenant, casework=casework, interactions=interactions),
    )


def followers_of(
    channel: TeamsChannel, context: ChatContext, time: Clock | None = None
) -> RunFollowers:
    """Return the followers, which show the progress of reindex runs."""
    owner = process_owner(alone=channel.settings.database_url is None)
    return RunFollowers(
        commands=context.commands,
        leases=RunLeases(context.notes, context.tenant, owner, platform="teams"),
        screen=RunMessages(channel.connector, channel.places, channel, tenant=context.tenant),
        time=time or Clock(),
    )


def command_listeners(
    channel: TeamsChannel, context: ChatContext, *, followers: RunFollowers
) -> Sequence[Listener]:
    """Return the listeners for commands, the settings form and the button below a run."""
    orderers = CommandSenders(channel.colleagues, channel.settings.teams_admins)
    settings = SettingsDialog(
        orders=context.commands,
        orderers=orderers,
        rooms=PeopleChannelCheck(channel.places, channel.onlookers),
    )
    reindexing = ReindexListener(
        orders=context.commands,
        orderers=orderers,
        followers=followers,
        connector=channel.connector,
        background=channel.background,
    )
    open_spaces = channel.settings.teams_outsider_spaces
    readers = ReaderLookup(channel, context.directory, open_spaces=open_spaces)
    commands = MessageCommands(
        context=context,
        orderers=orderers,
        once=CommandDeduplicator(context.notes, context.tenant),
        connector=channel.connector,
        background=channel.background,
        settings=settings,
        standing=StatusCommand(context.commands, channel.onlookers),
        why=WhyCommand(context, readers),
        reindexing=reindexing,
    )
    return (commands, settings, reindexing)


def dispatch_to(takers: Sequence[Listener]) -> Dispatch:
    """Return a dispatch with all listeners registered."""
    dispatch = Dispatch()
    for taker in takers:
        taker.register(dispatch)
    return dispatch


def listeners(
    channel: TeamsChannel, context: ChatContext, *, followers: RunFollowers
) -> Sequence[Listener]:
    """Return all listeners, most specific first."""
    messages = MessageListener(context)
    return (
        InstallationEvents(channel.places, channel.presence, channel.onlookers, channel.background),
        *case_listeners(channel, context),
        *answer_listeners(channel, context),
        Greetings(channel, context),
        *command_listeners(channel, context, followers=followers),
        EditListener(context, messages),
        messages,
    )
