"""Why somebody's newest question got what it got, asked by a word."""

from __future__ import annotations

import pytest

from bot.domain.interactions import Outcome
from bot.platforms.teams.commands.message_commands import SAY_WHAT_WAS_WRONG
from bot.store.database import Store
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.outcomes import ANSWER, TRACE
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.names import HELP
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.recorded import answered


@pytest.mark.mended(id="teams-6")
@pytest.mark.parametrize("asked", ["/why", "why this answer?"])
async def test_why_is_answered_in_words_where_it_was_asked(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, store: Store, asked: str
) -> None:
    await alice.say(HELP, "vpn *down*?")
    await answered(store, inbox.only, Outcome(ANSWER, TRACE))
    await alice.say(HELP, asked)

    (post,) = teams.posts_in(HELP)
    told = post.shown.replace("\\", "")
    assert "vpn *down*?" in told
    assert "Your question" in told
    assert inbox.accepted == 1


async def test_a_dialog_below_it_takes_what_was_wrong(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    await alice.say(HELP, "vpn down?")
    await answered(store, inbox.only, Outcome(ANSWER, TRACE))
    await alice.say(HELP, "/why")

    (post,) = teams.posts_in(HELP)
    dialog = await alice.open(post, SAY_WHAT_WAS_WRONG)
    assert "vpn down?" in dialog.shown


async def test_somebody_elses_question_is_not_explained(
    teams: FakeTeams, alice: Visitor, bob: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    await bob.say(HELP, "vpn down?")
    await answered(store, inbox.only, Outcome(ANSWER, TRACE))
    await alice.say(HELP, "/why")

    (post,) = teams.posts_in(HELP)
    assert "nothing to explain yet" in post.shown
