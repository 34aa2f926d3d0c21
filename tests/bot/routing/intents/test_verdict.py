from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.intent_classifier import Thresholds, decide_intent
from bot.domain.messages import Intent

LIMITS = Thresholds(generic=0.7, generic_doubt=0.4, human=0.8, human_doubt=0.3)

WORKPLACE = """
what is our holiday policy
what is a 401k match here
what does P0 mean here
explain how our bonus works
write access to the wiki, who approves it
what is the difference between our basic and premium health plan
who is the head of my department
how many vacation days are allowed
translate our brochure, which vendor do we use
what's the capital budget of our team
how does the vpn work
what are the benefits for new starters
""".strip().splitlines()


def shares(generic: float = 0.0, human: float = 0.0) -> dict[Intent, float]:
    return {Intent.GENERIC: generic, Intent.HUMAN: human, Intent.DOMAIN: 1 - generic - human}


@pytest.mark.parametrize("text", WORKPLACE)
def test_a_workplace_question_is_never_general_knowledge(text: str) -> None:
    assert decide_intent(text, shares(generic=0.99), LIMITS).intent is Intent.DOMAIN


def test_general_knowledge_in_the_form_of_it_is_generic() -> None:
    verdict = decide_intent("what is the capital of France", shares(generic=0.75), LIMITS)
    assert (verdict.intent, verdict.score) == (Intent.GENERIC, 0.75)


def test_a_high_probability_without_the_form_stays_in_doubt() -> None:
    assert (
        decide_intent("no sound on the mac", shares(generic=0.9), LIMITS).intent is Intent.UNKNOWN
    )


def test_between_the_limits_it_is_in_doubt() -> None:
    assert decide_intent("what is a firewall", shares(generic=0.5), LIMITS).intent is Intent.UNKNOWN


def test_below_the_lower_limit_it_is_looked_up() -> None:
    assert decide_intent("what is a firewall", shares(generic=0.3), LIMITS).intent is Intent.DOMAIN


def test_somebody_wanted_with_high_probability_is_human() -> None:
    assert decide_intent("somebody must see it", shares(human=0.9), LIMITS).intent is Intent.HUMAN


def test_how_it_is_done_is_never_human_by_probability() -> None:
    assert decide_intent("how do I call support", shares(human=0.9), LIMITS).intent is Intent.DOMAIN


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_any_text_and_any_shares_give_a_verdict(text: str, generic: float, rest: float) -> None:
    human = (1 - generic) * rest
    verdict = decide_intent(text, shares(generic, human), LIMITS)
    assert 0 <= verdict.score <= 1 + 1e-9


@given(st.text(), st.floats(0, 0.39), st.floats(0, 0.29))
def test_low_shares_are_always_looked_up(text: str, generic: float, human: float) -> None:
    assert decide_intent(text, shares(generic, human), LIMITS).intent is Intent.DOMAIN
