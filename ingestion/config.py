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
        description="https://SITE.atlassian.net/wiki, or a Data Center's address; none: Confluence "
        "is not read.",
    )
    confluence_email: str | None = Field(
        None, description="Whose API token it is, on Cloud; none: the token is sent as Bearer."
    )
    confluence_token: SecretStr | None = Field(
        None, description="API token (Cloud), personal access token (Data Center), OAuth token."
    )
    confluence_edition: Literal["auto", "cloud", "data-center"] = Field(
        "auto", description="`auto`: Cloud at *.atlassian.net and api.atlassian.com."
    )
    confluence_ca_file: str | None = Field(
        None, description="Certificates to trust besides the system's, as a PEM file."
    )
    confluence_spaces: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Keys of the spaces to read, by comma; none: all that the token sees."
    )
    confluence_skip_spaces: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Keys of spaces to leave out; personal ones (~) are unless they are named."
    )
    confluence_labels: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Read only pages with one of these labels, by comma; none: all."
    )
    confluence_skip_labels: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Leave out pages with one of these labels."
    )
    confluence_ancestors: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Read only these pages, by id, and what is below them; none: all."
    )
    confluence_skip_ancestors: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Leave out these pages, by id, and what is below them."
    )
    confluence_oldest_days: int = Field(
        0, ge=0, description="Leave out pages that nobody changed for so many days; 0: none."
    )
    confluence_attachments: bool = Field(
        default=True, description="Read PDF, Word and text files that are attached to pages."
    )
    confluence_attachment_mb: int = Field(
        20, ge=1, le=1000, description="Megabytes that an attachment may have to be read."
    )
    confluence_everyone_groups: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Groups, by name and comma, that every colleague is in: what they may read, "
        "everyone may. None: only what is open to people who are not signed in.",
    )
    confluence_space_readers: str = Field(
        "",
        description="Who may read a space besides those whom Confluence names, where it can't be "
        "asked (Data Center before 9.1) or names roles: `KEY=group:NAME,user:NAME;KEY2=everyone`. "
        "Restrictions of pages hold all the same.",
    )
    confluence_directory: str | None = Field(
        None,
        description="Which colleague is whom in Confluence: a CSV file (e-mail, account, groups), "
        "or `entra`. None: by e-mail address alone, where Confluence shows it.",
    )
    confluence_directory_minutes: int = Field(
        10, ge=1, le=1440, description="How long it is believed what somebody may read."
    )
    confluence_sync_minutes: int = Field(
        5, ge=0, le=10_080, description="Minutes between looks at what was edited; 0: never."
    )
    confluence_reconcile_minutes: int = Field(
        30,
        ge=0,
        le=10_080,
        description="Minutes between looks at every page, for what was deleted, moved or "
        "restricted; 0: never.",
    )
    confluence_last_check: bool = Field(
        default=False,
        description="Ask Confluence about every cited page once more before an answer is given.",
    )
    confluence_answers_parent: str | None = Field(
        None,
        description="Id or address of the page below which reviewed answers are published; none: "
        "they are not.",
    )
    confluence_superseded_labels: Annotated[tuple[str, ...], NoDecode] = Field(
        ("superseded", "archived", "obsolete", "outdated", "deprecated"),
        description="Labels of pages that are answered from with a warning, by comma.",
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
