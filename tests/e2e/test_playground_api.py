"""Teams as Microsoft's own client shows it: what people do there, and what they see then."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest
import pytest_asyncio

from tests.fakes.playground import (
    ALEX,
    CHAT,
    GROUP,
    MEGAN,
    NEEDS_PLAYGROUND,
    PEOPLE,
    TEAM,
    Json,
    PlaygroundClient,
    PlaygroundScenario,
    Screen,
    SentMessage,
    Shown,
    playground_scenario,
)

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("playground"),
    NEEDS_PLAYGROUND,
]

VPN = "vpn says error 809, what now?"
TRAVEL = "Who approves travel?"
BELOW = ["Ask a person", "Why this answer"]
OFFERED = ["Send", "No, leave it there"]
REPLY = "Use the blue socket until Friday."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def there(
    indexed_sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PlaygroundScenario]:
    directory = tmp_path_factory.mktemp("playground")
    shutil.copytree(indexed_sample, directory / "bot")
    async with playground_scenario(directory) as made:
        yield made


async def answered(screen: Screen, said: SentMessage, count: int = 1) -> tuple[Shown, Shown]:
    """Wait for an answer and what has its buttons; ``count`` answers are there then.

    Both are one message but in a chat, where the playground shows the end of a stream as two.
    """
    await screen.until(lambda: len(with_buttons(screen, said.where, BELOW)) >= count)
    below = with_buttons(screen, said.where, BELOW)[-1]
    return (below if below.text else cited(screen, said.where)[-1]), below


def cited(screen: Screen, where: str) -> Sequence[Shown]:
    return [each for each in screen.at(where) if each.cited]


def with_buttons(screen: Screen, where: str, titles: Sequence[str]) -> Sequence[Shown]:
    return [each for each in screen.at(where) if titles_of(each) == titles]


def titles_of(shown: Shown) -> list[str]:
    return [action["title"] for action in shown.actions]


async def asked_in_the_chat(
    there: PlaygroundScenario, text: str
) -> tuple[SentMessage, Shown, Shown]:
    screen = there.alex.screen
    before = len(with_buttons(screen, CHAT, BELOW))
    said = await there.alex.says(text)
    return said, *await answered(screen, said, before + 1)


async def asked_in_the_team(
    there: PlaygroundScenario, text: str
) -> tuple[SentMessage, Shown, Shown]:
    said = await there.alex.says(text, TEAM, mention=True)
    return said, *await answered(there.alex.screen, said)


async def handed_over(there: PlaygroundScenario) -> tuple[SentMessage, Shown]:
    """Ask a person in a thread of the team; return the card in the people's channel."""
    screen = there.alex.screen
    before = len(screen.at(PEOPLE))
    said, _, below = await asked_in_the_team(there, TRAVEL)
    await there.alex.presses(below, "Ask a person")
    await screen.until(lambda: len(screen.at(PEOPLE)) > before)
    return said, screen.at(PEOPLE)[-1]


async def told(there: PlaygroundScenario, said: SentMessage, words: str) -> Shown:
    """Wait until something is said to the asker, or a button is below it."""

    def seen() -> Shown | None:
        shown = there.alex.screen.at(said.where)
        found = (each for each in shown if words in each.text or words in titles_of(each))
        return next(found, None)

    found: Shown = await there.alex.screen.until(seen)
    return found


def words_on(card: object) -> str:
    """Return every text of a card."""
    if isinstance(card, dict):
        own = str(card["text"]) if "text" in card else ""
        return "\n".join([own, *(words_on(each) for each in card.values())])
    return "\n".join(map(words_on, card)) if isinstance(card, list) else ""


async def test_who_opens_the_chat_is_welcomed_once_and_so_is_a_team(
    there: PlaygroundScenario,
) -> None:
    screen = there.alex.screen
    for where in (CHAT, CHAT, TEAM, TEAM):
        await there.alex.opens(where)
    await screen.until(lambda: screen.at(CHAT) and screen.at(TEAM))
    await asked_in_the_chat(there, VPN)
    hellos = [each for each in screen.shown if each.text.startswith("Hello")]
    assert sorted(each.where for each in hellos) == sorted([CHAT, TEAM])


