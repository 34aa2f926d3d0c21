"""Settings of what is learned from use: gaps and figures."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from bot.domain.model_settings import LanguageModelSettings


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
    time_zone: str = Field(
        "UTC",
        description="Where the days of figures begin, and whose clock the digest follows, such as "
        "`Europe/Berlin`.",
    )

    @field_validator("time_zone")
    @classmethod
    def _know_the_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ValueError, OSError) as error:
            raise ValueError(
                "is no time zone that this system knows. Write one such as Europe/Berlin or UTC."
            ) from error
        return value

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)
