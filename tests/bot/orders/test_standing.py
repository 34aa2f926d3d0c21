from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot import __version__
from bot.chat.commands.help_texts import age_text, status_text
from bot.domain.health import ComponentStatus
from ingestion.library import Space

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
READY = ComponentStatus("knowledge", "ready", "12 chunks (IT 12, SECRET 3)")
FAILED = ComponentStatus("knowledge", "failed", "The index '/srv/data/index.sqlite' is damaged.")
MODEL = ComponentStatus(
    "model", "absent", "answers are verbatim quotes.", "Add OPENAI_MODEL to .env"
)


def space(name: str, pages: int, synced_at: datetime | None = None) -> Space:
    return Space(name, pages, pages, "folder", False, True, synced_at)  # noqa: FBT003 - a value


SPACES = (space("HR", 1_200, NOW - timedelta(minutes=40)), space("IT", 1))


def test_what_is_indexed_is_told_with_its_age_and_the_version() -> None:
    assert status_text((READY,), SPACES, NOW, admin=False).splitlines() == [
        "I am ready.",
        "I answer from 1,201 pages in 2 spaces:",
        "- HR: 1,200 pages, brought up to date about 40 min ago",
        "- IT: 1 page",
        f"Frontdesk {__version__}",
    ]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            ComponentStatus("limits", "paused", "paused by cli:anna since ...: rude reason."),
            "I am paused",
        ),
        (
            ComponentStatus("limits", "limited", "used up: 3.00 of 3.00 USD today."),
            "A limit is used up",
        ),
        (FAILED, "I can't read my pages"),
        (
            ComponentStatus("keeper", "failed", "The record '/srv' is away"),
            "Something does not work",
        ),
        (MODEL, "in the pages' own words"),
    ],
)
def test_others_than_admins_are_told_what_it_means_for_them_and_nothing_of_the_inside(
    part: ComponentStatus, said: str
) -> None:
    told = status_text((READY, part), SPACES, NOW, admin=False)

    assert said in told
    for inner in ("/srv", "rude", "USD", "OPENAI_MODEL", "SECRET", "keeper", "cli:"):
        assert inner not in told


def test_admins_are_told_each_part_with_its_cure() -> None:
    told = status_text((FAILED, MODEL), SPACES, NOW, admin=True)

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
