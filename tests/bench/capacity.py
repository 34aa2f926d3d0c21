"""How many people one machine serves, out of what the benches measured."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.aims import Judged

CAPACITY = "What one machine serves"
ANSWERS = "answers a second without a model"
QUESTIONS_AN_HOUR = 2.0
"""Questions of a person in the busiest hour: an assumption, to be replaced by one's own."""

_INTRODUCTION = (
    "By the median of answers a second above, on this machine, in one process. People are "
    f"questions a second × 3,600 ÷ {QUESTIONS_AN_HOUR:.0f}, the questions that one person asks in "
    "the busiest hour: an assumption; put your own in. A burst is what is stored and acknowledged "
    "at once and answered in its turn."
)
_MORE = (
    "When it is not enough: with a model, its own speed is the limit first "
    "([models](models.md)); then put the record on PostgreSQL and start a second server "
    "([reliability](reliability.md)); a larger machine helps as far as one process can use two "
    "cores."
)


def capacity(judged: Sequence[Judged]) -> str:
    """Return the section of how many people a machine serves; the reason where nothing is known."""
    rate = next((each.aim.measured for each in judged if each.aim.name == ANSWERS), None)
    if not rate:
        return f"Not measured: no figure of {ANSWERS}.\n"
    an_hour = rate * 3600
    figures = (
        ("answers a second, no model", f"{rate:.1f}", "measured"),
        ("answers an hour", f"{an_hour:,.0f}", "× 3,600"),
        ("people", f"{an_hour / QUESTIONS_AN_HOUR:,.0f}", f"÷ {QUESTIONS_AN_HOUR:.0f}"),
        ("last answer to a thousand at once", f"{1000 / rate:.0f} s", f"1,000 ÷ {rate:.1f}"),
    )
    rows = ["| what | figure | arithmetic |", "|---|---|---|"]
    rows += [f"| {' | '.join(each)} |" for each in figures]
    return "\n".join([_INTRODUCTION, "", *rows, "", _MORE, ""])
