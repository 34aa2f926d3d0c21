"""Tests of the parsing of commands, and of help and status."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import __version__
from bot.chat.commands.command_texts import age_text, help_text, status_text
from bot.chat.commands.parsing import parse_command_text, parse_message_text, parse_reindex_text
from bot.chat.commands.reindexing import url_variants
from bot.chat.commands.types import (
    AllSpaces,
    AskRequest,
    CommandRequest,
    CommandSyntax,
    HelpRequest,
    InvalidCommand,
    PageByUrl,
    ReindexCancelRequest,
    ReindexRequest,
    ReindexStatusRequest,
    SettingsRequest,
    ShareRequest,
    SpaceByName,
    StatusRequest,
    WhyRequest,
)
from bot.domain.health import ComponentStatus
from ingestion.library import Space
from tests.fakes.chat_commands import SLACK

TEAMS = CommandSyntax()
HR = SpaceByName("HR")
PAGE = PageByUrl("https://wiki.example/x?pageId=7&src=1")


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", HelpRequest()),
        ("  HELP ", HelpRequest()),
        ("status", StatusRequest()),
        ("Why?", WhyRequest()),
        ("why this answer?", WhyRequest()),
        ("settings", SettingsRequest()),
        ("Share my questions  ON.", ShareRequest(shares=True)),
        ("share my questions off", ShareRequest(shares=False)),
        ("share my questions", ShareRequest()),
        ("share my questions with HR", AskRequest("share my questions with HR")),
        ("ask How do I  book leave?", AskRequest("How do I  book leave?")),
        ("ASK: what\nis VPN", AskRequest("what\nis VPN")),
        ("ask\nwhat is VPN", AskRequest("what is VPN")),
        ("why is the VPN down?", AskRequest("why is the VPN down?")),
        ("help me with the VPN", AskRequest("help me with the VPN")),
        ("How do I book leave?", AskRequest("How do I book leave?")),
        ("reindex HR", ReindexRequest(HR)),
        ("reindex status", ReindexStatusRequest()),
    ],
)
def test_a_command_is_a_word_of_its_own_and_all_else_is_a_question(
    text: str, order: CommandRequest
) -> None:
    assert parse_command_text(text, SLACK) == order


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
    answer = parse_command_text(text, SLACK)

    assert isinstance(answer, InvalidCommand)
    assert said in answer.text


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("HR", ReindexRequest(HR)),
        ("  HR   --dry-run ", ReindexRequest(HR, dry_run=True)),
        ("HR \u2014dry\u2011run", ReindexRequest(HR, dry_run=True)),
        ("\u2013\u2013Dry_Run HR", ReindexRequest(HR, dry_run=True)),
        ("HR -dryrun", ReindexRequest(HR, dry_run=True)),
        ("HR dry-run", ReindexRequest(HR, dry_run=True)),
        ("HR --allow-mass-delete", ReindexRequest(HR, allow_mass_delete=True)),
        (
            "all \u2014dry-run \u2014allow\u2014mass\u2014delete",
            ReindexRequest(AllSpaces(), dry_run=True, allow_mass_delete=True),
        ),
        ("ALL", ReindexRequest(AllSpaces())),
        ("*", ReindexRequest(AllSpaces())),
        ("\u201cHR\u201d", ReindexRequest(HR)),
        ("\u201eall\u201c", ReindexRequest(SpaceByName("all"))),
        ('"status"', ReindexRequest(SpaceByName("status"))),
        ("'HR'", ReindexRequest(HR)),
        ('"HR', ReindexRequest(HR)),
        ("HR --", ReindexRequest(HR)),
        ("<https://wiki.example/x?pageId=7&amp;src=1|the page>", ReindexRequest(PAGE)),
        (
            "<https://wiki.example/x?pageId=7&amp;src=1> --dry-run",
            ReindexRequest(PAGE, dry_run=True),
        ),
        ("[the page](https://wiki.example/x?pageId=7&src=1)", ReindexRequest(PAGE)),
        ("https://wiki.example/x?pageId=7&src=1", ReindexRequest(PAGE)),
        ("wiki.example/x", ReindexRequest(PageByUrl("wiki.example/x"))),
        ("<http://wiki.it|wiki.it>", ReindexRequest(SpaceByName("wiki.it"))),
        ("Status", ReindexStatusRequest()),
        ("cancel", ReindexCancelRequest()),
        ("stop HR", ReindexCancelRequest("HR")),
        ("cancel ALL", ReindexCancelRequest("all")),
        ("help", HelpRequest()),
    ],
)
def test_a_reindex_order_is_read_as_people_type_it(text: str, order: CommandRequest) -> None:
    assert parse_reindex_text(text, SLACK) == order


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Tell me what to reindex."),
        ("--dry-run", "Tell me what to reindex."),
        ("HR --force", "I don't know \u201c--force\u201d."),
        ("HR \u2014dry run", "I don't know \u201c\u2014dry\u201d."),
        ("HR IT", "you named \u201cHR\u201d, \u201cIT\u201d."),
        ("cancel HR IT", "one run at a time"),
    ],
)
def test_what_can_not_be_read_is_named_with_what_can_be_said(text: str, said: str) -> None:
    answer = parse_reindex_text(text, SLACK)

    assert isinstance(answer, InvalidCommand)
    assert said in answer.text
    assert "/reindex HR" in answer.text


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("help", HelpRequest()),
        ("/status", StatusRequest()),
        ("Settings", SettingsRequest()),
        ("reindex HR --dry-run", ReindexRequest(HR, dry_run=True)),
        ("why?", None),
        ("why", None),
        ("/why", WhyRequest()),
        ("share my questions on", ShareRequest(shares=True)),
        ("/Share my questions off", ShareRequest(shares=False)),
        ("can I share my questions on Slack?", None),
        ("/why is the sky blue", None),
        ("help?", None),
        ("What is the status?", None),
        ("status of my laptop", None),
        ("reindex takes how long on a Monday?", None),
        ("", None),
    ],
)
def test_a_message_is_a_command_only_if_it_is_nothing_else(
    text: str, order: CommandRequest | None
) -> None:
    assert parse_message_text(text, TEAMS) == order


def test_a_short_message_that_begins_like_a_reindex_command_is_told_what_is_wrong() -> None:
    answer = parse_message_text("reindex HR IT", TEAMS)

    assert isinstance(answer, InvalidCommand)
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

    order = parse_reindex_text(gap.join(parts), SLACK)

    assert order == ReindexRequest(SpaceByName(space), dry_run=True)


@given(st.text())
def test_whatever_is_typed_is_an_order_or_is_answered_with_words(text: str) -> None:
    for read in (parse_reindex_text, parse_command_text):
        order = read(text, SLACK)
        assert not isinstance(order, InvalidCommand) or len(order.text) < 1_500
    parse_message_text(text, TEAMS)


@given(st.text(min_size=1).filter(str.strip))
def test_what_somebody_asks_stays_as_it_was_typed(question: str) -> None:
    assert parse_command_text(f"ask {question}", SLACK) == AskRequest(question.strip())


@pytest.mark.parametrize(
    ("given_as", "indexed"),
    [
        ("https://wiki.example/it/vpn", "https://wiki.example/it/vpn"),
        ("https://wiki.example/it/vpn#Install", "https://wiki.example/it/vpn"),
        ("https://wiki.example/it/vpn?src=mail#a", "https://wiki.example/it/vpn"),
        ("https://wiki.example/v?pageId=7#a", "https://wiki.example/v?pageId=7"),
        ("https://wiki.example/it/vpn/", "https://wiki.example/it/vpn"),
        ("https://wiki.example/it/vpn", "https://wiki.example/it/vpn/"),
        ("https://wiki.example/it/my page", "https://wiki.example/it/my%20page"),
        ("https://wiki.example/it/caf\u00e9", "https://wiki.example/it/caf%C3%A9"),
        ("https://wiki.example/it/my%20page", "https://wiki.example/it/my page"),
        ("wiki.example/it/vpn", "https://wiki.example/it/vpn"),
        ("https://wiki.example/it/vpn.", "https://wiki.example/it/vpn"),
        ("https://desk.example/pages/HR/leave.md#a", "/pages/HR/leave.md"),
        ("/pages/HR/leave.md", "/pages/HR/leave.md"),
        ("https://[broken", "https://[broken"),
    ],
)
def test_a_page_is_found_however_its_address_was_copied(given_as: str, indexed: str) -> None:
    assert indexed in url_variants(given_as)


def test_only_the_pages_of_this_server_are_known_without_their_host() -> None:
    assert all("wiki.example" in form for form in url_variants("https://wiki.example/it/vpn"))


@given(st.text())
def test_whatever_is_given_has_few_forms_of_which_none_is_another_twice(url: str) -> None:
    forms = url_variants(url)

    assert 0 < len(forms) <= 16
    assert len(set(forms)) == len(forms)


def test_what_only_admins_may_do_is_told_to_them_alone() -> None:
    assert "/reindex SPACE --dry-run" in help_text(SLACK, admin=True)
    assert "settings" in help_text(SLACK, admin=True)
    for word in ("reindex", "settings"):
        assert word not in help_text(SLACK, admin=False)


@pytest.mark.parametrize("spelling", [SLACK, CommandSyntax()])
def test_each_command_that_help_names_is_understood_as_it_is_written_there(
    spelling: CommandSyntax,
) -> None:
    lines = help_text(spelling, admin=True).splitlines()[1:]

    assert len(lines) >= 7
    for line in lines:
        written = line.partition(": ")[0]
        order = (
            parse_reindex_text(written.removeprefix("/reindex"), spelling)
            if written.startswith("/reindex")
            else parse_command_text(written.removeprefix("/frontdesk"), spelling)
            if spelling.command
            else parse_message_text(written, spelling)
        )
        assert order is not None, line
        assert not isinstance(order, InvalidCommand), line


NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
READY = ComponentStatus("knowledge", "ready", "12 chunks (IT 12, SECRET 3)")
FAILED = ComponentStatus("knowledge", "failed", "The index '/srv/data/index.sqlite' is damaged.")
MODEL = ComponentStatus(
    "model", "absent", "answers are verbatim quotes.", "Add OPENAI_MODEL to .env"
)


def space(name: str, pages: int, synced_at: datetime | None = None) -> Space:
    return Space(name, pages, pages, "folder", False, True, synced_at)  # noqa: FBT003 - a value


INDEXED_SPACES = (space("HR", 1_200, NOW - timedelta(minutes=40)), space("IT", 1))


def test_what_is_indexed_is_told_with_its_age_and_the_version() -> None:
    assert status_text((READY,), INDEXED_SPACES, NOW, admin=False).splitlines() == [
        "I'm ready.",
        "I answer from 1,201 pages in 2 spaces:",
        "- HR: 1,200 pages, updated about 40 min ago",
        "- IT: 1 page",
        f"Frontdesk {__version__}",
    ]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            ComponentStatus("limits", "paused", "paused by cli:anna since ...: rude reason."),
            "I'm paused",
        ),
        (
            ComponentStatus("limits", "limited", "used up: 3.00 of 3.00 USD today."),
            "A limit has been reached, so I answer fewer questions for now",
        ),
        (FAILED, "I can't read my pages"),
        (
            ComponentStatus("keeper", "failed", "The record '/srv' is away"),
            "Something is not working as it should right now; my admins can see what",
        ),
        (MODEL, "by quoting the pages"),
    ],
)
def test_others_than_admins_are_told_what_it_means_for_them_and_nothing_of_the_inside(
    part: ComponentStatus, said: str
) -> None:
    told = status_text((READY, part), INDEXED_SPACES, NOW, admin=False)

    assert said in told
    for inner in ("/srv", "rude", "USD", "OPENAI_MODEL", "SECRET", "keeper", "cli:"):
        assert inner not in told


def test_admins_are_told_each_part_with_its_cure() -> None:
    told = status_text((FAILED, MODEL), INDEXED_SPACES, NOW, admin=True)

    assert "- knowledge (failed): The index" in told
    assert "- model (not set up): answers are verbatim quotes. Add OPENAI_MODEL to .env" in told


def test_no_pages_and_very_many_spaces_are_told_shortly() -> None:
    many = [space(f"S{number}", 1) for number in range(40)]

    assert "no pages to answer from yet" in status_text((), (), NOW, admin=False)
    told = status_text((), many, NOW, admin=False)
    assert "40 pages in 40 spaces" in told
    assert "- and 25 more" in told


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (timedelta(seconds=-5), "less than a minute ago"),
        (timedelta(hours=3), "about 3.0 h ago"),
        (timedelta(days=9), "9 days ago"),
    ],
)
def test_an_age_is_told_in_the_unit_that_fits(ago: timedelta, said: str) -> None:
    assert age_text(NOW - ago, NOW) == said
