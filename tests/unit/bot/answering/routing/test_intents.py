"""Tests of the intent rules, their seeds and the intent classifier."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.classifier_training import SEED_INTENTS, fingerprint, load_seeds
from bot.answering.routing.intent_classifier import (
    IntentClassifier,
    Thresholds,
    TrainingRecord,
    decide_intent,
    load_classifier,
)
from bot.answering.routing.intent_rules import (
    CORRECTED_WORDS,
    Rules,
    with_spelling_corrected,
)
from bot.answering.routing.message_text import normalized
from bot.domain.messages import Intent
from rag.models.local_embedder import LocalEmbedder

REQUESTS = """
can I talk to a human?
I WANT TO SPEAK TO A REAL PERSON
Human please
human!!!
agent
Operator
representative pls
live agent
get me a human now
gimme an actual person
let me speak with someone
I'd like to chat with a person from HR
i need to talk to someone confidentially
connect me with support
Put me through to accounting, this is the second time
transfer me to an agent please
could someone call me back
can somebody from facilities contact me directly
please have a technician come to my desk
is there a human I can talk to?
how do i talk to a human
how can I reach a real person here
where is the human support
who can I call?
call me please
I don't want to talk to a bot
not a bot please
no bots, get me a person
enough of this chatbot
hand this over to a colleague
forward this to someone who knows
escalate
please escalate this to second level
open a ticket
Please open a ticket: my screen flickers
can you raise an incident for me
I need to log a ticket with IT
ticket please
file a support request for me
page the on-call engineer
this is not helping
you are not helping me
that didn't help
that's wrong
your answer is wrong
that is not what I asked
you gave me the same answer again
I already told you that
this bot is useless
worst chatbot ever
I want to complain about this bot
how do I file a complaint about this assistant?
I am not happy with this answer
someone needs to look at this today
i tried everything. get me a person
<@U0BOT> I need a human
talk to hmuan
i want to tlak to a persn
conect me to an agnet
speak with a represntative
open a tikcet please
""".strip().splitlines()

ELSEWHERE = """
Ich möchte mit einem Menschen sprechen
bitte einen Mitarbeiter, ich will mit einem Kollegen reden
Können Sie bitte ein Ticket erstellen
je voudrais parler à un humain
Je veux parler avec une vraie personne
quiero hablar con una persona
¿Puedo hablar con un agente?
quero falar com um atendente
vorrei parlare con un operatore
ik wil met een medewerker praten
jag vill prata med en människa
chcę rozmawiać z człowiekiem
хочу поговорить с человеком
転送しないで、担当者をお願いします
请转人工
상담원 연결해 주세요
gerçek bir insan istiyorum
bir yetkiliyle görüşmek istiyorum
""".strip().splitlines()

QUESTIONS = """
how do I contact HR?
which person approves travel
who do I talk to about parental leave
who is the contact person in procurement
human resources phone number
what is the human error rate on line 2
how do I open a ticket with the service desk?
where do I raise a ticket for a broken chair
what is the process to escalate an incident
when should an incident be escalated
escalation policy
which ticket type do I choose for hardware
has my ticket been solved
what does the real estate agent agreement say
ssh agent forwarding policy
how do I add an agent to the call queue
our travel agent does not answer the phone
a customer wants to speak to a manager, what do I do
what do we do when a caller asks for a human
do I need to talk to my manager before I book
should I tell someone before I post about my job
add someone to a distribution list
how do I get someone access to the share
can someone explain the expense policy
who are the safety representatives on site
is there a person responsible for data protection
how do I file a complaint about a colleague
how do I report harassment
support hours of the help desk
connect me to the vpn
how do I connect to the printer
are you a human or a bot?
am i talking to a real person
is this a bot
what is a human firewall
how many people work in Lisbon
who can approve my expenses
can I call a supplier directly
how do I install the monitoring agent
vpn support for linux
""".strip().splitlines()


@pytest.fixture(scope="module")
def rules() -> Rules:
    return Rules()


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len(REQUESTS) + len(ELSEWHERE) >= 75


@pytest.mark.parametrize("text", REQUESTS)
def test_a_request_for_a_person_is_heard(rules: Rules, text: str) -> None:
    assert rules.requests_person(text)


@pytest.mark.parametrize("text", REQUESTS)
def test_it_is_heard_whatever_its_case_and_decoration(rules: Rules, text: str) -> None:
    assert rules.requests_person(text.upper())
    assert rules.requests_person(f"  hi there, *{text}* 🙏")


@pytest.mark.parametrize("text", ELSEWHERE)
def test_it_is_heard_in_other_languages(rules: Rules, text: str) -> None:
    assert rules.requests_person(text)


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_about_persons_is_not_a_request(rules: Rules, text: str) -> None:
    assert not rules.requests_person(text)


def test_a_request_at_the_end_of_a_long_story_is_heard(rules: Rules) -> None:
    story = "The screen went dark and then it came back. " * 30
    assert rules.requests_person(story + "Please get me a human.")


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


@pytest.mark.parametrize("text", DANGER)
def test_somebody_in_danger_is_sent_to_a_person(rules: Rules, text: str) -> None:
    assert rules.requests_person(text)


@pytest.mark.parametrize("text", NO_DANGER)
def test_words_of_danger_in_a_question_are_a_question(rules: Rules, text: str) -> None:
    assert not rules.requests_person(text)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("humna", "human"),
        ("hman", "human"),
        ("peron", "person"),
        ("agnet", "agent"),
        ("tlak", "talk"),
        ("tallk", "talk"),
        ("repersentative", "representative"),
        ("tikcet", "ticket"),
        ("sombody", "somebody"),
    ],
)
def test_a_slip_of_the_finger_is_mended(slip: str, meant: str) -> None:
    assert with_spelling_corrected(f"i want a {slip} now") == f"i want a {meant} now"


@pytest.mark.parametrize(
    "word", ["walk", "tall", "task", "persona", "personal", "contract", "agents", "vpn", "humane"]
)
def test_another_word_is_left_alone(word: str) -> None:
    assert with_spelling_corrected(word) == word


@pytest.mark.parametrize("word", CORRECTED_WORDS)
def test_the_words_themselves_stay(word: str) -> None:
    assert with_spelling_corrected(word) == word


def test_a_long_text_is_mended_at_both_ends_only() -> None:
    filler = "word " * 500
    mended_text = with_spelling_corrected(f"humna {filler}humna {filler}humna").split()
    assert [w for w in mended_text if w.startswith("hum")] == ["human", "humna", "human"]


HUMAN_SEEDS_HEARD = 0.97
"""The rest of these seeds is for the classifier and the model to hear."""


def test_every_intent_has_enough_seeds() -> None:
    counts = Counter(seed.intent for seed in load_seeds())
    assert all(counts[intent] >= 150 for intent in SEED_INTENTS)


def test_no_seed_stands_twice() -> None:
    said = Counter(normalized(seed.text) for seed in load_seeds())
    assert [text for text, times in said.items() if times > 1] == []


def test_no_domain_seed_is_taken_for_small_talk_or_a_request() -> None:
    rules = Rules()
    wrong = [
        seed.text
        for seed in load_seeds()
        if seed.intent is Intent.DOMAIN
        and (ruling := rules.decide(seed.text, ()))
        and ruling.intent is not Intent.DOMAIN
    ]
    assert wrong == []


def test_nearly_every_human_seed_is_heard_by_the_rules_alone() -> None:
    rules = Rules()
    seeds = [seed for seed in load_seeds() if seed.intent is Intent.HUMAN]
    heard = [r for s in seeds if (r := rules.decide(s.text, ())) and r.intent is Intent.HUMAN]
    assert len(heard) / len(seeds) >= HUMAN_SEEDS_HEARD


LIMITS = Thresholds(0.7, 0.4, 0.8, 0.3)


def classifier(dimensions: int = 3) -> IntentClassifier:
    rows = np.eye(3, dimensions + 1)
    weights = {intent: rows[number] * 5 for number, intent in enumerate(SEED_INTENTS)}
    return IntentClassifier(weights, LIMITS, TrainingRecord("words@1", "2026-01-01", 3, "abc"))


@pytest.mark.parametrize(("row", "intent"), list(enumerate(SEED_INTENTS)))
def test_the_nearest_intent_gets_the_largest_share(row: int, intent: Intent) -> None:
    shares = classifier().probabilities(np.eye(3, dtype=np.float32)[row])
    assert max(shares, key=shares.__getitem__) is intent
    assert sum(shares.values()) == pytest.approx(1)


def test_it_fits_only_the_embedder_it_was_trained_on() -> None:
    assert classifier().fits("words@1", 3)
    assert not classifier().fits("words@2", 3)
    assert not classifier().fits("words@1", 4)


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    classifier().save(path)
    loaded = load_classifier(path)
    assert loaded is not None
    vector = np.array([0.1, 0.7, 0.2], dtype=np.float32)
    assert loaded.probabilities(vector) == pytest.approx(classifier().probabilities(vector))
    assert (loaded.thresholds, loaded.training) == (LIMITS, classifier().training)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"weights": 1}', "not json"])
def test_broken_weights_mean_no_classifier_and_a_warning(tmp_path: Path, content: str) -> None:
    path = tmp_path / "weights.json"
    path.write_text(content)
    with structlog.testing.capture_logs() as logs:
        assert load_classifier(path) is None
    assert [entry["event"] for entry in logs] == ["intent_classifier_off"]


@pytest.mark.parametrize("part", ["", "thresholds", "training"])
def test_a_key_that_nobody_reads_is_not_ignored(tmp_path: Path, part: str) -> None:
    path = tmp_path / "weights.json"
    classifier().save(path)
    stored = json.loads(path.read_text())
    (stored[part] if part else stored)["human_dout"] = 0.5
    path.write_text(json.dumps(stored))
    assert load_classifier(path) is None


def test_the_shipped_weights_were_made_from_the_shipped_seeds() -> None:
    shipped = load_classifier()
    assert shipped is not None
    seeds = load_seeds()
    assert shipped.training.seeds_sha256 == fingerprint(seeds)
    assert shipped.training.seeds == len(seeds)


def test_the_shipped_weights_fit_the_shipped_embedder() -> None:
    shipped = load_classifier()
    assert shipped is not None
    assert shipped.fits(LocalEmbedder.name, LocalEmbedder.dimensions)


def test_the_weights_are_plain_json_that_can_be_compared() -> None:
    path = Path(__file__).parents[5] / "bot/answering/routing/weights.json"
    assert set(json.loads(path.read_text())) == {"version", "training", "thresholds", "weights"}


VERDICT_LIMITS = Thresholds(generic=0.7, generic_doubt=0.4, human=0.8, human_doubt=0.3)

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
    assert decide_intent(text, shares(generic=0.99), VERDICT_LIMITS).intent is Intent.DOMAIN


def test_general_knowledge_in_the_form_of_it_is_generic() -> None:
    verdict = decide_intent("what is the capital of France", shares(generic=0.75), VERDICT_LIMITS)
    assert (verdict.intent, verdict.score) == (Intent.GENERIC, 0.75)


@pytest.mark.parametrize(
    ("text", "given_shares", "intent"),
    [
        ("no sound on the mac", shares(generic=0.9), Intent.UNKNOWN),
        ("what is a firewall", shares(generic=0.5), Intent.UNKNOWN),
        ("what is a firewall", shares(generic=0.3), Intent.DOMAIN),
        ("somebody must see it", shares(human=0.9), Intent.HUMAN),
        ("how do I call support", shares(human=0.9), Intent.DOMAIN),
    ],
    ids=[
        "a high probability without the form is in doubt",
        "between the limits it is in doubt",
        "below the lower limit it is looked up",
        "somebody wanted is human",
        "how it is done is never human",
    ],
)
def test_form_and_shares_decide_together(
    text: str, given_shares: dict[Intent, float], intent: Intent
) -> None:
    assert decide_intent(text, given_shares, VERDICT_LIMITS).intent is intent


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_any_text_and_any_shares_give_a_verdict(text: str, generic: float, rest: float) -> None:
    human = (1 - generic) * rest
    verdict = decide_intent(text, shares(generic, human), VERDICT_LIMITS)
    assert 0 <= verdict.score <= 1 + 1e-9


@given(st.text(), st.floats(0, 0.39), st.floats(0, 0.29))
def test_low_shares_are_always_looked_up(text: str, generic: float, human: float) -> None:
    assert decide_intent(text, shares(generic, human), VERDICT_LIMITS).intent is Intent.DOMAIN
