"""How an answer is judged."""

from __future__ import annotations

from tests.bot.adapters.outcomes import ANSWER
from tests.conformance.case import Case
from tests.conformance.desks import says
from tests.conformance.plays import Votes

FEEDBACK = (
    Case("feedback: up", says(ANSWER), Votes(("up",))),
    Case("feedback: down", says(ANSWER), Votes(("down",))),
    Case("feedback: changed", says(ANSWER), Votes(("up", "down"))),
    Case("feedback: removed", says(ANSWER), Votes(("up",), taken_back=True)),
)
