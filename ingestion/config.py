"""The settings that ingestion shares with the bot, read once from the environment and ``.env``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from ingestion.errors import SettingInvalid


class Settings(BaseSettings):
    """The same names and rules as the bot's."""

    model_config = SettingsConfigDict(
        env_file=".env",
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
    )

    data_dir: Path = Field(
        Path("data"), alias="FRONTDESK_DATA_DIR", description="All that is written goes here."
    )
    tenant: str = Field(
        "default",
        alias="FRONTDESK_TENANT",
        pattern=r"^[a-z0-9][a-z0-9-]{0,62}$",
        description="The company's name in the index and the record.",
    )


def load_settings() -> Settings:
    """Read the settings. Raises SettingInvalid: one line a wrong value, with the cure."""
    try:
        return Settings()
    except ValidationError as error:
        raise SettingInvalid("\n".join(_explained(error))) from error


def _explained(error: ValidationError) -> list[str]:
    fields = {field.alias: field for field in Settings.model_fields.values()}
    lines = []
    for item in error.errors():
        name = str(item["loc"][0]).upper()
        field = fields.get(name)
        cure = f" It means: {field.description} Default: {field.get_default()!r}." if field else ""
        lines.append(f"{name}={item['input']!r} is wrong: {item['msg']}.{cure}")
    return lines
