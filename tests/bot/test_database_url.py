"""The address of a database server."""

from __future__ import annotations

import pytest

from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.domain.urls import with_driver

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
