"""Everything that people press and react with below an answer, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.slack.asides import Asides
from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.dispatch import Registers
from bot.adapters.slack.errands import Errands
from bot.adapters.slack.modals import Modals
from bot.adapters.slack.more import More
from bot.adapters.slack.own import Own
from bot.adapters.slack.parts import AnswerParts
from bot.adapters.slack.posting import Poster
from bot.adapters.slack.pressing import Presses
from bot.adapters.slack.reactions import Reactions
from bot.adapters.slack.readers import Readers
from bot.adapters.slack.reasons import Reasons
from bot.adapters.slack.rooms import Rooms
from bot.adapters.slack.shortcuts import Shortcuts
from bot.adapters.slack.subjects import Subjects
from bot.adapters.slack.thumbs import Thumbs
from bot.adapters.slack.why import Why, WhyModals
from bot.adapters.slack.wishes import Wishes
from bot.judging import Judging
from bot.office import Office


def presses(
    channel: SlackChannel, office: Office, *, own: Own, errands: Errands
) -> Sequence[Registers]:
    """Return who takes presses, reactions and the message shortcut."""
    client, caller, tenant = channel.client, channel.caller, office.tenant
    asides, modals, readers = Asides(client), Modals(client, caller), Readers(channel)
    taking = Presses(asides, errands)
    subjects = Subjects(
        tenant=tenant, interactions=office.interactions, colleagues=channel.colleagues
    )
    judging = Judging(office.interactions)
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
            judging=judging,
            subjects=subjects,
            parts=AnswerParts(client, caller),
            reasons=reasons,
            errands=errands,
        ),
        Wishes(office=office, subjects=subjects, presses=taking),
        Why(
            office=office,
            subjects=subjects,
            presses=taking,
            readers=readers,
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
        Shortcuts(office=office, rooms=Rooms(client, caller), asides=asides, errands=errands),
    )
