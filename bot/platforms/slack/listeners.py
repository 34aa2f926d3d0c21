"""Build every listener of Slack's events, actions and commands, and receive events for them.

The order matters: Bolt gives an event to the first listener that matches, so the most specific
come first and plain messages last.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from aiohttp import web

from bot.answering.asker_identity import ReaderLookup
from bot.chat.actions import ActionTargets, ButtonQuestions, ExplainAction
from bot.chat.adapters import ChatContext
from bot.chat.commands.executor import CommandSenders, parse_admins
from bot.chat.commands.run_followers import RunFollowers, run_followers
from bot.chat.votes import AnswerVotes, ReactionVotes
from bot.escalations.cards import CardActions
from bot.escalations.casework import IdempotentActs
from bot.platforms.slack.actions.explanations import ExplanationModals, WhyButton
from bot.platforms.slack.actions.feedback import AnswerLookup, FeedbackButtons, FeedbackReactions
from bot.platforms.slack.actions.feedback_reasons import FeedbackReasons
from bot.platforms.slack.actions.interactivity import PressDispatcher
from bot.platforms.slack.actions.requests import PrivateAnswerButton, RequestButtons
from bot.platforms.slack.actions.shortcuts import MessageShortcut
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.commands.channel_settings import SettingsDialog
from bot.platforms.slack.commands.reindex_runs import ReindexListener, RunMessages
from bot.platforms.slack.commands.slash_commands import COMMAND_SPELLING, SlashCommands
from bot.platforms.slack.escalations.buttons import AskerButtons, CaseButtons, CaseModals
from bot.platforms.slack.messages.intake import EditListener, MessageListener, StopEvents
from bot.platforms.slack.payloads.events import response_url_of
from bot.platforms.slack.transport.requests import Dispatcher, Endpoint, Listener, bolt_app
from bot.platforms.slack.transport.socket_mode import SocketMode, SocketTimeouts
from bot.platforms.slack.workspace.bot_identity import InstallationEvents

PATH = "/slack/events"


def mount(
    app: web.Application,
    channel: SlackChannel,
    context: ChatContext,
    *,
    timeouts: SocketTimeouts = SocketTimeouts(),  # noqa: B008 - it is frozen
) -> None:
    """Receive Slack's events and hold the channel's session while an application runs.

    With an app-level token events come over a socket, and no route is served.
    """
    settings = channel.settings
    screen = RunMessages(channel.client, channel, tenant=context.tenant)
    followers = run_followers(
        context, screen, platform="slack", alone=settings.database_url is None
    )
    bolt = bolt_app(settings, listeners(channel, context, followers=followers))
    dispatcher = Dispatcher(bolt, channel.identity)
    app.cleanup_ctx.append(lambda _: _running(channel))
    followers.mount(app)
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
        endpoint = Endpoint(dispatcher, secret.get_secret_value() if secret else "")
        app.router.add_post(PATH, endpoint.handle)


async def _running(channel: SlackChannel) -> AsyncIterator[None]:
    """Hold the channel's session open, and resolve the bot's identity meanwhile."""
    async with channel.session():
        keeping = asyncio.create_task(channel.identity.keep_resolved())
        yield
        # Background tasks may need the bot's identity, so they end first.
        await channel.background.finish()
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


def listeners(
    channel: SlackChannel, context: ChatContext, *, followers: RunFollowers
) -> Sequence[Listener]:
    """Return all listeners, most specific first."""
    identity, client, background = channel.identity, channel.client, channel.background
    messages = MessageListener(identity, context, channel.mention_names)
    return (
        InstallationEvents(context, identity=identity, client=client, background=background),
        EditListener(identity, context, messages),
        StopEvents(context, channel.sessions),
        *case_listeners(channel, context),
        *answer_listeners(channel, context),
        *command_listeners(channel, context, followers=followers),
        messages,
    )


def answer_listeners(channel: SlackChannel, context: ChatContext) -> Sequence[Listener]:
    """Return the listeners for buttons, reactions and the message shortcut."""
    client, background, tenant = channel.client, channel.background, context.tenant
    presses, answers = PressDispatcher(client, background), AnswerLookup(client)
    readers, votes = _readers(channel, context), AnswerVotes(context.interactions)
    targets = ActionTargets(
        platform="slack",
        tenant=tenant,
        interactions=context.interactions,
        colleagues=channel.colleagues,
        # A command may be answered in a direct message, so its asker may act on it anywhere.
        anywhere=lambda message: response_url_of(message) is not None,
    )
    reasons = FeedbackReasons(
        tenant=tenant,
        votes=votes,
        targets=targets,
        presses=presses,
        client=client,
        background=background,
    )
    return (
        reasons,
        FeedbackButtons(
            tenant=tenant,
            votes=votes,
            targets=targets,
            presses=presses,
            reasons=reasons,
            background=background,
        ),
        FeedbackReactions(
            identity=channel.identity,
            context=context,
            votes=ReactionVotes(
                platform="slack", tenant=tenant, judging=votes, notes=context.notes
            ),
            targets=targets,
            answers=answers,
            reasons=reasons,
            background=background,
        ),
        RequestButtons(
            button_questions=ButtonQuestions(
                interactions=context.interactions, inbox=context.inbox
            ),
            targets=targets,
            presses=presses,
        ),
        WhyButton(
            explain_action=_explain_action(channel, context),
            targets=targets,
            presses=presses,
            modals=ExplanationModals(client),
        ),
        PrivateAnswerButton(
            targets=targets,
            presses=presses,
            readers=readers,
            private_answers=context.private_answers,
            whisper=channel.private_replies.whisper,
            background=background,
        ),
        MessageShortcut(
            context,
            identity=channel.identity,
            mention_names=channel.mention_names,
            answers=answers,
            client=client,
            background=background,
        ),
    )


def _readers(channel: SlackChannel, context: ChatContext) -> ReaderLookup:
    open_spaces = channel.settings.slack_outsider_spaces
    return ReaderLookup(channel, context.directory, open_spaces=open_spaces)


def _explain_action(channel: SlackChannel, context: ChatContext) -> ExplainAction:
    return ExplainAction(context.explainer, context.tenant, _readers(channel, context))


def command_listeners(
    channel: SlackChannel, context: ChatContext, *, followers: RunFollowers
) -> Sequence[Listener]:
    """Return the listeners for commands, the settings modal and the button below a run."""
    senders = CommandSenders(
        platform="slack",
        colleagues=channel.colleagues,
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
    commands = SlashCommands(
        channel=channel,
        context=context,
        senders=senders,
        open_settings=settings.open,
        order_run=reindexing.order,
        explain_action=_explain_action(channel, context),
        explanation_modals=ExplanationModals(channel.client),
    )
    return (commands, settings, reindexing)


def case_listeners(channel: SlackChannel, context: ChatContext) -> Sequence[Listener]:
    """Return the listeners for acts on a case; the channel reads cases from the context."""
    channel.use_casework(context.casework)
    tenant, casework, interactions = context.tenant, context.casework, context.interactions
    presses = PressDispatcher(channel.client, channel.background)
    return (
        CaseButtons(
            tenant=tenant,
            casework=casework,
            cards=CardActions(
                tenant=tenant,
                casework=casework,
                interactions=interactions,
                cards=channel,
                background=channel.background,
            ),
            colleagues=channel.colleagues,
            presses=presses,
            client=channel.client,
        ),
        CaseModals(
            acts=IdempotentActs(tenant=tenant, casework=casework, notes=context.notes),
            colleagues=channel.colleagues,
        ),
        AskerButtons(tenant=tenant, casework=casework, interactions=interactions, presses=presses),
    )