async def test_an_answer_in_a_chat_is_a_stream_with_citations_that_open(
    there: PlaygroundScenario,
) -> None:
    await asked_in_the_chat(there, VPN)

    def streamed() -> Shown | None:
        """Of one message the playground shows the card in a bubble of its own."""
        found = (each for each in cited(there.alex.screen, CHAT) if each.is_streamed)
        return next(found, None)

    answer = await there.alex.screen.until(streamed)
    informed, ended = answer.before[0], answer.now
    assert informed["streamEntity"]["streamType"] == "informative"
    assert informed["text"] == "Looking this up\u2026"
    assert ended["streamEntity"]["streamType"] == "final"
    assert "809" in answer.text
    assert answer.labels["additionalType"] == ["AIGeneratedContent"]
    assert ended["feedbackLoopEnabled"]
    assert "VPN" in answer.cited[0]["name"]
    assert "|" not in answer.cited[0]["abstract"]
    for page in answer.cited:
        assert await there.page(page["url"]) == 200


@pytest.mark.parametrize(("reaction", "vote"), [("dislike", "down"), ("like", "up")])
async def test_a_thumb_is_kept_with_its_words_and_the_last_one_counts(
    there: PlaygroundScenario, reaction: str, vote: str
) -> None:
    _, answer, below = await asked_in_the_chat(there, f"{VPN} ({reaction})")
    await there.alex.judges(answer, "like" if vote == "down" else "dislike")
    await there.alex.judges(answer, reaction, 'Half of "it"')
    (kept,) = (await there.recorded(below))["feedback"]
    assert (kept["person_id"], kept["vote"]) == (ALEX.id, vote)
    assert kept["comment"] == 'Half of "it"'


async def test_a_mention_in_a_channel_is_answered_in_its_thread(there: PlaygroundScenario) -> None:
    said, answer, below = await asked_in_the_team(there, TRAVEL)
    assert said.where.startswith(f"{TEAM};messageid=")
    assert not answer.before
    assert not answer.is_streamed
    assert "manager" in answer.text
    assert answer.labels["additionalType"] == ["AIGeneratedContent"]
    assert there.alex.screen.at(said.where) == [answer] == [below]


async def test_a_follow_up_in_a_thread_is_answered_there(there: PlaygroundScenario) -> None:
    said, _, _ = await asked_in_the_team(there, TRAVEL)
    again = await there.alex.says("And for trips outside Europe?", said.where, mention=True)
    assert again.where == said.where
    await answered(there.alex.screen, again, 2)


async def test_a_group_chat_is_answered_too(there: PlaygroundScenario) -> None:
    said = await there.alex.says(VPN, GROUP, mention=True)
    answer, _ = await answered(there.alex.screen, said)
    assert "809" in answer.text


async def test_what_does_not_mention_the_bot_gets_nothing(there: PlaygroundScenario) -> None:
    said = await there.alex.says(TRAVEL, TEAM)
    await asked_in_the_team(there, VPN)
    assert there.alex.screen.at(said.where) == []


async def test_an_edit_that_comes_before_the_question_is_answered_as_it_reads_now(
    there: PlaygroundScenario,
) -> None:
    said, _, _ = await asked_in_the_team(there, TRAVEL)
    unseen = SentMessage(said.where, TRAVEL, {**said.activity, "id": "unseen-1"})
    edited = await there.alex.edits(unseen, said.activity["text"].replace(TRAVEL, VPN))
    assert edited["statusCode"] == 200
    screen = there.alex.screen
    await screen.until(lambda: any("809" in each.text for each in screen.at(said.where)))


