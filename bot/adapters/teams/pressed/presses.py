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
from bot.judging import Judging
from bot.office import Office
from bot.pressing.reacting import Reacting
from bot.pressing.subjects import Subjects
from bot.pressing.why import WhyBelow
from bot.pressing.wishing import Wishing
from bot.readers import Readers


def presses(channel: TeamsChannel, office: Office) -> Sequence[Registers]:
    """Return who takes thumbs, reactions and the buttons below an answer."""
    tenant, interactions = office.tenant, office.interactions
    subjects = Subjects(
        platform="teams",
        tenant=tenant,
        interactions=interactions,
        colleagues=channel.colleagues,
    )
    answers, judging = Answers(office, channel.parts), Judging(interactions)
    reacting = Reacting(platform="teams", tenant=tenant, judging=judging, notes=office.notes)
    wishing = Wishing(interactions=interactions, inbox=office.inbox)
    open_spaces = channel.settings.teams_outsider_spaces
    readers = Readers(channel, office.directory, open_spaces=open_spaces)
    return (
        FeedbackLoop(tenant=tenant, answers=answers, judging=judging, subjects=subjects),
        Reactions(answers=answers, reacting=reacting, subjects=subjects),
        Wishes(wishing=wishing, subjects=subjects),
        Why(
            why=WhyBelow(office, readers),
            subjects=subjects,
            reasons=Reasons(tenant=tenant, judging=judging, subjects=subjects),
        ),
    )
