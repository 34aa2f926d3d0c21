"""Why somebody's newest question got what it got, asked by a word."""

from __future__ import annotations

from bot.store import Store
from bot.types import Outcome
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.outcomes import ANSWER, TRACE
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.names import HELP
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.recorded import answered


async def test_a_button_opens_why_the_newest_question_got_what_it_got(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    await alice.say(HELP, "vpn *down*?")
    await answered(store, inbox.only, Outcome(ANSWER, TRACE))
    await alice.say(HELP, "/why")

    (post,) = teams.posts_in(HELP)
    assert "Your newest question here: vpn" in post.shown
    dialog = await alice.open(post, "Why?")
    assert "vpn *down*?" in dialog.shown.replace("\\", "")


async def test_somebody_elses_question_is_not_explained(
    teams: FakeTeams, alice: Visitor, bob: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    await bob.say(HELP, "vpn down?")
    await answered(store, inbox.only, Outcome(ANSWER, TRACE))
    await alice.say(HELP, "/why")

    (post,) = teams.posts_in(HELP)
    assert "nothing to explain yet" in post.shown