async def test_a_reaction_is_a_thumb(there: PlaygroundScenario) -> None:
    said, answer, below = await asked_in_the_team(there, TRAVEL)
    reacted = {
        **{name: said.activity[name] for name in _KEPT},
        "type": "messageReaction",
        "id": "reaction-1",
        "replyToId": answer.id,
        "reactionsAdded": [{"type": "like"}],
    }
    async with asyncio.timeout(60):
        # The screen may show the answer before the bot knows its id, which the response brings.
        while not (kept := (await there.recorded(below))["feedback"]):
            assert (await there.alex.custom(reacted))["statusCode"] == 200
    assert [each["vote"] for each in kept] == ["up"]


async def test_a_case_is_claimed_answered_and_closed_by_its_card(there: PlaygroundScenario) -> None:
    said, card = await handed_over(there)
    megan = there.alex.another(MEGAN)
    assert "Who approves travel?" in words_on(card.cards[0])
    assert titles_of(card) == [
        "Claim",
        "Reply",
        "Resolve",
        "Not for us",
        "Assign to \u2026",
        "Note",
    ]

    claimed = await megan.presses(card, "Claim")
    assert "Claimed by Megan Bowen" in words_on(claimed["value"])
    await told(there, said, "**Megan Bowen** is working on your question")
    await until_card(there, card, "Claimed by Megan Bowen")

    await megan.presses(card, "Reply > Send", reply_words=REPLY)
    reply = await told(there, said, REPLY)
    assert "Megan Bowen" in reply.text
    assert not reply.labels, "a person wrote it"

    helped = await told(there, said, "This helped, close it")
    await there.alex.presses(helped, "This helped, close it")
    await until_card(there, card, "Closed by the asker")


async def unmentioned(person: PlaygroundClient, text: str, thread: str, like: SentMessage) -> None:
    """Write in a channel without a mention, as a team's consent lets Teams tell the bot."""
    who = {"id": person.who.user, "aadObjectId": person.who.id, "name": person.who.name}
    place = {**like.activity["conversation"], "id": thread}
    kept = {name: like.activity[name] for name in _KEPT}
    told = {"type": "message", "id": f"{like.activity['id']}9", "text": text}
    await person.custom({**kept, **told, "from": who, "conversation": place})


@pytest.mark.mended(id="slack-1a")
async def test_an_answer_below_a_card_is_offered_and_then_sent(there: PlaygroundScenario) -> None:
    said, card = await handed_over(there)
    megan, screen = there.alex.another(MEGAN), there.alex.screen
    # What is written in the playground itself is always Alex's, who asked.
    await unmentioned(megan, REPLY, card.thread, said)
    offer: Shown = await screen.until(
        lambda: next(iter(with_buttons(screen, card.thread, OFFERED)), None)
    )
    assert REPLY in words_on(list(offer.cards))
    assert not [each for each in screen.at(said.where) if REPLY in each.text]

    sent = await megan.presses(offer, "Send")
    assert "Sent to Alex Wilber" in words_on(sent["value"])
    reply = await told(there, said, REPLY)
    assert "Megan Bowen" in reply.text


@pytest.mark.mended(id="teams-3")
async def test_an_answer_in_a_chat_is_sent_as_one_message_with_its_buttons(
    there: PlaygroundScenario,
) -> None:
    screen = there.alex.screen
    before = len(screen.log)
    await asked_in_the_chat(there, TRAVEL)

    def ended() -> Json | None:
        """Return the end of the stream, as it was sent."""
        sent = (each["request"]["body"] for each in screen.log[before:] if _is_sent(each))
        return next((each for each in sent if each.get("text")), None)

    answer = await screen.until(ended)
    assert "your manager approves" in answer["text"]
    assert [each["title"] for each in answer["attachments"][-1]["content"]["actions"]] == BELOW
    assert "streaminfo" in {each["type"] for each in answer["entities"]}


def _is_sent(entry: Json) -> bool:
    """Tell whether it is a message of the bot in the chat."""
    ours = entry.get("from") == "User Application" and entry.get("activityName") == "message"
    return ours and entry.get("conversationId") == CHAT


