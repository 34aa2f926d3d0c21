"""The page of the caller's cases: their questions that people have, and what they have taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import aiohttp_jinja2
from aiohttp import web

from bot.chat.commands.command_texts import space_lines
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.overview import NO_CASES, status_line, waiting_text
from bot.chat.commands.types import Admins, CommandCaller
from bot.domain.ports import Interactions
from bot.escalations.own_cases import CaseLine
from bot.web.auth.identity import person_of

PATH = "/cases"
_NO_ADMINS = Admins("")
"""Channels are set on the board, not here."""


@dataclass(frozen=True, slots=True)
class OwnCasesPage:
    """Handler of the page."""

    executor: CommandExecutor
    interactions: Interactions

    def mount(self, app: web.Application) -> None:
        """Add the route."""
        app.router.add_get(PATH, self.show)

    async def show(self, request: web.Request) -> web.Response:
        """Show the caller's cases, each with the way to where it was asked."""
        caller = CommandCaller(person_of(request), "web", _NO_ADMINS)
        overview, now = await self.executor.overview(caller), datetime.now(UTC)
        lists = [
            (title, [(await self._linked(each), status_line(each, now)) for each in cases])
            for title, cases in overview.lists
        ]
        waiting = overview.cases.waiting
        context = {
            "lists": lists,
            "nothing": NO_CASES,
            "waiting": "" if waiting is None else waiting_text(waiting),
            "spaces": list(space_lines(overview.spaces, now)),
        }
        return aiohttp_jinja2.render_template("web/cases.html", request, context)

    async def _linked(self, line: CaseLine) -> CaseLine:
        """Return a line with the way to its conversation, if it was asked here."""
        asked = None if line.link else await self.interactions.get(line.case_id)
        if asked is None or asked.message.thread.platform != "web":
            return line
        return replace(line, link=f"/c/{asked.message.thread.id}")
