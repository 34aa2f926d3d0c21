"""Board page of personal data: export or forget a person, and what leaves this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aiohttp import web

from bot.domain.errors import SettingInvalid
from bot.domain.personal_data import PersonSummary
from bot.domain.settings import Settings
from bot.domain.texts import tr
from bot.observability.data_flows import data_flows
from bot.store.personal_data import PersonalData
from bot.web.auth.identity import require_role
from bot.web.board.layout import MAX_FIELD_LENGTH, audit_name, render_page
from bot.web.problems import problem
from ingestion.config import Settings as IngestionSettings

PATH = "/board/personal-data"
EXPORT_PATH = f"{PATH}/export"
FORGET_PATH = f"{PATH}/forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalDataPage:
    """Handlers of the page, for admins alone.

    ``hurry`` has the job that forgets persons called now. ``ingestion``: None if no wiki is read.
    """

    personal: PersonalData
    hurry: Callable[[], None]
    settings: Settings
    ingestion: IngestionSettings | None = None

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.page)
        app.router.add_post(EXPORT_PATH, self.export)
        app.router.add_post(FORGET_PATH, self.forget)

    async def page(self, request: web.Request) -> web.Response:
        """Show what is kept about the person asked for, open requests, and where data goes."""
        require_role(request, "admin")
        identity = request.query.get("person", "").strip()[:MAX_FIELD_LENGTH]
        summary = await self._summary(identity) if identity else None
        forgetting = self.personal.store.forgetting
        context = {
            "identity": identity,
            "summary": summary,
            "known": sorted(summary.keys.ids | summary.keys.emails) if summary else [],
            "requests": await forgetting.open_requests(self.personal.tenant),
            "flows": data_flows(self.settings, self.ingestion),
        }
        return render_page(request, "board/personal_data.html", context, role="admin")

    async def export(self, request: web.Request) -> web.Response:
        """Return all that is kept about a person, as a file."""
        identity, by = await self._order(request)
        await self._summary(identity)
        return _json_download(await self.personal.export([identity], by))

    async def forget(self, request: web.Request) -> web.Response:
        """Have a person forgotten."""
        identity, by = await self._order(request)
        if not (await self._summary(identity)).total:
            raise problem(404, tr("Nothing is stored about “{identity}”.", identity=identity))
        await self.personal.request([identity], by)
        self.hurry()
        raise web.HTTPSeeOther(PATH)

    async def _order(self, request: web.Request) -> tuple[str, str]:
        """Return whom a form is about, and who sent it."""
        admin = require_role(request, "admin")
        identity = str((await request.post()).get("person", "")).strip()[:MAX_FIELD_LENGTH]
        if not identity:
            raise problem(422, tr("Enter a user id or an email address."))
        return identity, f"board:{audit_name(admin)}"

    async def _summary(self, identity: str) -> PersonSummary:
        try:
            return await self.personal.summary([identity])
        except SettingInvalid as error:
            raise problem(422, str(error)) from error


def _json_download(exported: Mapping[str, object]) -> web.Response:
    """Return an export as a file that the browser saves."""
    text = json.dumps(exported, ensure_ascii=False, indent=2)
    disposition = 'attachment; filename="frontdesk-export.json"'
    return web.json_response(text=text, headers={"Content-Disposition": disposition})
