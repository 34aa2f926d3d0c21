"""The settings of ingestion, read once from the environment and ``.env``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from ingestion.errors import SettingInvalid
from rag.config import SearchSettings

ENV_FILE = Path(".env")

_LISTS = (
    "confluence_spaces",
    "confluence_skip_spaces",
    "confluence_labels",
    "confluence_skip_labels",
    "confluence_ancestors",
    "confluence_skip_ancestors",
    "confluence_everyone_groups",
    "confluence_superseded_labels",
)


class Settings(SearchSettings):
    """Settings of ingestion: those shared with the bot, plus CONFLUENCE_*."""

    model_config = SettingsConfigDict(
        env_file=ENV_FILE,
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    database_url: SecretStr | None = Field(
        None,
        alias="DATABASE_URL",
        description="PostgreSQL for runs and what is known of pages, as the bot's; none: SQLite in "
        "FRONTDESK_DATA_DIR.",
    )

    # Confluence; see docs/confluence.md
    confluence_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s?#]+$",
        description="https://SITE.atlassian.net/wiki, or a Data Center's address; unset: no "
        "Confluence.",
    )
    confluence_email: str | None = Field(
        None, description="Account of the API token, on Cloud; unset: the token is sent as Bearer."
    )
    confluence_token: SecretStr | None = Field(
        None, description="API token (Cloud), personal access token (Data Center) or OAuth token."
    )
    confluence_edition: Literal["auto", "cloud", "data-center"] = Field(
        "auto",
        description="`auto`: Cloud at *.atlassian.net and api.atlassian.com, else Data Center.",
    )
    confluence_ca_file: str | None = Field(
        None, description="PEM file with additional certificates to trust."
    )
    confluence_spaces: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Keys of the spaces to index, separated by commas; unset: all that the token "
        "can see.",
    )
    confluence_skip_spaces: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Keys of spaces to leave out; personal ones (~) are left out unless named."
    )
    confluence_labels: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Read only pages with one of these labels, separated by commas; unset: all."
    )
    confluence_skip_labels: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Leave out pages with one of these labels."
    )
    confluence_ancestors: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Read only these pages, by id, and the pages below them; unset: all."
    )
    confluence_skip_ancestors: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Leave out these pages, by id, and the pages below them."
    )
    confluence_oldest_days: int = Field(
        0, ge=0, description="Leave out pages not changed for this number of days; 0: none."
    )
    confluence_attachments: bool = Field(
        default=True, description="Read PDF, Word and text files attached to pages."
    )
    confluence_attachment_mb: int = Field(
        20, ge=1, le=1000, description="Maximum size of an attachment, in megabytes."
    )
    confluence_everyone_groups: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Names of groups that contain every colleague, separated by commas: what they "
        "may read is open to everyone. Unset: only what anonymous visitors may read.",
    )
    confluence_space_readers: str = Field(
        "",
        description="Additional readers of a space, if Confluence can't report them (Data Center "
        "before 9.1) or names roles: `KEY=group:NAME,user:NAME;KEY2=everyone`. Page restrictions "
        "still apply.",
    )
    confluence_directory: str | None = Field(
        None,
        description="Maps colleagues to Confluence accounts: a CSV file (e-mail, account, groups), "
        "or `entra`. Unset: by e-mail address only, if Confluence shows it.",
    )
    confluence_directory_minutes: int = Field(
        10, ge=1, le=1440, description="Minutes for which a person's permissions are cached."
    )
    confluence_sync_minutes: int = Field(
        5, ge=0, le=10_080, description="Minutes between runs over edited pages; 0: never."
    )
    confluence_reconcile_minutes: int = Field(
        30,
        ge=0,
        le=10_080,
        description="Minutes between full runs, which find deleted, moved and restricted pages; 0: "
        "never.",
    )
    confluence_last_check: bool = Field(
        default=False,
        description="Check every cited page in Confluence again before an answer is given.",
    )
    confluence_answers_parent: str | None = Field(
        None,
        description="Id or address of the page below which reviewed answers are published; unset: "
        "nowhere.",
    )
    confluence_superseded_labels: Annotated[tuple[str, ...], NoDecode] = Field(
        ("superseded", "archived", "obsolete", "outdated", "deprecated"),
        description="Labels of outdated pages, separated by commas: answers from them carry a "
        "warning.",
    )

    @field_validator(*_LISTS, mode="before")
    @classmethod
    def _split_list(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @property
    def confluence_configured(self) -> bool:
        return self.confluence_url is not None and self.confluence_token is not None


def load_settings(env_file: Path = ENV_FILE) -> Settings:
    """Read the settings. Raises SettingInvalid: one line per wrong value, with the remedy."""
    try:
        settings = Settings(_env_file=env_file)
    except ValidationError as error:
        raise SettingInvalid("\n".join(_explained(error))) from error
    if (settings.confluence_token is None) != (settings.confluence_url is None):
        is_set, is_not = ("URL", "TOKEN") if settings.confluence_url else ("TOKEN", "URL")
        raise SettingInvalid(
            f"CONFLUENCE_{is_set} is set and CONFLUENCE_{is_not} is not. Set both, or none."
        )
    return settings


def _explained(error: ValidationError) -> list[str]:
    fields = {(field.alias or name).upper(): field for name, field in Settings.model_fields.items()}
    lines = []
    for item in error.errors():
        name = str(item["loc"][0]).upper()
        field = fields.get(name)
        cure = f" It means: {field.description} Default: {field.get_default()!r}." if field else ""
        given = "" if field and "Secret" in str(field.annotation) else f"={item['input']!r}"
        lines.append(f"{name}{given} is wrong: {item['msg']}.{cure}")
    return lines
