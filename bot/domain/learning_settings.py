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
        description="Questions of gaps that are asked again each night, to see whether they are "
        "answered now; 0: none.",
    )
    learning_hour: int = Field(
        2, ge=0, le=23, description="Hour (UTC) from which what is done once a night is done."
    )
    answer_days: int = Field(
        180, ge=1, le=3650, description="Days after which a person's answer is looked at again."
    )
    answers_signed: str = Field(
        "", max_length=60, description="Team named on persons' answers; empty: the expert."
    )
    review_by_second: bool = Field(
        default=False, description="Nobody approves the answers that they wrote themselves."
    )
    corrections_per_day: int = Field(
        500,
        ge=0,
        description="Posted answers that are corrected within 24 hours because what they quote is "
        "gone from its page; 0: none are.",
    )
    corrections_per_page_hourly: int = Field(
        50, ge=1, description="Of these, those within an hour because of one page."
    )
    time_zone: str = Field(
        "UTC",
        description="Where the days of figures begin, and whose clock the digest follows, such as "
        "`Europe/Berlin`.",
    )

    digest_day: Weekday = Field("monday", description="Day on which the weekly digest is sent.")
    digest_hour: int = Field(8, ge=0, le=23, description="Hour of that day, in TIME_ZONE.")
    smtp_url: SecretStr | None = Field(
        None,
        description="Mail server that digests are sent with: `smtps://USER:PASSWORD@HOST:465`, or "
        "`smtp://USER:PASSWORD@HOST:587`, which has to offer STARTTLS; none: no mail is sent.",
    )
    smtp_from: str | None = Field(
        None, pattern=r"^[^@\s]+@[^@\s]+$", description="Sender's address of mails."
    )

    # A webhook for ticket systems: docs/webhooks.md
    case_webhook_url: SecretStr | None = Field(
        None,
        description="Where each step of a question that went to people is posted: https://…; "
        "http:// on this machine only.",
    )
    case_webhook_secret: SecretStr | None = Field(
        None, description="Signs what is posted there: whsec_ and 24 to 64 bytes in base64."
    )

    # Reminders of cases
    escalation_ping_minutes: int = Field(
        30,
        ge=0,
        le=10_080,
        description="People are reminded of a question that nobody has claimed for so long; "
        "0: never.",
    )
    escalation_pings: int = Field(
        3, ge=0, le=100, description="How often at most they are reminded of one."
    )
    escalation_second_level_minutes: int = Field(
        0,
        ge=0,
        le=10_080,
        description="A question that nobody has claimed for so long is put to the second level, in "
        "`SLACK_SECOND_LEVEL_CHANNEL` and `TEAMS_SECOND_LEVEL_CHANNEL`; 0: never.",
    )
    escalation_join_days: int = Field(
        7,
        ge=0,
        le=90,
        description="A question in the same words joins a case that waits, for so long after that "
        "was opened; similar ones are offered to a person. 0: each has a case of its own.",
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
