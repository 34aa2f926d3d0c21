"""Tests of the settings page, of where settings are read from, of budgets and the database."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.app.documents import ALL_SETTINGS
from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings, setting_origins
from bot.domain.settings_pages import (
    GROUPS,
    START_HERE,
    env_example,
    fields_of,
    grouped_fields,
    settings_page,
)
from bot.domain.urls import with_driver
from bot.domain.usage import UsageLimits, day_of, usage_limits
from ingestion import config as ingestion

ROOT = Path(__file__).parents[4]


def test_the_page_in_docs_is_current() -> None:
    assert (ROOT / "docs/settings.md").read_text() == settings_page(ALL_SETTINGS)


def test_the_example_file_is_current() -> None:
    assert (ROOT / ".env.example").read_text() == env_example(ALL_SETTINGS)


def test_every_setting_says_what_it_means() -> None:
    silent = [name for name, field in fields_of(ALL_SETTINGS).items() if not field.description]

    assert silent == []


def test_an_example_line_that_is_uncommented_sets_what_holds_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = env_example(ALL_SETTINGS).splitlines()
    given = [line.removeprefix("# ") for line in lines if re.match(r"# [A-Z_]+=", line)]
    (tmp_path / ".env").write_text("\n".join(given))
    monkeypatch.chdir(tmp_path)

    assert len(given) == len(fields_of(ALL_SETTINGS))
    assert load_settings() == load_settings(_env_file=None)
    assert ingestion.Settings() == ingestion.Settings(_env_file=None)


def test_every_setting_is_in_one_of_the_groups() -> None:
    grouped = grouped_fields(ALL_SETTINGS)

    assert list(grouped) == list(GROUPS)
    assert list(grouped[START_HERE]) == list(GROUPS[START_HERE])
    assert sum(map(len, grouped.values())) == len(fields_of(ALL_SETTINGS))


def test_names_are_the_conventional_ones() -> None:
    names = set(fields_of(ALL_SETTINGS))

    assert {"SLACK_BOT_TOKEN", "MICROSOFT_APP_ID", "OPENAI_BASE_URL", "RAG_TOP_K"} <= names


def test_settings_that_several_processes_read_are_told_once() -> None:
    lines = settings_page(ALL_SETTINGS).splitlines()

    assert len([line for line in lines if line.startswith("| `DATABASE_URL`")]) == 1
    assert len([line for line in lines if line.startswith("| `CONFLUENCE_TOKEN`")]) == 1
    assert fields_of(ALL_SETTINGS)["DATABASE_URL"] is Settings.model_fields["database_url"]


@pytest.fixture
def no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Read no environment but the one that a test makes."""
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():
        for variable in (name, field.alias or name):
            monkeypatch.delenv(variable.upper(), raising=False)
    return tmp_path


