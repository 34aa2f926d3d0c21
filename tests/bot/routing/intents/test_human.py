"""A request for a person is never missed; a question about persons is a question."""

from __future__ import annotations

import pytest

from bot.answering.routing.intent_rules import HumanRequests

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
def requests() -> HumanRequests:
    return HumanRequests()


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len(REQUESTS) + len(ELSEWHERE) >= 75


@pytest.mark.parametrize("text", REQUESTS)
def test_a_request_for_a_person_is_heard(requests: HumanRequests, text: str) -> None:
    assert requests.heard(text)


@pytest.mark.parametrize("text", REQUESTS)
def test_it_is_heard_whatever_its_case_and_decoration(requests: HumanRequests, text: str) -> None:
    assert requests.heard(text.upper())
    assert requests.heard(f"  hi there, *{text}* 🙏")


@pytest.mark.parametrize("text", ELSEWHERE)
def test_it_is_heard_in_other_languages(requests: HumanRequests, text: str) -> None:
    assert requests.heard(text)


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_about_persons_is_not_a_request(requests: HumanRequests, text: str) -> None:
    assert not requests.heard(text)


def test_a_request_at_the_end_of_a_long_story_is_heard(requests: HumanRequests) -> None:
    story = "The screen went dark and then it came back. " * 30
    assert requests.heard(story + "Please get me a human.")