async def test_cases_are_found_again_in_the_chat(there: PlaygroundScenario) -> None:
    _, card = await handed_over(there)
    await there.alex.another(MEGAN).presses(card, "Claim")
    before = len(there.alex.screen.at(CHAT))
    await there.alex.says("my cases")

    def listed() -> str:
        shown = there.alex.screen.at(CHAT)[before:]
        return "\n".join(f"{each.text}\n{words_on(list(each.cards))}" for each in shown)

    await there.alex.screen.until(lambda: TRAVEL in listed())
    assert "Megan Bowen" in listed()


async def test_whoever_comes_second_is_told_who_has_it(there: PlaygroundScenario) -> None:
    _, card = await handed_over(there)
    unclaimed = Shown(card.where, card.now)  # as Alex still sees it: the card itself is edited
    await there.alex.another(MEGAN).presses(card, "Claim")
    late = await there.alex.presses(unclaimed, "Claim")
    assert "Megan Bowen" in words_on(late["value"])
    await until_card(there, card, "Claimed by Megan Bowen")


@pytest.mark.parametrize(("order", "words"), [("help", "reindex"), ("status", "SAMPLE-IT")])
async def test_an_order_in_words_is_answered(
    there: PlaygroundScenario, order: str, words: str
) -> None:
    screen = there.alex.screen
    before = len(screen.at(CHAT))
    said = await there.alex.says(order)
    await screen.until(lambda: any(words in each.text for each in screen.at(CHAT)[before:]))
    assert not cited(screen, said.where)[before:]


async def test_a_dialog_can_be_asked_for_though_the_playground_opens_none(
    there: PlaygroundScenario,
) -> None:
    said, _, below = await asked_in_the_team(there, TRAVEL)
    why = next(each for each in below.actions if each["title"] == "Why this answer")
    opened = await there.alex.custom(
        {
            **{name: said.activity[name] for name in _KEPT},
            "type": "invoke",
            "name": "task/fetch",
            "id": "fetch-1",
            "replyToId": below.id,
            "value": {"data": why["data"]},
        }
    )
    shown = opened["body"]["task"]["value"]["card"]["content"]
    assert "Travel" in words_on(shown) or "travel" in words_on(shown)


async def test_after_a_restart_nothing_is_said_twice_and_old_cards_work(
    there: PlaygroundScenario,
) -> None:
    said, card = await handed_over(there)
    await told(there, said, "I've asked the people")
    before = [each.id for each in there.alex.screen.shown]
    await there.bot.kill()
    await there.bot.start()
    assert [each.id for each in there.alex.screen.shown] == before
    claimed = await there.alex.another(MEGAN).presses(card, "Claim")
    assert "Claimed by Megan Bowen" in words_on(claimed["value"])
    await told(there, said, "**Megan Bowen** is working on your question")
    await asked_in_the_team(there, VPN)
    assert len(with_buttons(there.alex.screen, said.where, BELOW)) == 1


async def test_the_playground_talks_to_this_machine_only(there: PlaygroundScenario) -> None:
    await asked_in_the_chat(there, TRAVEL)
    away = {each for each in there.playground.peers() if not ip_address(each).is_loopback}
    assert away == set()


async def test_the_bot_was_refused_nothing(there: PlaygroundScenario) -> None:
    """The last of the module: what the playground refused of all that was sent to it.

    It can't delete: buttons below older news stay, and an answer before an edit.
    """
    refused = [
        (each["activityName"], each["response"])
        for each in there.alex.screen.log
        if each.get("from") == "User Application" and 400 <= _status(each) != _NOT_IMPLEMENTED
    ]
    assert refused == []


_NOT_IMPLEMENTED = 501
_KEPT = ("from", "recipient", "conversation", "channelData", "channelId", "serviceUrl")


def _status(entry: Json) -> int:
    return int((entry.get("response") or {}).get("statusCode") or 0)


async def until_card(there: PlaygroundScenario, card: Shown, words: str) -> None:
    """Wait until everybody sees on a card what is so now."""
    await there.alex.screen.until(lambda: words in words_on(list(card.cards)))
