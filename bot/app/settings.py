"""The settings of all that this server is joined from."""

from __future__ import annotations

from pydantic_settings import BaseSettings

from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings
from ingestion import config as ingestion
from ingestion.errors import SettingInvalid as IngestionSettingInvalid

ALL_SETTINGS: tuple[type[BaseSettings], ...] = (Settings, ingestion.Settings)
"""Their classes; what both have is told as the server says it."""


def load_ingestion_settings() -> ingestion.Settings:
    """Read ingestion's settings. Raises SettingInvalid: one line a wrong value, with the cure."""
    try:
        return ingestion.load_settings()
    except IngestionSettingInvalid as error:
        raise SettingInvalid(str(error)) from error
