"""The names of settings, as the program reads them."""

from __future__ import annotations

from pydantic_settings import BaseSettings

from bot.domain.settings import Settings as BotSettings
from ingestion.config import Settings as IngestionSettings


def names_of(settings: type[BaseSettings]) -> frozenset[str]:
    return frozenset((field.alias or name).upper() for name, field in settings.model_fields.items())


BOT = names_of(BotSettings)
INGESTION = names_of(IngestionSettings)
ELSEWHERE = frozenset({"AZURE_CLIENT_ID", "AZURE_TOKEN_CREDENTIALS"})
"""Read by azure-identity: which identity a container has, and that there is no other way in."""
