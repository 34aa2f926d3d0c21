from __future__ import annotations

from datetime import timedelta

import pytest

from ingestion.config import Settings
from ingestion.confluence.assembly import confluence_sources
from ingestion.confluence.rules import rules_of
from ingestion.confluence.wiki import Subjects
from ingestion.errors import SettingInvalid

SITE = {"confluence_url": "https://acme.atlassian.net/wiki", "confluence_token": "t"}


def settings(**given: object) -> Settings:
    return Settings(_env_file=None, **given)  # type: ignore[arg-type]


def test_without_settings_there_is_no_confluence() -> None:
    assert confluence_sources(settings()) is None


async def test_with_settings_there_is_one_that_asks_nothing_yet() -> None:
    known = confluence_sources(settings(**SITE, confluence_spaces="IT,HR"))

    assert known is not None
    assert (await known.of("IT")).space == "IT"
    await known.close()


def test_wrong_settings_are_refused_before_anything_is_opened() -> None:
    with pytest.raises(SettingInvalid, match="CONFLUENCE_SPACE_READERS"):
        confluence_sources(settings(**SITE, confluence_space_readers="IT"))


def test_the_rules_are_what_the_settings_say() -> None:
    rules = rules_of(
        settings(
            confluence_labels="a,b",
            confluence_oldest_days=30,
            confluence_attachments=False,
            confluence_everyone_groups="all staff",
            confluence_space_readers="IT=everyone",
        )
    )

    assert rules.selection.labels == {"a", "b"}
    assert rules.selection.oldest == timedelta(days=30)
    assert rules.largest == 0
    assert rules.everyone_groups == ("all staff",)
    assert rules.space_readers == {"IT": Subjects(anyone=True)}
