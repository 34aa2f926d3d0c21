from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.generic_replies import NOTHING_SAID, SmallTalk

TOPICS = [
    ("hi", "greeting"),
    ("Hiiii!!", "greeting"),
    ("good morning, bot", "greeting"),
    ("Happy Tuesday everyone", "greeting"),
    ("hola", "greeting"),
    ("你好", "greeting"),
    ("thanks!", "thanks"),
    ("thx so much 🙏", "thanks"),
    ("ok thank you, that helped", "thanks"),
    ("merci beaucoup", "thanks"),
    ("great job", "thanks"),
    ("bye", "goodbye"),
    ("see you tomorrow", "goodbye"),
    ("hello, how are you?", "how_are_you"),
    ("what's up", "how_are_you"),
    ("who are you?", "identity"),
    ("hi, what's your name", "identity"),
    ("are you a bot or a human?", "identity"),
    ("what can you do?", "capabilities"),
    ("Hello! What can I ask you?", "capabilities"),
    ("help", "capabilities"),
    ("can you help me", "capabilities"),
    ("tell me a joke", "joke"),
    ("why this answer?", "why_this_answer"),
    ("Why did I get no answer?", "why_this_answer"),
    ("you are stupid", "insult"),
    ("stupid bot!", "insult"),
    ("sorry, wrong channel", "apology"),
    ("never mind", "apology"),
    ("ok", "acknowledgement"),
    ("yes", "acknowledgement"),
    ("", NOTHING_SAID),
    ("   \n", NOTHING_SAID),
    ("<@U0BOT>", NOTHING_SAID),
    ("<at>Frontdesk</at>", NOTHING_SAID),
    ("👍", NOTHING_SAID),
    (":tada: :+1:", NOTHING_SAID),
    ("???", NOTHING_SAID),
]

ABOUT_SOMETHING = """
hi, how do i connect to the vpn
thanks, and how do I reset it?
ok so what about contractors
help with my vpn
can you help me with the printer
what can you do about a broken screen
good morning, is the office open today
happy new year, when is payday
bye bye policy
why this answer machine in the lobby
test environment
who are you supposed to call when the lift is stuck
are you allowed to bring dogs
stupid question: where is the canteen
sorry, my badge does not open the door
parking
great place to work survey
""".strip().splitlines()


@pytest.fixture(scope="module")
def smalltalk() -> SmallTalk:
    return SmallTalk()


@pytest.mark.parametrize(("text", "topic"), TOPICS)
def test_small_talk_has_its_topic(smalltalk: SmallTalk, text: str, topic: str) -> None:
    assert smalltalk.topic(text) == topic


@pytest.mark.parametrize("text", ABOUT_SOMETHING)
def test_a_question_behind_a_greeting_is_no_small_talk(smalltalk: SmallTalk, text: str) -> None:
    assert smalltalk.topic(text) is None


@pytest.mark.parametrize("topic", sorted({topic for _, topic in TOPICS}))
def test_every_topic_has_a_short_reply(smalltalk: SmallTalk, topic: str) -> None:
    assert 0 < len(smalltalk.reply(topic, "hello")) < 400


def test_what_it_can_do_tells_how_to_ask_of_sources_and_of_people(smalltalk: SmallTalk) -> None:
    reply = smalltalk.reply("capabilities", "what can you do?")
    assert "sources" in reply
    assert "person" in reply
    assert "ask" in reply


def test_the_same_words_get_the_same_reply(smalltalk: SmallTalk) -> None:
    other = SmallTalk()
    texts = [f"hi {n}" for n in range(20)]
    replies = [smalltalk.reply("greeting", text) for text in texts]
    assert replies == [other.reply("greeting", text) for text in texts]
    assert len(set(replies)) > 1


@given(st.text())
def test_any_text_is_small_talk_or_not(text: str) -> None:
    smalltalk = SmallTalk()
    topic = smalltalk.topic(text)
    assert topic is None or smalltalk.reply(topic, text)
