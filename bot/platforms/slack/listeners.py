"""Build every listener of Slack's events, actions and commands, with its dependencies.

The order matters: Bolt gives an event to the first listener that matches, so the most specific
come first and plain messages last.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.answering.asker_identity import ReaderLookup
from bot.chat.actions import ActionTargets, ButtonQuestions, ExplainAction, KnowsColleagues
from bot.chat.adapters import ChatContext
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLeases, process_owner
from bot.chat.commands.run_message import Clock
from bot.chat.votes import AnswerVotes, ReactionVotes
from bot.domain.concurrency import BackgroundTasks
from bot.domain.messages import Message
from bot.domain.ports import Interactions
from bot.escalations.cards import CardActions
from bot.platforms.slack.actions.explanations import ExplanationModals, WhyButton
from bot.platforms.slack.actions.feedback import FeedbackButtons, FeedbackReactions
from bot.platforms.slack.actions.feedback_reasons import FeedbackReasons
from bot.platforms.slack.actions.interactivity import Modals, PressDispatcher
from bot.platforms.slack.actions.requests import PrivateAnswerButton, RequestButtons
from bot.platforms.slack.actions.shortcuts import MessageShortcut
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.client.conversations import AnswerLookup, Conversations, Permalinks
from bot.platforms.slack.client.posting import Poster
from bot.platforms.slack.commands.channel_settings import SettingsDialog
from bot.platforms.slack.commands.reindex_runs import ReindexListener, RunMessages
from bot.platforms.slack.commands.slash_commands import CommandSenders, SlashCommands, WhyCommand
from bot.platforms.slack.escalations.buttons import AskerButtons, CaseButtons, CaseModals, Experts
from bot.platforms.slack.messages.agent_sessions import StopEvents
from bot.platforms.slack.messages.intake import EditListener, MessageListener
from bot.platforms.slack.messages.response_urls import ResponseUrls
from bot.platforms.slack.payloads.events import response_url_of
from bot.platforms.slack.transport.dispatch import Listener
from bot.platforms.slack.workspace.bot_identity import BotIdentity
from bot.platforms.slack.workspace.installation import Greetings, InstallationEvents


def subjects_of(
    *, tenant: str, interactions: Interactions, colleagues: KnowsColleagues
) -> ActionTargets:
    """Return the lookup of interactions that a user may act on.

    A command may be answered in a direct message, so its asker may act on it in any channel.
    """
    return ActionTargets(
        platform="slack",
        tenant=tenant,
        interactions=interactions,
        colleagues=colleagues,
        anywhere=_came_by_command,
    )


def _came_by_command(message: Message) -> bool:
    return response_url_of(message) is not None


def answer_listeners(
    channel: SlackChannel, context: ChatContext, *, own: BotIdentity, background: BackgroundTasks
) -> Sequence[Listener]:
    """Return the listeners for buttons, reactions and the message shortcut."""
    client, caller, tenant = channel.client, channel.caller, context.tenant
    asides, modals = ResponseUrls(client), Modals(client, caller)
    open_spaces = channel.settings.slack_outsider_spaces
    readers = ReaderLookup(channel, context.directory, open_spaces=open_spaces)
    taking = PressDispatcher(asides, background)
    subjects = subjects_of(
        tenant=tenant, interactions=context.interactions, colleagues=channel.colleagues
    )
    parts = AnswerLookup(client, caller)
    judging = AnswerVotes(context.interactions)
    reasons = FeedbackReasons(
        tenant=tenant,
        judging=judging,
        subjects=subjects,
        presses=taking,
        poster=Poster(client, caller),
        asides=asides,
        modals=modals,
        background=background,
    )
    return (
        reasons,
        FeedbackButtons(
            tenant=tenant,
            judging=judging,
            subjects=subjects,
            presses=taking,
            reasons=reasons,
            background=background,
        ),
        FeedbackReactions(
            own=own,
            context=context,
            reacting=ReactionVotes(
                platform="slack", tenant=tenant, judging=judging, notes=context.notes
            ),
            subjects=subjects,
            parts=parts,
            reasons=reasons,
            background=background,
        ),
        RequestButtons(
            wishing=ButtonQuestions(interactions=context.interactions, inbox=context.inbox),
            subjects=subjects,
            presses=taking,
        ),
        WhyButton(
            why=ExplainAction(context, readers),
            subjects=subjects,
            presses=taking,
            modals=ExplanationModals(modals),
        ),
        PrivateAnswerButton(
            subjects=subjects,
            presses=taking,
            readers=readers,
            fuller=context.private_answers,
            whispers=channel,
            background=background,
        ),
        MessageShortcut(
            own=own,
            names=channel.names,
            context=context,
            rooms=Conversations(client, caller),
            parts=parts,
            asides=asides,
            background=background,
        ),
    )


def followers_of(
    channel: SlackChannel, context: ChatContext, time: Clock | None = None
) -> RunFollowers:
    """Return the followers that show the progress of runs."""
    owner = process_owner(alone=channel.settings.database_url is None)
    return RunFollowers(
        commands=context.commands,
        leases=RunLeases(context.notes, context.tenant, owner, platform="slack"),
        screen=RunMessages(channel.client, channel.caller, channel, tenant=context.tenant),
        time=time or Clock(),
    )


def command_listeners(
    channel: SlackChannel,
    context: ChatContext,
    *,
    followers: RunFollowers,
    background: BackgroundTasks,
) -> Sequence[Listener]:
    """Return the listeners for commands, the settings modal and the button below a run."""
    client, caller = channel.client, channel.caller
    asides, modals = ResponseUrls(client), Modals(client, caller)
    orderers = CommandSenders(channel.colleagues, channel.settings.slack_admins)
    settings = SettingsDialog(
        orders=context.commands,
        orderers=orderers,
        rooms=Conversations(client, caller),
        modals=modals,
        asides=asides,
        background=background,
    )
    reindexing = ReindexListener(
        orders=context.commands,
        orderers=orderers,
        followers=followers,
        permalinks=Permalinks(client, caller),
        presses=PressDispatcher(asides, background),
        asides=asides,
        background=background,
    )
    open_spaces = channel.settings.slack_outsider_spaces
    why = WhyCommand(
        context=context,
        readers=ReaderLookup(channel, context.directory, open_spaces=open_spaces),
        modals=ExplanationModals(modals),
        background=background,
    )
    commands = SlashCommands(
        context=context,
        orderers=orderers,
        asides=asides,
        background=background,
        settings=settings,
        why=why,
        reindexes=reindexing,
    )
    return (commands, settings, reindexing)


def case_listeners(
    channel: SlackChannel, context: ChatContext, *, background: BackgroundTasks
) -> Sequence[Listener]:
    """Return the listeners for acts on a case; the channel reads cases from the context."""
    channel.use_casework(context.casework)
    tenant, casework, interactions = context.tenant, context.casework, context.interactions
    presses = PressDispatcher(ResponseUrls(channel.client), background)
    experts = Experts(channel.colleagues)
    cards = CardActions(
        tenant=tenant,
        casework=casework,
        interactions=interactions,
        cards=channel,
        background=background,
    )
    return (
        CaseButtons(
            tenant=tenant,
            casework=casework,
            cards=cards,
            experts=experts,
            presses=presses,
            modals=Modals(channel.client, channel.caller),
        ),
        CaseModals(tenant=tenant, casework=casework, experts=experts, notes=context.notes),
        AskerButtons(tenant=tenant, casework=casework, interactions=interactions, presses=presses),
    )


def listeners(
    channel: SlackChannel,
    context: ChatContext,
    *,
    own: BotIdentity,
    background: BackgroundTasks,
    followers: RunFollowers,
) -> Sequence[Listener]:
    """Return all listeners, most specific first."""
    messages = MessageListener(own, context, channel.names)
    return (
        Greetings(own, context, channel=channel, background=background),
        EditListener(own, context, messages),
        InstallationEvents(own),
        StopEvents(context, channel.sessions),
        *case_listeners(channel, context, background=background),
        *answer_listeners(channel, context, own=own, background=background),
        *command_listeners(channel, context, followers=followers, background=background),
        messages,
    )
