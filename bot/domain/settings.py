"""Settings of every process, read once from the environment and ``.env``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from bot.domain.chat_settings import ChatSettings
from bot.domain.model_settings import NESTED
from bot.domain.urls import is_local_host, with_driver

NOT_FOUND = "I couldn't find that in our wiki."

ESCALATION = "I'm not sure enough to answer that from our wiki."


class Settings(ChatSettings):
    """Conventional variable names; every field is documented in docs/settings.md."""

    model_config = SettingsConfigDict(
        env_file=".env",
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
        populate_by_name=True,
        hide_input_in_errors=True,
        env_nested_delimiter=NESTED,
    )

    # The server
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(3978, ge=0, le=65535, description="Port to listen on; 0: any free port.")
    database_url: SecretStr | None = Field(
        None,
        alias="DATABASE_URL",
        description="PostgreSQL for the record, `postgresql://USER:PASSWORD@HOST/NAME`; unset: "
        "SQLite in FRONTDESK_DATA_DIR.",
    )
    admin_token: SecretStr | None = Field(
        None,
        alias="FRONTDESK_ADMIN_TOKEN",
        description="Token for programs and admins; required once others can reach the server.",
    )
    dev_identities: bool = Field(
        default=False,
        alias="FRONTDESK_DEV_IDENTITIES",
        description="Loopback only: accept the `user` of a request without a token.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Minimum severity of log lines."
    )
    log_questions: bool = Field(
        default=False,
        description="Log the text of questions; forgetting a person does not delete it there.",
    )

    role: Literal["all", "accept", "work"] = Field(
        "all",
        alias="FRONTDESK_ROLE",
        description="`accept`: take messages, serve pages; `work`: answer. Both need PostgreSQL.",
    )
    concurrency: int = Field(
        16,
        alias="FRONTDESK_CONCURRENCY",
        ge=1,
        le=1000,
        description="Questions answered at the same time, per process.",
    )
    waiting: int = Field(
        2000,
        alias="FRONTDESK_WAITING",
        ge=1,
        description="Questions that may wait, per process; more are refused.",
    )
    arriving: int = Field(
        200, alias="FRONTDESK_ARRIVING", ge=1, description="Messages that may wait to be stored."
    )
    longest_wait_minutes: int = Field(
        60,
        alias="FRONTDESK_LONGEST_WAIT_MINUTES",
        ge=0,
        description="Minutes after which a waiting question goes to people; 0: never.",
    )
    ui_language: Literal["en", "de", "browser"] = Field(
        "en", description="Language of web pages, Slack and Teams; `browser`: each browser's own."
    )
    retention_days: int = Field(
        365,
        ge=0,
        description="Days after which questions and answers are deleted; 0: never.",
    )

    # Answering
    top_k: int = Field(5, alias="RAG_TOP_K", ge=1, le=20, description="Passages without a model.")
    model_top_k: int = Field(
        12,
        alias="RAG_MODEL_TOP_K",
        ge=1,
        le=40,
        description="Passages given to a model for an answer, up to 4,000 tokens in total.",
    )
    search: Literal["single", "planned"] = Field(
        "single",
        description="`planned`: the model may search up to three more times, in its own words.",
    )
    similarity_floor: float = Field(
        0.2,
        alias="RAG_SIMILARITY_FLOOR",
        ge=-1,
        le=1,
        allow_inf_nan=False,
        description="Minimum cosine similarity of a passage that shares no word with the question.",
    )
    spelling: bool = Field(
        default=True, alias="RAG_SPELLING", description="Correct mistyped words in questions."
    )
    answer_cache: bool = Field(
        default=False,
        description="Reuse an answer of the same day if question and permissions are the same.",
    )
    answer_cache_hours: int = Field(
        24, ge=1, le=24, description="Hours for which an answer is reused."
    )
    confidence_threshold: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Minimum probability of a sure answer; below it, the answer is marked as "
        "unsure or a person is asked. A certificate overrides it; default: from training, or 0.65.",
    )
    escalation_message: str = Field(
        ESCALATION, pattern=r"\S", description="Reply if no answer is sure enough."
    )
    not_found_message: str = Field(
        NOT_FOUND, pattern=r"\S", description="Reply if nothing was found."
    )
    router: Literal["cascade", "llm"] = Field(
        "cascade", description="How messages are classified; `llm`: only by the model."
    )

    # Limits
    rate_per_user_per_minute: int = Field(
        10, ge=0, description="Messages of one person within 60 seconds; 0: no limit."
    )
    rate_per_channel_per_minute: int = Field(
        60, ge=0, description="Messages in one channel within 60 seconds; 0: no limit."
    )
    model_tokens_per_day: int = Field(
        0, ge=0, description="Tokens (in and out) of all model calls in a UTC day; 0: no limit."
    )
    model_usd_per_day: float = Field(
        0.0,
        ge=0,
        allow_inf_nan=False,
        description="US dollars of all model calls with known prices in a UTC day; 0: no limit.",
    )
    model_tokens_per_user_per_day: int = Field(
        0, ge=0, description="Tokens (in and out) for one person in a UTC day; 0: no limit."
    )

    # Slack
    slack_bot_token: SecretStr | None = Field(
        None, description="Slack's bot token (xoxb-…), from OAuth & Permissions."
    )
    slack_signing_secret: SecretStr | None = Field(
        None, description="Signing secret, from Basic Information; for events over HTTP."
    )
    slack_app_token: SecretStr | None = Field(
        None,
        description="Slack's app-level token (xapp-…), for Socket Mode, without a public address.",
    )
    slack_api_url: str = Field(
        "https://slack.com/api/", pattern=r"^https?://[^\s/]+", description="For tests and proxies."
    )
    slack_team_id: str | None = Field(
        None,
        pattern=r"^[TE][A-Z0-9]+$",
        description="The workspace (T…) or organisation (E…) that is served; unset: the token's.",
    )
    slack_escalation_channel: str | None = Field(None, description="Channel where experts answer.")
    slack_second_level_channel: str | None = Field(
        None, description="Channel for questions that have been unclaimed for a long time."
    )
    slack_allowed_domains: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Domains of colleagues' e-mail addresses, separated by commas; unset: every "
        "full member of the workspace is a colleague.",
    )
    slack_outsider_spaces: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Spaces, separated by commas, for answers to guests and people of other "
        "companies, and to everybody in a channel that another company shares; unset: they get no "
        "answers.",
    )
    slack_outsiders: Literal["off", "answer"] | None = Field(
        None,
        description="No longer needed: `off` is the default without SLACK_OUTSIDER_SPACES; "
        "`answer` is refused at the start.",
    )
    slack_admins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Who may reindex and change settings in Slack, separated by commas: U… for a "
        "person, S… for a user group, or an e-mail address.",
    )

    # Teams
    microsoft_app_id: str | None = Field(
        None, description="Id of the Azure Bot registration, for Teams."
    )
    microsoft_app_password: SecretStr | None = Field(
        None, description="Client secret of the Azure Bot registration."
    )
    microsoft_app_type: Literal["SingleTenant", "UserAssignedMSI", "MultiTenant"] = Field(
        "SingleTenant", description="Type of the bot's registration."
    )
    microsoft_app_tenant_id: str | None = Field(
        None, description="The Entra tenant whose people are served."
    )
    teams_dev_mode: bool = Field(
        default=False,
        alias="TEAMS_DEV_MODE",
        description="Loopback only: accept unsigned activities, for the local playground.",
    )
    teams_escalation_channel: str | None = Field(
        None,
        pattern=r"^19:[^\s;]+$",
        description="Id (19:…) of the channel where experts answer, in a team that has the app.",
    )
    teams_second_level_channel: str | None = Field(
        None, description="Id (19:…) of the channel for long unclaimed questions."
    )
    teams_admins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Who may reindex and change settings in Teams, separated by commas: people's "
        "object ids or user principal names.",
    )
    teams_allowed_domains: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Domains of colleagues' user principal names, separated by commas; unset: "
        "every member of the Entra tenant is a colleague.",
    )
    teams_outsider_spaces: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Spaces, separated by commas, for answers to guests and people of other "
        "organisations, and to everybody where they read along; unset: they get no answers.",
    )
    teams_outsiders: Literal["off", "answer"] | None = Field(
        None,
        description="No longer needed: `off` is the default without TEAMS_OUTSIDER_SPACES; "
        "`answer` is refused at the start.",
    )
    teams_install_url: str | None = Field(
        None,
        pattern=r"^https://[^\s]+$",
        description="Link where colleagues add the app; unset: the address that Teams gives an app "
        "with MICROSOFT_APP_ID as its id.",
    )
    teams_sensitivity: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Page labels that mark an answer as sensitive, the most sensitive first, "
        "separated by commas: LABEL=What Teams shows.",
    )
    teams_service_url: str = Field(
        "https://smba.trafficmanager.net/teams/",
        pattern=r"^https?://[^\s]+$",
        description="Address of Teams until Teams sends its own.",
    )

    # Documents
    max_upload_mb: int = Field(
        20, ge=1, le=1000, description="Maximum size of an uploaded document, in megabytes."
    )
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s]+[^/]$",
        description="Address of this server for colleagues, who must then sign in; used in links.",
    )
    index_spaces: Annotated[frozenset[str] | None, NoDecode] = Field(
        None,
        alias="FRONTDESK_SPACES",
        description="Spaces to answer from, by comma; unset: all.",
    )

    # Signing in: docs/signing-in.md
    oidc_issuer: str | None = Field(
        None,
        pattern=r"^https?://[^\s?#]+$",
        description="OpenID Connect issuer for signing in; for Entra "
        "https://login.microsoftonline.com/TENANT-ID/v2.0",
    )
    oidc_client_id: str | None = Field(None, description="Frontdesk's client id there.")
    oidc_client_secret: SecretStr | None = Field(
        None, description="Its client secret; unset for a public client."
    )
    oidc_admin_groups: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Groups or app roles whose members are admins, separated by commas."
    )
    oidc_expert_groups: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Groups or app roles whose members are experts, separated by commas."
    )
    oidc_allowed_domains: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Comma-separated domains of verified addresses that may sign in; unset: all.",
    )
    oidc_recheck_minutes: int = Field(
        15,
        ge=1,
        le=15,
        description="Minutes after which a session's groups are checked with the issuer again.",
    )

    # More platforms
    adapters: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        alias="FRONTDESK_ADAPTERS",
        description="Packages of additional platforms, separated by commas (docs/adapters.md).",
    )

    @field_validator(
        "adapters",
        "index_spaces",
        "openai_channel_models",
        "rest_models",
        "pii_trusted_hosts",
        "oidc_admin_groups",
        "oidc_expert_groups",
        "oidc_allowed_domains",
        "slack_allowed_domains",
        "slack_admins",
        "slack_outsider_spaces",
        "teams_admins",
        "teams_allowed_domains",
        "teams_outsider_spaces",
        "teams_sensitivity",
        mode="before",
    )
    @classmethod
    def _split_list(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("teams_service_url")
    @classmethod
    def _end_with_slash(cls, value: str) -> str:
        """Paths are appended to it."""
        return f"{value.rstrip('/')}/"

    @field_validator("database_url", mode="before")
    @classmethod
    def _name_the_driver(cls, value: object) -> object:
        given = value.get_secret_value() if isinstance(value, SecretStr) else value
        return with_driver(given) if isinstance(given, str) else given

    @property
    def works(self) -> bool:
        """Whether this process answers, delivers and syncs; otherwise others do."""
        return self.role != "accept"

    @property
    def receives(self) -> bool:
        """Whether this process takes messages and serves pages; otherwise others do."""
        return self.role != "work"

    @property
    def loopback(self) -> bool:
        """Whether the server listens on the loopback interface only."""
        return self.host in {"127.0.0.1", "::1", "localhost"}

    @property
    def reachable(self) -> bool:
        """Whether other machines can reach the server, directly or through a proxy."""
        proxied = self.public_url is not None and not is_local_host(self.public_url)
        return proxied or not self.loopback

    @property
    def exposed(self) -> bool:
        """Whether others can send requests: reachable, or a platform is configured."""
        platforms = (
            self.slack_configured or self.microsoft_app_id is not None or bool(self.adapters)
        )
        return platforms or self.reachable

    @property
    def slack_configured(self) -> bool:
        reached = self.slack_signing_secret is not None or self.slack_app_token is not None
        return self.slack_bot_token is not None and reached

    @property
    def slack_transport(self) -> Literal["socket", "http"]:
        """How Slack's events are received."""
        return "http" if self.slack_app_token is None else "socket"

    @property
    def teams_configured(self) -> bool:
        return self.microsoft_app_id is not None or self.teams_dev_mode
