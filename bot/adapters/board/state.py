"""Mounts the pages that say how it goes: overview, usage, parts, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from aiohttp import web
from pydantic_settings import BaseSettings

from bot.adapters.board import overview, parts, usage
from bot.adapters.board import settings as setting
from bot.adapters.board.overview import CheckParts
from bot.adapters.board.settings import Acts, ChannelPolicies, Pauses
from bot.domain.record_reports import Statistics, SumsUsage
from bot.domain.settings import Settings
from bot.domain.settings_reference import SettingOrigin


class Record(Protocol):
    """What these pages read of the record."""

    @property
    def statistics(self) -> Statistics: ...

    @property
    def usage(self) -> SumsUsage: ...

    @property
    def pauses(self) -> Pauses: ...

    @property
    def audits(self) -> Acts: ...

    @property
    def policies(self) -> ChannelPolicies: ...


def mount_state(
    app: web.Application,
    *,
    record: Record,
    settings: Settings,
    sources: Mapping[str, SettingOrigin],
    check_parts: CheckParts,
    platforms: Sequence[object],
    further: Sequence[BaseSettings] = (),
) -> None:
    """Add the routes; the board's frame must be mounted.

    ``further`` are settings of what this server works with.
    """
    tenant, router = settings.tenant, app.router
    glance = overview.Overview(
        statistics=record.statistics, usage=record.usage, check_parts=check_parts, tenant=tenant
    )
    router.add_get(overview.PATH, glance.page)
    spent = usage.Usage(usage=record.usage, tenant=tenant)
    router.add_get(usage.PATH, spent.page)
    router.add_get(usage.CSV, spent.csv)
    seen = parts.PartsPage(check_parts=check_parts, platforms=platforms, settings=settings)
    router.add_get(parts.PATH, seen.page)
    router.add_post(parts.PATH, seen.check)
    shown = setting.SettingsPage(
        settings=settings,
        sources=sources,
        pauses=record.pauses,
        acts=record.audits,
        policies=record.policies,
        further=further,
    )
    router.add_get(setting.PATH, shown.page)
    router.add_post(f"{setting.PATH}/pause", shown.pause)
    router.add_post(f"{setting.PATH}/resume", shown.resume)
