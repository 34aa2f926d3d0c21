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
from bot.platforms.teams.actions.answer_buttons import AnswerButtons
from bot.platforms.teams.actions.feedback import AnswerLookup, FeedbackListener
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.commands.channel_settings import SettingsDialog
from bot.platforms.teams.commands.message_commands import (
    CommandDeduplicator,
    MessageCommands,
)
from bot.platforms.teams.commands.reindex_runs import ReindexListener, RunMessages
from bot.platforms.teams.escalations.buttons import AskerButtons, CaseButtons
from bot.platforms.teams.messages.intake import MessageListener
from bot.platforms.teams.tenant.installation import Greetings, InstallationEvents
from bot.platforms.teams.tenant.members import CommandSenders
from bot.platforms.teams.transport.dispatch import Dispatch, Listener


def answer_listeners(channel: TeamsChannel, context: ChatContext) -> Sequence[Listener]:
    """Return the listeners for thumbs, reactions and the buttons below an answer."""
    tenant, interactions = context.tenant, context.interactions
    targets = ActionTargets(
        platform="teams",
        tenant=tenant,
        interactions=interactions,
        colleagues=channel.colleagues,
    )
    answers, votes = AnswerLookup(context, channel.posted), AnswerVotes(interactions)
    reactions = ReactionVotes(platform="teams", tenant=tenant, judging=votes, notes=context.notes)
    questions = ButtonQuestions(interactions=interactions, inbox=context.inbox)
    return (
        FeedbackListener(
            tenant=tenant,
            answers=answers,
            votes=votes,
            reaction_votes=reactions,
            targets=targets,
        ),
        AnswerButtons(
            tenant=tenant,
            explain=explain_action(channel, context),
            votes=votes,
            questions=questions,
            targets=targets,
        ),
    )


def explain_action(channel: TeamsChannel, context: ChatContext) -> ExplainAction:
    """Return what explains an answer as its asker may read it."""
    open_spaces = channel.settings.teams_outsider_spaces
    return ExplainAction(context, ReaderLookup(channel, context.directory, open_spaces=open_spaces))


def case_listeners(channel: TeamsChannel, context: ChatContext) -> Sequence[Listener]:
    """Return the listeners for case actions; cards show the current view from ``context``."""
    channel.attend(context.casework)
    tenant, casework, interactions = context.tenant, context.casework, context.interactions
    cards = CardActions(
        tenant=tenant,
        sees=casework,
        recorded=interactions,
        cards=channel,
        errands=channel.background,
    )
    return (
        CaseButtons(
            tenant=tenant,
            casework=casework,
            idempotent=IdempotentActs(tenant=tenant, works=casework, notes=context.notes),
            cards=cards,
            own_cards=channel.people.cards,
            colleagues=channel.colleagues,
        ),
        AskerButtons(tenant=tenant, casework=casework, interactions=interactions),
    )


def followers_of(
    channel: TeamsChannel, context: ChatContext, time: Clock | None = None
) -> RunFollowers:
    """Return the followers, which show the progress of reindex runs."""
    owner = process_owner(alone=channel.settings.database_url is None)
    return RunFollowers(
        orders=context.orders,
        notes=RunLeases(context.notes, context.tenant, owner, platform="teams"),
        screen=RunMessages(channel.client, channel, tenant=context.tenant),
        time=time or Clock(),
    )


def command_listeners(
    channel: TeamsChannel, context: ChatContext, *, followers: RunFollowers
) -> Sequence[Listener]:
    """Return the listeners for commands, the settings form and the button below a run."""
    senders = CommandSenders(channel.colleagues, channel.settings.teams_admins)
    settings = SettingsDialog(
        executor=context.orders,
        senders=senders,
        client=channel.client,
        outside_readers=channel.outside_readers,
    )
    reindexing = ReindexListener(
        executor=context.orders,
        senders=senders,
        followers=followers,
        client=channel.client,
        background=channel.background,
    )
    commands = MessageCommands(
        context=context,
        senders=senders,
        handled=CommandDeduplicator(context.notes, context.tenant),
        client=channel.client,
        background=channel.background,
        settings=settings,
        outside_readers=channel.outside_readers,
        explain=explain_action(channel, context),
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
    return (
        InstallationEvents(channel.client, channel.outside_readers, channel.background),
        *case_listeners(channel, context),
        *answer_listeners(channel, context),
        Greetings(channel, context),
        *command_listeners(channel, context, followers=followers),
        MessageListener(context),
    )
