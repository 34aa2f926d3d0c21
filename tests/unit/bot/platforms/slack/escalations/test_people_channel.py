"""Test the people's channel: the card of a case, its edits, and reminders."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.chat.thread_replies import THREAD_IS_ASKED_ABOUT
from bot.domain.cases import USE_REPLY, Case, CaseStatus, Notice, is_card_thread
from bot.domain.errors import DeliveryFailed, StoreUnavailable
from bot.domain.interactions import Escalation, Outcome, PostedRef, new_feedback
from bot.domain.settings import Settings
from bot.escalations.case_view import CaseView
from bot.escalations.ports import ShowsCases
from bot.platforms.slack.channel import SlackChannel, connect
from bot.store.database import Store
from tests.fakes.desk import HANDED_OVER, TRACE, delivery
from tests.fakes.durable_inbox import wait_until_posted
from tests.fakes.escalations import case_of, notice_of
from tests.fakes.scenarios import BEN
from tests.fakes.slack.builders import (
    ASKER,
    HELP,
    PEOPLE,
    CaseScenario,
    Clock,
    bot_at,
    interaction_id_of,
    question,
)
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import ANNA, GUEST
from tests.fakes.slack.server import FakeSlack

MORE = ("Assign to \u2026", "Note")


async def test_slack_shows_cases(channel: SlackChannel) -> None:
    assert isinstance(channel, ShowsCases)


async def test_a_card_says_who_asked_what_where_and_why_and_what_can_be_done(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    card = scene.card
    assert (
        "*A question for a person* from <@U0ALICE00>: not confident enough to answer" in card.shown
    )
    assert "> vpn down?" in card.shown
    assert f"<https://acme.slack.com/archives/{HELP}/p1700000000000100|Open thread>" in (card.shown)
    assert "https://desk.example.com/board/escalations/" in card.raw
    assert "*Waiting* \u00b7 <!date^" in card.shown
    assert card.labels == ["Claim", "Reply", "Resolve", "Not for us", *MORE]
    assert card.payload["unfurl_links"] is card.payload["unfurl_media"] is False


async def test_where_it_is_goes_into_the_record_with_the_question(scene: CaseScenario) -> None:
    await scene.ask()
    assert await scene.noted() == PostedRef(PEOPLE, scene.card.ts)


async def test_slack_looks_for_no_links_of_its_own_in_an_edited_card(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("claim")
    await scene.news()

    edits = [each for each in scene.slack.requests if each.method == "chat.update"]
    assert [each.arguments["parse"] for each in edits] == ["none"]


async def test_every_step_edits_it_in_place(scene: CaseScenario) -> None:
    case_id = await scene.ask()
    ts = scene.card.ts
    seen = []
    for what, actor, words in (
        ("claim", BEN, ""),
        ("release", BEN, ""),
        ("reply", BEN, "Take the <!channel> blue socket."),
        ("resolve", ASKER, ""),
        ("reopen", ASKER, "still broken"),
        ("decline", BEN, "ask facilities"),
    ):
        await scene.act(what, actor, words)  # type: ignore[arg-type]
        await scene.news()
        seen.append((scene.card.shown, scene.card.labels))
        assert scene.card.ts == ts
    states = [
        next(
            line for line in shown.splitlines() if line.startswith("*") and "\u00b7 <!date" in line
        )
        for shown, _ in seen
    ]
    assert [state.partition("*")[2].partition("*")[0] for state in states] == [
        "Claimed by Ben Okafor",
        "Waiting",
        "Answered by Ben Okafor",
        "Closed by the asker",
        "Reopened, not assigned",
        "Declined by Ben Okafor",
    ]
    assert [labels for _, labels in seen] == [
        ["Reply", "Resolve", "Not for us", "Release", *MORE],
        ["Claim", "Reply", "Resolve", "Not for us", *MORE],
        ["Reply again", "Resolve", "Release", *MORE, "Keep as answer"],
        ["Keep as answer"],
        ["Claim", "Reply", "Resolve", "Not for us", *MORE],
        [],
    ]
    assert "Ben Okafor replied" in seen[2][0]
    assert "&lt;!channel&gt; blue socket" in scene.card.raw or "ask facilities" in scene.card.raw
    assert "<!channel>" not in scene.card.raw
    assert scene.card.payload["metadata"]["event_payload"]["interaction_id"] == case_id


async def test_steps_in_a_row_cost_one_edit(scene: CaseScenario) -> None:
    await scene.ask()
    for what in ("claim", "release", "claim", "resolve"):
        await scene.act(what)
    await scene.news()
    assert "*Resolved by Anna Lopez*" in scene.card.shown
    edited = [each.arguments["ts"] for each in scene.slack.requests if each.method == "chat.update"]
    assert edited.count(scene.card.ts) == 1


async def test_another_process_edits_the_same_card(
    scene: CaseScenario, settings: Settings, store: Store
) -> None:
    await scene.ask()
    scene.channel = connect(settings, store.notes)
    await scene.act("claim")
    await scene.news()
    assert "*Claimed by Anna Lopez*" in scene.card.shown
    assert "conversations.history" not in scene.slack.calls


async def test_a_card_that_a_dying_process_did_not_note_is_found_by_its_metadata(
    scene: CaseScenario, settings: Settings, store: Store
) -> None:
    scene.slack.fail("chat.postMessage", Fault(status=0, after=True))
    with pytest.raises(DeliveryFailed):
        await scene.ask()
    assert await scene.noted() == PostedRef(PEOPLE, "")
    heir = connect(settings, store.notes)
    sent = delivery(question(), HANDED_OVER)
    assert await heir.find(sent) is None
    await heir.deliver(sent)
    ts = scene.card.ts

    scene.channel = heir
    await scene.act("claim")
    await scene.news()
    assert (scene.card.ts, await scene.noted()) == (ts, PostedRef(PEOPLE, ts))
    assert "*Claimed by Anna Lopez*" in scene.card.shown


async def test_what_was_done_while_it_was_posted_is_on_it(
    scene: CaseScenario, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its news found no card yet."""
    put, claimed = store.notes.put, False

    async def claim_meanwhile(*args: object, **more: object) -> None:
        nonlocal claimed
        if not claimed:
            claimed = True
            await scene.act("claim")
            await scene.news()
        await put(*args, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(store.notes, "put", claim_meanwhile)
        await scene.ask()
    assert "*Claimed by Anna Lopez*" in scene.card.shown


async def test_without_the_record_it_is_posted_all_the_same(
    scene: CaseScenario, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("The record is away.")

    with monkeypatch.context() as patched:
        patched.setattr(store.notes, "put", away)
        patched.setattr(store.escalations, "get", away)
        await scene.ask()
    assert "> vpn down?" in scene.card.shown
    assert scene.card.labels[0] == "Claim"


async def test_what_slack_does_not_take_now_is_shown_later(scene: CaseScenario) -> None:
    await scene.ask()
    scene.slack.fail("chat.update", Fault(status=500))
    await scene.act("claim")
    await scene.news()
    assert "*Waiting*" in scene.card.shown
    scene.ahead = timedelta(minutes=1)
    await scene.news()
    assert "*Claimed by Anna Lopez*" in scene.card.shown


async def test_a_card_that_somebody_deleted_is_left_alone(scene: CaseScenario) -> None:
    await scene.ask()
    scene.slack.posts.remove(scene.card)
    await scene.act("claim")
    await scene.news()
    assert not scene.slack.in_channel(PEOPLE)
    assert len(scene.told) == 1


async def test_it_goes_where_the_questions_own_channel_asks_people(scene: CaseScenario) -> None:
    scene.slack.channels.add("C0NETWORK")
    await scene.ask(response=replace(HANDED_OVER, people="C0NETWORK"))
    assert not scene.slack.in_channel(PEOPLE)
    (card,) = scene.slack.in_channel("C0NETWORK")
    await scene.act("claim")
    await scene.news()
    assert "*Claimed by Anna Lopez*" in card.shown

    await scene.act("release")
    scene.ahead = timedelta(minutes=31)
    await scene.news()
    assert "Nobody has claimed this question" in scene.slack.in_channel("C0NETWORK")[1].shown

    await scene.channel.withdraw(question(), [])
    assert not scene.slack.in_channel("C0NETWORK")


async def test_a_reminder_links_to_the_card_without_a_search(scene: CaseScenario) -> None:
    await scene.ask()
    scene.ahead = timedelta(minutes=31)
    await scene.news()
    reminder = scene.slack.in_channel(PEOPLE)[1]
    assert f"p{scene.card.ts.replace('.', '')}|Show question>" in reminder.shown
    assert "conversations.history" not in scene.slack.calls


async def test_where_buttons_are_refused_the_rest_is_there(scene: CaseScenario) -> None:
    scene.slack.block_types -= {"actions"}
    await scene.ask()
    await scene.act("claim")
    await scene.news()
    assert "*Claimed by Anna Lopez*" in scene.card.shown
    assert not scene.card.labels
    scene.slack.block_types = frozenset()
    await scene.act("release")
    await scene.news()
    assert not scene.card.blocks
    assert "*Waiting*" in scene.card.shown


async def test_a_question_from_elsewhere_has_no_card_and_none_is_looked_for(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    elsewhere = replace(question(), thread=replace(question().thread, platform="web"))
    view = CaseView(case=case_of(elsewhere), steps=(), finding=None, before=())
    await channel.show(elsewhere, view)
    assert not slack.calls


@pytest.mark.mended(id="slack-1c")
async def test_a_card_says_what_becomes_of_its_thread_while_it_takes_a_reply(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    assert THREAD_IS_ASKED_ABOUT in scene.card.shown

    await scene.act("resolve")
    await scene.news()
    assert THREAD_IS_ASKED_ABOUT not in scene.card.shown


@pytest.mark.mended(id="slack-1d")
async def test_an_outsiders_mention_below_a_card_is_told_of_reply_and_asks_nobody(
    slack: FakeSlack, settings: Settings, store: Store, clock: Clock
) -> None:
    channel = connect(settings, store.notes, caller=clock.caller())
    async with bot_at(slack, channel, store) as bot:
        await bot.answered(Outcome(HANDED_OVER, TRACE))
        (card,) = slack.in_channel(PEOPLE)
        ts = await bot.person(GUEST).say(PEOPLE, "which laptop?", thread=card.ts, mention=True)
        kept = await wait_until_posted(store, interaction_id_of(PEOPLE, ts))

    assert kept.outcome is not None
    assert not isinstance(kept.outcome.response, Escalation)
    (told,) = bot.whispered(GUEST)
    assert USE_REPLY in told.shown
    assert [each.ts for each in slack.in_channel(PEOPLE) if not each.only_for] == [card.ts, ts]


@pytest.mark.mended(id="slack-1d")
async def test_a_thread_below_a_reminder_is_known_as_the_cards(scene: CaseScenario) -> None:
    await scene.ask()
    notice = notice_of(question(), 2, step="ping", to="people", actor=None, text="")
    posted = await scene.channel.remind(await scene.case(), notice)

    assert posted is not None
    below = replace(question().thread, channel=PEOPLE, id=posted.id)
    assert await is_card_thread(scene.store.notes, below)


PING: Notice = notice_of(question(), 2, step="ping", to="people", actor=None, text="")


def waiting() -> Case:
    """Return a question that has waited for half an hour."""
    since = datetime.now(UTC) - timedelta(minutes=30)
    return case_of(question(), opened_at=since, changed_at=since)


async def test_it_says_how_long_the_question_waits_and_where_it_is(
    slack: FakeSlack, settings: Settings
) -> None:
    channel = connect(settings.model_copy(update={"public_url": "https://desk.example.com"}))
    await channel.deliver(delivery(question(), HANDED_OVER))
    ref = await channel.remind(waiting(), PING)
    card, post = slack.in_channel(PEOPLE)
    assert ref is not None
    assert (ref.channel, ref.id) == (PEOPLE, post.ts)
    assert "waiting for 30 minutes" in post.shown
    assert "> vpn down?" in post.shown
    assert f"p{card.ts.replace('.', '')}|Show question>" in post.shown
    address = f"https://desk.example.com/board/escalations/{question().interaction_id}"
    assert f"<{address}|Open on the board>" in post.shown


async def test_it_is_in_the_language_of_the_workspace(
    slack: FakeSlack, settings: Settings, clock: Clock
) -> None:
    german = settings.model_copy(update={"ui_language": "de"})
    await connect(german, caller=clock.caller()).remind(waiting(), PING)
    post = slack.in_channel(PEOPLE)[-1]
    assert f"Im Board: {question().interaction_id}" in post.shown
    assert "Nobody" not in str(post.payload)


async def test_without_an_address_it_is_named(slack: FakeSlack, channel: SlackChannel) -> None:
    await channel.remind(waiting(), PING)
    (post,) = slack.in_channel(PEOPLE)
    assert f"On the board: {question().interaction_id}" in post.shown


async def test_what_was_asked_elsewhere_is_not_quoted(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    """Slack would keep it when it is withdrawn there."""
    await channel.remind(replace(waiting(), channel="web:anna"), PING)
    (post,) = slack.in_channel(PEOPLE)
    assert "Asked on web." in post.shown
    assert "vpn down?" not in post.shown


async def test_a_question_that_was_opened_again_is_told_as_such(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    case = replace(waiting(), status=CaseStatus("reopened"))
    await channel.remind(case, replace(PING, step="reopen"))
    (post,) = slack.in_channel(PEOPLE)
    assert "*A question was reopened* and is not assigned to anyone." in post.shown


async def test_mentions_in_the_question_are_dead(slack: FakeSlack, channel: SlackChannel) -> None:
    await channel.remind(replace(waiting(), question="<!channel> help\n" + "word " * 200), PING)
    (post,) = slack.in_channel(PEOPLE)
    assert "&lt;!channel&gt; help word" in post.raw
    assert len(post.raw) < 700


async def test_without_a_channel_there_is_nothing_to_do(
    slack: FakeSlack, settings: Settings
) -> None:
    channel = connect(settings.model_copy(update={"slack_escalation_channel": None}))
    assert await channel.remind(waiting(), PING) is None
    assert not slack.calls


async def test_it_is_looked_up_before_it_is_repeated(slack: FakeSlack, settings: Settings) -> None:
    slack.fail("chat.postMessage", Fault(status=0, after=True))
    with pytest.raises(DeliveryFailed):
        await connect(settings).remind(waiting(), PING)
    ref = await connect(settings).remind(waiting(), replace(PING, attempts=1))
    (post,) = slack.in_channel(PEOPLE)
    assert ref is not None
    assert ref.id == post.ts


async def test_a_second_reminder_is_another(slack: FakeSlack, channel: SlackChannel) -> None:
    await channel.remind(waiting(), PING)
    await channel.remind(waiting(), replace(PING, id="another", number=3))
    assert len(slack.in_channel(PEOPLE)) == 2


async def test_a_first_reminder_does_without_what_can_not_be_looked_up(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("conversations.history", Fault(error="missing_scope"))
    assert await channel.remind(waiting(), PING) is not None
    slack.fail("conversations.history", Fault(error="missing_scope"))
    with pytest.raises(DeliveryFailed, match="missing_scope"):
        await channel.remind(waiting(), replace(PING, attempts=1))


async def test_a_withdrawn_question_takes_its_reminders_along(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question(), HANDED_OVER))
    await channel.remind(waiting(), PING)
    await channel.withdraw(question(), [])
    assert not slack.in_channel(PEOPLE)


async def test_people_are_told_what_is_no_question_with_nothing_live(
    slack: FakeSlack, settings: Settings
) -> None:
    channel = connect(settings)
    await channel.tell_people("I stopped <!here> in <https://evil.example|HR>. reindex HR --all")
    (post,) = slack.in_channel(PEOPLE)
    assert "I stopped" in post.shown
    assert "reindex HR --all" in post.shown
    assert "<!here" not in post.raw
    assert "<https://evil" not in post.raw
    await connect(settings.model_copy(update={"slack_escalation_channel": None})).tell_people("x")
    assert len(slack.in_channel(PEOPLE)) == 1


async def test_why_the_asker_gave_a_thumbs_down_is_on_the_card(scene: CaseScenario) -> None:
    await scene.ask()
    asked = question()
    for person, comment in ((asked.author.id, "No <!here> step 3."), (ANNA, "Not for the card.")):
        given = new_feedback(
            asked.interaction_id, person, "down", reason="outdated", comment=comment
        )
        await scene.store.interactions.rate(given)
    await scene.act("claim")
    await scene.news()
    assert "It's outdated: No &lt;!here&gt; step 3." in scene.card.raw
    assert "Not for the card." not in scene.card.raw
