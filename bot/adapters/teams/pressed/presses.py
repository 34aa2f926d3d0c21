"""Everything that people press and react with below an answer, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.teams.arriving.dispatch import Registers
from bot.adapters.teams.channel import TeamsChannel
from bot.adapters.teams.pressed.answers import Answers
from bot.adapters.teams.pressed.feedback import FeedbackLoop
from bot.adapters.teams.pressed.reactions import Reactions
from bot.adapters.teams.pressed.reasons import Reasons
from bot.adapters.teams.pressed.why import Why
from bot.adapters.teams.pressed.wishes import Wishes
from bot.answering.asker_identity import ReaderLookup
from bot.chat.actions import ActionTargets, ButtonQuestions, ExplainAction
from bot.chat.adapters import ChatContext
from bot.chat.votes import AnswerVotes, ReactionVotes


def presses(channel: TeamsChannel, office: ChatContext) -> Sequence[Registers]:
    """Return who takes thumbs, reactions and the buttons below an answer."""
    tenant, interactions = office.tenant, office.interactions
    subjects = ActionTargets(
        platform="teams",
        tenant=tenant,
        interactions=interactions,
        colleagues=channel.colleagues,
    )
    answers, judging = Answers(office, channel.parts), AnswerVotes(interactions)
    reacting = ReactionVotes(platform="teams", tenant=tenant, judging=judging, notes=office.notes)
    wishing = ButtonQuestions(interactions=interactions, inbox=office.inbox)
    open_spaces = channel.settings.teams_outsider_spaces
    readers = ReaderLookup(channel, office.directory, open_spaces=open_spaces)
    return (
        FeedbackLoop(tenant=tenant, answers=answers, judging=judging, subjects=subjects),
        Reactions(answers=answers, reacting=reacting, subjects=subjects),
        Wishes(wishing=wishing, subjects=subjects),
        Why(
            why=ExplainAction(office, readers),
            subjects=subjects,
            reasons=Reasons(tenant=tenant, judging=judging, subjects=subjects),
        ),
    )
