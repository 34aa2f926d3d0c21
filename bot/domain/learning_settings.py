"""Settings of learning from use: gaps, answers by people, corrections, figures, digest, webhook."""

from __future__ import annotations

from typing import Literal, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, field_validator

from bot.domain.model_settings import LanguageModelSettings

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class LearningSettings(LanguageModelSettings):
    """What is counted, asked again and told; docs/learning.md."""

    gap_questions_per_night: int = Field(
        200,
        ge=0,
        description="Number of unanswered questions that are tried again each night, to close gaps "
        "that the wiki has filled; 0: none.",
    )
    learning_hour: int = Field(
        2, ge=0, le=23, description="Hour (UTC) from which the nightly work starts."
    )
    answer_days: int = Field(
        180, ge=1, le=3650, description="Days after which a person's answer must be reviewed again."
    )
    answers_signed: str = Field(
        "", max_length=60, description="Team named on answers by people; unset: the expert."
    )
    review_by_second: bool = Field(
        default=False, description="Answers must be approved by somebody other than their author."
    )
    corrections_per_day: int = Field(
        500,
        ge=0,
        description="Maximum number of posted answers corrected in 24 hours because a quote is "
        "gone from its page; 0: none.",
    )
    corrections_per_page_hourly: int = Field(
        50, ge=1, description="Maximum number of such corrections per hour because of one page."
    )
    time_zone: str = Field(
        "UTC",
        description="Time zone of figures by day and of the digest, such as `Europe/Berlin`.",
    )

    digest_day: Weekday = Field("monday", description="Day on which the weekly digest is sent.")
    digest_hour: int = Field(8, ge=0, le=23, description="Hour at which it is sent, in TIME_ZONE.")
    smtp_url: SecretStr | None = Field(
        None,
        description="Mail server for digests: `smtps://USER:PASSWORD@HOST:465`, or "
        "`smtp://USER:PASSWORD@HOST:587`, which must offer STARTTLS; unset: no mail is sent.",
    )
    smtp_from: str | None = Field(
        None, pattern=r"^[^@\s]+@[^@\s]+$", description="Sender's address of these mails."
    )

    # A webhook for ticket systems: docs/webhooks.md
    case_webhook_url: SecretStr | None = Field(
        None,
        description="Address that receives each step of an escalation: https://…; http:// only on "
        "this machine.",
    )
    case_webhook_secret: SecretStr | None = Field(
        None, description="Secret for signing these requests: whsec_ and 24 to 64 bytes in base64."
    )

    # Reminders of cases
    escalation_ping_minutes: int = Field(
        30,
        ge=0,
        le=10_080,
        description="Minutes after which experts are reminded of an unclaimed question; 0: never.",
    )
    escalation_pings: int = Field(
        3, ge=0, le=100, description="Maximum number of reminders per question."
    )
    escalation_second_level_minutes: int = Field(
        0,
        ge=0,
        le=10_080,
        description="Minutes after which an unclaimed question is also posted in "
        "`SLACK_SECOND_LEVEL_CHANNEL` and `TEAMS_SECOND_LEVEL_CHANNEL`; 0: never.",
    )
    escalation_join_days: int = Field(
        7,
        ge=0,
        le=90,
        description="Days in which the same question, asked by several, is one case; similar ones "
        "are suggested on the board. 0: every question is its own case.",
    )

    @field_validator("smtp_url")
    @classmethod
    def _know_the_mail_server(cls, value: SecretStr | None) -> SecretStr | None:
        url = urlsplit(value.get_secret_value()) if value else None
        if url is not None and (url.scheme not in {"smtp", "smtps"} or not url.hostname):
            raise ValueError(
                "write smtps://USER:PASSWORD@HOST:465 or smtp://USER:PASSWORD@HOST:587"
            )
        return value

    @field_validator("time_zone")
    @classmethod
    def _know_the_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(
                "no such zone is known here; write one such as Europe/Berlin"
            ) from error
        return value

    @property
    def digest_weekday(self) -> int:
        """The digest's day of the week; Monday is 0."""
        return get_args(Weekday).index(self.digest_day)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)
