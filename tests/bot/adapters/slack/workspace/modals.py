"""Opening and changing modals."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.bot.adapters.slack.exchange import error, ok
from tests.bot.adapters.slack.workspace.state import Workspace
from tests.bot.adapters.slack.workspace.views import View, view_problem


def open_view(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    return _shown(slack, arguments, pushed=False)


def push_view(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    return _shown(slack, arguments, pushed=True)


def update_view(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    view = _found(slack, arguments)
    if view is None:
        return error("not_found")
    if arguments.get("hash") not in {None, "", view.hash}:
        return error("hash_conflict")
    wrong = view_problem(arguments["view"])
    if wrong:
        return error("invalid_arguments", wrong)
    view.change(arguments["view"])
    return ok(view=view.told())


def _shown(slack: Workspace, arguments: dict[str, Any], *, pushed: bool) -> web.Response:
    wrong = view_problem(arguments["view"])
    if wrong:
        return error("invalid_arguments", wrong)
    ticket = slack.tickets.redeem(str(arguments["trigger_id"]))
    if isinstance(ticket, str):
        return error(ticket)
    below = _by_id(slack, ticket.view_id or "") if pushed else None
    if pushed and below is None:
        return error("not_found")
    return ok(view=show(slack, ticket.user, arguments["view"], below).told())


def show(slack: Workspace, user: str, payload: dict[str, Any], below: View | None = None) -> View:
    """Put a view before a person."""
    view = View(f"V{slack.next_ts().replace('.', '')}", user, payload, below=below)
    slack.open_views.append(view)
    return view


def _found(slack: Workspace, arguments: dict[str, Any]) -> View | None:
    external = arguments.get("external_id")
    if not external:
        return _by_id(slack, str(arguments.get("view_id", "")))
    views = (v for v in slack.open_views if v.payload.get("external_id") == external)
    return next(views, None)


def _by_id(slack: Workspace, view_id: str) -> View | None:
    return next((view for view in slack.open_views if view.id == view_id), None)


METHODS = {"views.open": open_view, "views.push": push_view, "views.update": update_view}
