"""Everything that people press and react with below an answer, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.slack.arriving.dispatch import Registers
from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.home.own import Own
from bot.adapters.slack.home.rooms import Rooms
from bot.adapters.slack.pressed.more import More
from bot.adapters.slack.pressed.parts import AnswerParts
from bot.adapters.slack.pressed.pressing import Presses
from bot.adapters.slack.pressed.reactions import Reactions
from bot.adapters.slack.pressed.reasons import Reasons
from bot.adapters.slack.pressed.shortcuts import Shortcuts
from bot.adapters.slack.pressed.subjects import subjects_of
from bot.adapters.slack.pressed.thumbs import Thumbs
from bot.adapters.slack.pressed.why import Why, WhyModals
from bot.adapters.slack.pressed.wishes import Wishes
from bot.adapters.slack.showing.asides import Asides
from bot.adapters.slack.showing.modals import Modals
from bot.adapters.slack.showing.posting import Poster
from bot.answering.asker_identity import ReaderLookup
from bot.chat.actions import ButtonQuestions, ExplainAction
from bot.chat.adapters import ChatContext
from bot.chat.votes import AnswerVotes, ReactionVotes
from bot.domain.concurrency import BackgroundTasks


def presses(
    channel: SlackChannel, office: ChatContext, *, own: Own, errands: BackgroundTasks
) -> Sequence[Registers]:
    """Return who takes presses, reactions and the message shortcut."""
    client, caller, tenant = channel.client, channel.caller, office.tenant
    asides, modals = Asides(client), Modals(client, caller)
    open_spaces = channel.settings.slack_outsider_spaces
    readers = ReaderLookup(channel, office.directory, open_spaces=open_spaces)
    taking = Presses(asides, errands)
    subjects = subjects_of(
        tenant=tenant, interactions=office.interactions, colleagues=channel.colleagues
    )
    parts = AnswerParts(client, caller)
    judging = AnswerVotes(office.interactions)
    reasons = Reasons(
        tenant=tenant,
        judging=judging,
        subjects=subjects,
        presses=taking,
        poster=Poster(client, caller),
        asides=asides,
        modals=modals,
        errands=errands,
    )
    return (
        reasons,
        Thumbs(
            tenant=tenant,
            judging=judging,
            subjects=subjects,
            presses=taking,
            reasons=reasons,
            errands=errands,
        ),
        Reactions(
            own=own,
            office=office,
            reacting=ReactionVotes(
                platform="slack", tenant=tenant, judging=judging, notes=office.notes
            ),
            subjects=subjects,
            parts=parts,
            reasons=reasons,
            errands=errands,
        ),
        Wishes(
            wishing=ButtonQuestions(interactions=office.interactions, inbox=office.inbox),
            subjects=subjects,
            presses=taking,
        ),
        Why(
            why=ExplainAction(office, readers),
            subjects=subjects,
            presses=taking,
            modals=WhyModals(modals),
        ),
        More(
            subjects=subjects,
            presses=taking,
            readers=readers,
            fuller=office.fuller,
            whispers=channel,
            errands=errands,
        ),
        Shortcuts(
            own=own,
            names=channel.names,
            office=office,
            rooms=Rooms(client, caller),
            parts=parts,
            asides=asides,
            errands=errands,
        ),
    )
