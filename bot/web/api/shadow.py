"""API of shadow mode: the report of a channel, without words of its questions; version 2 only."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web
from pydantic import Field

from bot.learning.shadow_mode import DraftCounts, DraftReview
from bot.web.api.admin_schemas import Queried
from bot.web.api.operations import ALWAYS_POSSIBLE, V2, Operation, parameters_of
from bot.web.api.part_schemas import Schema
from bot.web.api.requests import json_reply, query_of
from bot.web.auth.identity import require_role

_LONGEST_CHANNEL = 512


class ShadowChannel(Queried):
    """Which channel."""

    channel: str = Field(
        min_length=3, max_length=_LONGEST_CHANNEL, description="platform:channel, as slack:C0123"
    )


class ShadowCounts(Schema):
    """What would have been answered, and what reviewers said of it."""

    questions: int = Field(description="How many were asked; of a space, those with a draft.")
    drafts: int = Field(description="How many would have been answered.")
    right: int
    wrong: int
    share_right: float | None = Field(description="Of those judged; null without one.")
    at_least: float = Field(description="Lower bound of the share, with 95 %.")
    at_most: float = Field(description="Upper bound of the share, with 95 %.")


class Shadow(ShadowCounts):
    """The report of a channel."""

    channel: str
    spaces: dict[str, ShadowCounts] = Field(description="By the space of the first cited page.")


SHADOW_OPERATIONS = (
    Operation(
        "shadow",
        "GET",
        f"{V2}/shadow",
        "Report on a channel in shadow mode; for those who answer.",
        {200: Shadow},
        (*ALWAYS_POSSIBLE, 422),
        parameters=parameters_of(ShadowChannel),
    ),
)


@dataclass(frozen=True, slots=True)
class ShadowApi:
    """Handler of the report; it checks the role of its caller."""

    drafts: DraftReview

    async def report(self, request: web.Request) -> web.Response:
        """Return the report of a channel; all zeros where nothing was asked in shadow mode."""
        require_role(request, "expert")
        channel = query_of(request, ShadowChannel).channel
        found = await self.drafts.report(channel)
        spaces = {name: _counts(each) for name, each in found.spaces.items()}
        return json_reply(Shadow(**dict(_counts(found.all)), channel=channel, spaces=spaces))


def _counts(counts: DraftCounts) -> ShadowCounts:
    low, high = counts.interval
    return ShadowCounts(
        questions=counts.questions,
        drafts=counts.drafts,
        right=counts.right,
        wrong=counts.wrong,
        share_right=counts.share_right,
        at_least=low,
        at_most=high,
    )