def test_the_environment_wins_over_the_file_and_empty_values_count_for_nothing(
    no_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = "RAG_TOP_K=7\nhost=127.0.0.1\nOPENAI_MODEL=\nFRONTDESK_TENANT=acme\n"
    (no_environment / ".env").write_text(file)
    monkeypatch.setenv("Host", "localhost")
    monkeypatch.setenv("LOG_LEVEL", "")

    sources = setting_origins(load_settings(waiting=5))

    assert set(sources) == set(Settings.model_fields)
    assert {name: source for name, source in sources.items() if source != "default"} == {
        "top_k": ".env",
        "tenant": ".env",
        "host": "environment",
        "waiting": "command",
    }


@pytest.mark.usefixtures("no_environment")
def test_where_nothing_is_set_all_are_defaults() -> None:
    assert set(setting_origins(load_settings()).values()) == {"default"}


def test_what_ingestion_reads_is_told_too_and_what_both_read_as_the_server_has_it(
    no_environment: Path,
) -> None:
    (no_environment / ".env").write_text("CONFLUENCE_SPACES=IT,HR\n")

    sources = setting_origins(load_settings(tenant="other"), ingestion.Settings())

    assert sources["confluence_spaces"] == ".env"
    assert sources["confluence_labels"] == "default"
    assert sources["tenant"] == "command"


SECRET = "s3cret"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
@pytest.mark.parametrize(
    "rest",
    [
        f"frontdesk:{SECRET}@db.example:5433/frontdesk",
        "frontdesk:p%40ss%2Fword@db/frontdesk?sslmode=require",
        "db/frontdesk",
        "u:p@[::1]:5432/frontdesk",
        "/frontdesk?host=/var/run/postgresql&user=u",
    ],
)
def test_every_way_to_name_a_server_means_one_driver(scheme: str, rest: str) -> None:
    assert with_driver(f"{scheme}://{rest}") == f"postgresql+psycopg://{rest}"


@pytest.mark.parametrize(
    ("url", "cure"),
    [
        ("sqlite:///data/frontdesk.sqlite", "FRONTDESK_DATA_DIR"),
        ("sqlite+aiosqlite:////x", "FRONTDESK_DATA_DIR"),
        (f"mysql://u:{SECRET}@db/x", "only PostgreSQL"),
        (f"postgresql+asyncpg://u:{SECRET}@db/x", "only PostgreSQL"),
        (SECRET, "only PostgreSQL"),
        (f"postgresql://u:{SECRET}@tail@db/x", "percent-encode"),
        (f"postgresql://u:{SECRET}/tail@db/x", "percent-encode"),
        (f"postgresql://u:{SECRET}#tail@db/x", "percent-encode"),
        (f"postgresql://u:{SECRET}?tail@db/x", "percent-encode"),
        (f"postgresql://u:{SECRET}@db:port/x", "percent-encode"),
        (f"postgresql://u:{SECRET}@db:99999/x", "percent-encode"),
        (f"postgresql://u:[{SECRET}@db/x", "percent-encode"),
        (f"postgresql://u:{SECRET}@/x", "host is missing"),
        (f"postgresql://u:{SECRET}@db", "name is missing"),
        (f"postgresql://u:{SECRET}@db/", "name is missing"),
    ],
)
def test_what_is_no_address_is_refused_with_the_cure_and_without_the_password(
    monkeypatch: pytest.MonkeyPatch, url: str, cure: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)

    with pytest.raises(SettingInvalid) as raised:
        load_settings()

    said = str(raised.value)
    assert said.startswith("DATABASE_URL=(hidden) is wrong")
    assert cure in said
    assert SECRET not in said
    assert SECRET not in str(raised.value.__cause__)
    assert "\n" not in said


def test_the_address_does_not_show_in_the_settings() -> None:
    settings = Settings.model_validate({"DATABASE_URL": f"postgres://u:{SECRET}@db/x"})

    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == f"postgresql+psycopg://u:{SECRET}@db/x"
    assert SECRET not in repr(settings)


def test_a_day_is_that_of_utc() -> None:
    assert day_of(datetime.fromisoformat("2026-11-23T01:30:00+02:00")) == datetime(
        2026, 11, 22, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("model", "limits"), [("m", UsageLimits(1, 2, 3, 4.5, 6)), (None, UsageLimits(1, 2))]
)
def test_budgets_hold_only_where_there_is_a_model(model: str | None, limits: UsageLimits) -> None:
    configured = load_settings(
        _env_file=None,
        openai_model=model,
        rate_per_user_per_minute=1,
        rate_per_channel_per_minute=2,
        model_tokens_per_day=3,
        model_usd_per_day=4.5,
        model_tokens_per_user_per_day=6,
    )

    assert usage_limits(configured) == limits


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate_per_user_per_minute": -1},
        {"rate_per_channel_per_minute": -1},
        {"model_tokens_per_day": -1},
        {"model_usd_per_day": -0.1},
        {"model_usd_per_day": float("nan")},
        {"model_tokens_per_user_per_day": -1},
    ],
    ids=str,
)
def test_a_limit_below_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingInvalid, match=next(iter(wrong)).upper()):
        load_settings(_env_file=None, **wrong)


@pytest.mark.parametrize(
    "wrong", [{"time_zone": "Mars/Olympus"}, {"smtp_url": "mail.example"}, {"smtp_from": "desk"}]
)
def test_what_figures_and_digests_need_is_checked_at_the_start(wrong: dict[str, str]) -> None:
    with pytest.raises(SettingInvalid, match=next(iter(wrong)).upper()):
        load_settings(_env_file=None, **wrong)

    right = load_settings(_env_file=None, time_zone="Europe/Berlin", digest_day="wednesday")
    assert (right.zone.key, right.digest_weekday) == ("Europe/Berlin", 2)
