"""The frame of the board: its sections, and who may open them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp_jinja2
from aiohttp import web

from bot.adapters.board.trouble import told_as_page
from bot.domain.users import ROLES, Role
from bot.doors.demo import names_of
from bot.doors.identity import needs, role_of
from bot.pages.frame import add_pages

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the board, and the least role that may open it."""

    name: str
    path: str
    role: Role = "expert"


SECTIONS = (
    Section("Overview", "/board"),
    Section("Escalations", "/board/escalations"),
    Section("Questions", "/board/questions"),
    Section("Feedback", "/board/feedback"),
    Section("Documents", "/board/documents"),
    Section("Usage", "/board/usage"),
    Section("Parts", "/board/parts"),
    Section("Settings", "/board/settings", "admin"),
)


def mount_frame(app: web.Application) -> None:
    """Add the board's templates and static files; call it once, before its sections."""
    add_pages(app, HERE)
    app.middlewares.append(told_as_page)


def show(
    request: web.Request, template: str, context: Mapping[str, object], *, role: Role = "expert"
) -> web.Response:
    """Render a template of the board for those with a role. Raises Problem (403)."""
    needs(request, role)
    mine = ROLES.index(role_of(request))
    sections = [each for each in SECTIONS if ROLES.index(each.role) <= mine]
    return aiohttp_jinja2.render_template(
        template,
        request,
        {
            "sections": sections,
            "here": _section_of(request.path),
            "names": names_of(request),
            **context,
        },
    )


def _section_of(path: str) -> str:
    """Return the path of the section that a page belongs to: the longest that begins it."""
    begun = [each.path for each in SECTIONS if f"{path}/".startswith(f"{each.path}/")]
    return max(begun, key=len, default="")
