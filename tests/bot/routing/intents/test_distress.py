from __future__ import annotations

import pytest

from bot.answering.routing.intent_rules import HumanRequests

DANGER = """
I want to kill myself
i am going to end my life
I'm thinking of killing myself
I feel suicidal
i might overdose tonight
I want to die
I wish I were dead
everyone would be better off if i were gone, better off dead
I don't want to live
I am about to jump off a bridge
How do I connect to the VPN? Never mind, I want to hurt myself
""".strip().splitlines()

NO_DANGER = """
suicide prevention training, is it mandatory
where do I find the emergency contact form
I need to jump off a call early, is that fine
I cut myself in the kitchen, where is the first aid kit
the server died again
how do I kill a process on linux
which pills does the company doctor keep
when does my contract end
""".strip().splitlines()


@pytest.fixture(scope="module")
def requests() -> HumanRequests:
    return HumanRequests()


@pytest.mark.parametrize("text", DANGER)
def test_somebody_in_danger_is_sent_to_a_person(requests: HumanRequests, text: str) -> None:
    assert requests.heard(text)


@pytest.mark.parametrize("text", NO_DANGER)
def test_words_of_danger_in_a_question_are_a_question(requests: HumanRequests, text: str) -> None:
    assert not requests.heard(text)
