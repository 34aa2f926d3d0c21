from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.orders.parsing import command_order, message_order, reindex_order
from bot.orders.types import (
    Ask,
    Everything,
    Help,
    Misunderstood,
    Order,
    PageAt,
    ReindexCancel,
    ReindexOrder,
    ReindexStatus,
    Settings,
    SpaceNamed,
    Spelling,
    Status,
    Why,
)
from tests.bot.orders.fakes import SLACK

TEAMS = Spelling()
HR = SpaceNamed("HR")
PAGE = PageAt("https://wiki.example/x?pageId=7&src=1")


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", Help()),
        ("  HELP ", Help()),
        ("status", Status()),
        ("Why?", Why()),
        ("why this answer?", Why()),
        ("settings", Settings()),
        ("ask How do I  book leave?", Ask("How do I  book leave?")),
        ("ASK: what\nis VPN", Ask("what\nis VPN")),
        ("ask\nwhat is VPN", Ask("what is VPN")),
        ("why is the VPN down?", Ask("why is the VPN down?")),
        ("help me with the VPN", Ask("help me with the VPN")),
        ("How do I book leave?", Ask("How do I book leave?")),
        ("reindex HR", ReindexOrder(HR)),
        ("reindex status", ReindexStatus()),
    ],
)
def test_a_command_is_a_word_of_its_own_and_all_else_is_a_question(text: str, order: Order) -> None:
    assert command_order(text, SLACK) == order


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hlep", "/frontdesk help"),
        ("statsu", "Did you mean /frontdesk status?"),
        ("VPN", "/frontdesk ask VPN"),
        ("ask", "/frontdesk ask How"),
        ("reindx HR --dry-run", "Did you mean /reindex HR --dry-run?"),
    ],
)
def test_a_slip_is_answered_with_what_can_be_said(text: str, said: str) -> None:
    answer = command_order(text, SLACK)

    assert isinstance(answer, Misunderstood)
    assert said in answer.text


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("HR", ReindexOrder(HR)),
        ("  HR   --dry-run ", ReindexOrder(HR, dry_run=True)),
        ("HR \u2014dry\u2011run", ReindexOrder(HR, dry_run=True)),
        ("\u2013\u2013Dry_Run HR", ReindexOrder(HR, dry_run=True)),
        ("HR -dryrun", ReindexOrder(HR, dry_run=True)),
        ("HR dry-run", ReindexOrder(HR, dry_run=True)),
        ("HR --allow-mass-delete", ReindexOrder(HR, allow_mass_delete=True)),
        (
            "all \u2014dry-run \u2014allow\u2014mass\u2014delete",
            ReindexOrder(Everything(), dry_run=True, allow_mass_delete=True),
        ),
        ("ALL", ReindexOrder(Everything())),
        ("*", ReindexOrder(Everything())),
        ("\u201cHR\u201d", ReindexOrder(HR)),
        ("\u201eall\u201c", ReindexOrder(SpaceNamed("all"))),
        ('"status"', ReindexOrder(SpaceNamed("status"))),
        ("'HR'", ReindexOrder(HR)),
        ('"HR', ReindexOrder(HR)),
        ("HR --", ReindexOrder(HR)),
        ("<https://wiki.example/x?pageId=7&amp;src=1|the page>", ReindexOrder(PAGE)),
        ("<https://wiki.example/x?pageId=7&amp;src=1> --dry-run", ReindexOrder(PAGE, dry_run=True)),
        ("[the page](https://wiki.example/x?pageId=7&src=1)", ReindexOrder(PAGE)),
        ("https://wiki.example/x?pageId=7&src=1", ReindexOrder(PAGE)),
        ("wiki.example/x", ReindexOrder(PageAt("wiki.example/x"))),
        ("<http://wiki.it|wiki.it>", ReindexOrder(SpaceNamed("wiki.it"))),
        ("Status", ReindexStatus()),
        ("cancel", ReindexCancel()),
        ("stop HR", ReindexCancel("HR")),
        ("cancel ALL", ReindexCancel("all")),
        ("help", Help()),
    ],
)
def test_a_reindex_order_is_read_as_people_type_it(text: str, order: Order) -> None:
    assert reindex_order(text, SLACK) == order


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Say what to reindex."),
        ("--dry-run", "Say what to reindex."),
        ("HR --force", "I don't know \u201c--force\u201d."),
        ("HR \u2014dry run", "I don't know \u201c\u2014dry\u201d."),
        ("HR IT", "you named \u201cHR\u201d, \u201cIT\u201d."),
        ("cancel HR IT", "one run at a time"),
    ],
)
def test_what_can_not_be_read_is_named_with_what_can_be_said(text: str, said: str) -> None:
    answer = reindex_order(text, SLACK)

    assert isinstance(answer, Misunderstood)
    assert said in answer.text
    assert "/reindex HR" in answer.text


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("help", Help()),
        ("/status", Status()),
        ("Settings", Settings()),
        ("reindex HR --dry-run", ReindexOrder(HR, dry_run=True)),
        ("why?", None),
        ("why", None),
        ("/why", Why()),
        ("/why is the sky blue", None),
        ("help?", None),
        ("What is the status?", None),
        ("status of my laptop", None),
        ("reindex takes how long on a Monday?", None),
        ("", None),
    ],
)
def test_a_message_is_a_command_only_if_it_is_nothing_else(text: str, order: Order | None) -> None:
    assert message_order(text, TEAMS) == order


def test_a_short_message_that_begins_like_a_reindex_command_is_told_what_is_wrong() -> None:
    answer = message_order("reindex HR IT", TEAMS)

    assert isinstance(answer, Misunderstood)
    assert "reindex HR for" not in answer.text.splitlines()[0]


SPACES = st.from_regex(r"[A-Za-z0-9~][A-Za-z0-9._~-]{0,20}", fullmatch=True).filter(
    lambda name: (
        name.casefold().strip(".,:;!?")
        not in {"all", "everything", "status", "cancel", "stop", "help"}
        and name.casefold().strip(".,:;!?").replace("-", "") not in {"dryrun", "allowmassdelete"}
    )
)
DASHES = st.sampled_from(["--", "-", "\u2014", "\u2013", "\u2013\u2013", "\u2212\u2212"])
QUOTES = st.sampled_from([("", ""), ('"', '"'), ("\u201c", "\u201d"), ("\u201e", "\u201c")])


@given(space=SPACES, dash=DASHES, quotes=QUOTES, first=st.booleans(), gap=st.sampled_from(" \t\n"))
def test_any_space_is_read_wherever_its_flag_is_and_however_its_dash_is_written(
    space: str, dash: str, quotes: tuple[str, str], gap: str, *, first: bool
) -> None:
    named, flag = f"{quotes[0]}{space}{quotes[1]}", f"{dash}dry-run"
    parts = [flag, named] if first else [named, flag]

    order = reindex_order(gap.join(parts), SLACK)

    assert order == ReindexOrder(SpaceNamed(space), dry_run=True)


@given(st.text())
def test_whatever_is_typed_is_an_order_or_is_answered_with_words(text: str) -> None:
    for read in (reindex_order, command_order):
        order = read(text, SLACK)
        assert not isinstance(order, Misunderstood) or len(order.text) < 1_500
    message_order(text, TEAMS)


@given(st.text(min_size=1).filter(str.strip))
def test_what_somebody_asks_stays_as_it_was_typed(question: str) -> None:
    assert command_order(f"ask {question}", SLACK) == Ask(question.strip())
