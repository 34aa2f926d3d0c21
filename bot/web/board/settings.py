"""Board page of settings with meaning, value and source; the pause; and the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aiohttp import web
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from bot.chat.commands.channel_settings import policy_in_words
from bot.domain.record_reports import PolicyRecord
from bot.domain.settings import Settings
from bot.domain.settings_loading import SettingOrigin, variable
from bot.domain.texts import tr
from bot.domain.users import short_actor_name
from bot.learning.case_webhook import CaseEvents, endpoint_of, replay_events
from bot.observability.logs import mask_credentials
from bot.store.key_values import StoredAudits, StoredPauses, StoredPolicies
from bot.web.auth.demo import display_names
from bot.web.auth.identity import require_role
from bot.web.board.audit_log import act_view
from bot.web.board.layout import audit_name, render_page
from bot.web.problems import problem

PATH = "/board/settings"
MAX_REASON_LENGTH = 300
ACTS_SHOWN = 50

_SOURCES: Mapping[SettingOrigin, str] = {
    "environment": tr("environment"),
    ".env": ".env",
    "command": tr("start command"),
    "default": tr("default"),
}

_NOT_SET = tr("not set")


@dataclass(frozen=True, slots=True)
class ChannelView:
    """A channel with its own policy; ``policy`` lists every field with its effective value."""

    channel: str
    policy: Sequence[tuple[str, str]]
    who: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SettingView:
    """A setting as shown; for a secret only whether it is set."""

    variable: str
    meaning: str
    value: str
    source: str
    own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPage:
    """Handlers that show the settings, pause and resume.

    ``sources`` has the origin of each field. ``further`` are settings besides this server's own,
    such as ingestion's, and are shown after them.
    """

    settings: Settings
    sources: Mapping[str, SettingOrigin]
    pauses: StoredPauses
    acts: StoredAudits
    policies: StoredPolicies
    events: CaseEvents
    further: Sequence[BaseSettings] = ()

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        router = app.router
        router.add_get(PATH, self.page)
        router.add_post(f"{PATH}/pause", self.pause)
        router.add_post(f"{PATH}/resume", self.resume)
        router.add_post(f"{PATH}/webhook", self.replay)

    async def page(self, request: web.Request) -> web.Response:
        """Show the settings, and the acts before the number in the query string."""
        require_role(request, "admin")
        return await self._render(request)

    async def pause(self, request: web.Request) -> web.Response:
        """Pause answering, with a reason that is shown to everyone who asks."""
        person = require_role(request, "admin")
        reason = " ".join(str((await request.post()).get("reason", "")).split())
        wrong = _reason_error(reason)
        if wrong:
            return await self._render(request, status=422, wrong=wrong, reason=reason)
        await self.pauses.pause(self.settings.tenant, reason, f"board:{audit_name(person)}")
        raise web.HTTPSeeOther(PATH)

    async def resume(self, request: web.Request) -> web.Response:
        """Resume answering; idempotent."""
        person = require_role(request, "admin")
        await self.pauses.resume(self.settings.tenant, f"board:{audit_name(person)}")
        raise web.HTTPSeeOther(PATH)

    async def replay(self, request: web.Request) -> web.Response:
        """Queue the webhook's events since a time once more."""
        person = require_role(request, "admin")
        since = _time(str((await request.post()).get("since", "")))
        actor = f"board:{audit_name(person)}"
        await replay_events(self.events, self.acts, self.settings.tenant, since, actor)
        raise web.HTTPSeeOther(f"{PATH}#webhook")

    async def _render(
        self, request: web.Request, *, status: int = 200, wrong: str = "", reason: str = ""
    ) -> web.Response:
        names = display_names(request)
        views = setting_views((self.settings, *self.further), self.sources)
        acts = await self.acts.newest(self.settings.tenant, ACTS_SHOWN + 1, _before(request))
        paused = await self.pauses.current(self.settings.tenant)
        channels = await self.policies.all(self.settings.tenant)
        endpoint = endpoint_of(self.settings)
        context = {
            "webhook": endpoint.host if endpoint else "",
            "events": await self.events.counts(self.settings.tenant) if endpoint else None,
            "own": [each for each in views if each.own],
            "defaults": [each for each in views if not each.own],
            "channels": [_channel(each, names) for each in channels],
            "paused": paused,
            "paused_by": short_actor_name(paused.by, names) if paused else "",
            "longest": MAX_REASON_LENGTH,
            "wrong": wrong,
            "reason": reason,
            "acts": [act_view(each, names) for each in acts[:ACTS_SHOWN]],
            "older": acts[ACTS_SHOWN - 1].number if len(acts) > ACTS_SHOWN else None,
        }
        response = render_page(request, "board/settings.html", context, role="admin")
        response.set_status(status)
        return response


def setting_views(
    read: Sequence[BaseSettings], sources: Mapping[str, SettingOrigin]
) -> Sequence[SettingView]:
    """Return every setting once, in order, secrets without their value."""
    views: dict[str, SettingView] = {}
    for settings in read:
        for name, field in type(settings).model_fields.items():
            value, source = getattr(settings, name), sources.get(name)
            for view in _field_views(name, field, value, source):
                views.setdefault(view.variable, view)
    return list(views.values())


def _field_views(
    name: str, field: FieldInfo, value: object, source: SettingOrigin | None
) -> Iterator[SettingView]:
    """Yield a field's view; of the named models each set variable of each model, else none."""
    if not isinstance(value, Mapping):
        yield _view(name, field, value, source)
        return
    for model, given in value.items():
        for own in sorted(given.model_fields_set):
            inner = type(given).model_fields[own]
            yield _view(f"{name}__{model}__{own}", inner, getattr(given, own), source)


def _view(name: str, field: FieldInfo, value: object, source: SettingOrigin | None) -> SettingView:
    return SettingView(
        variable=variable(name, field),
        meaning=field.description or "",
        value=_shown_value(value, field),
        source=tr("unknown") if source is None else _SOURCES[source],
        own=source != "default",
    )


def _shown_value(value: object, field: FieldInfo) -> str:
    if isinstance(value, SecretStr) or "SecretStr" in str(field.annotation):
        return _NOT_SET if value is None else tr("set")
    match value:
        case None:
            return _NOT_SET
        case bool():
            return str(value).lower()
        case tuple() | frozenset():
            return ", ".join(sorted(map(str, value))) or tr("none")
        case _:
            # A URL may contain a password.
            return mask_credentials(str(value))


def _channel(kept: PolicyRecord, names: Mapping[str, str]) -> ChannelView:
    who = short_actor_name(kept.changed_by, names)
    return ChannelView(kept.channel, policy_in_words(kept.policy), who, kept.changed_at)


def _reason_error(reason: str) -> str:
    if not reason:
        return tr("Enter a reason. It is shown to everyone who asks.")
    if len(reason) > MAX_REASON_LENGTH:
        return tr(
            "The reason has {length} characters. The maximum is {most}.",
            length=len(reason),
            most=MAX_REASON_LENGTH,
        )
    return ""


def _time(given: str) -> datetime:
    """Return the time in a form's field, in UTC. Raises Problem (422)."""
    try:
        return datetime.fromisoformat(given).replace(tzinfo=UTC)
    except ValueError as error:
        raise problem(
            422, tr("This is not a valid time."), cure=tr("Enter it like 2026-11-20T14:00.")
        ) from error


def _before(request: web.Request) -> int | None:
    asked = request.query.get("before", "")
    # A number with fewer digits than 2**63 fits into a BIGINT column.
    return int(asked) if asked.isdecimal() and len(asked) < len(str(2**63)) else None
