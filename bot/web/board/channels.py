"""Board page of a channel: the spaces that it is answered from, and its report in shadow mode."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from aiohttp import web

from bot.chat.commands.channel_settings import (
    ALL_SPACES,
    LONGEST_NAME,
    ChannelSettingsForm,
    InvalidSettings,
    SubmittedSettings,
    build_form,
    current_values,
    read_form,
    spaces_in_words,
)
from bot.chat.documents import Documents
from bot.domain.messages import Policy
from bot.domain.ports import Policies
from bot.domain.settings import Settings
from bot.domain.texts import join_texts, tr
from bot.learning.shadow_mode import LIVE_MODES, DraftReview
from bot.web.auth.identity import require_role
from bot.web.board.layout import audit_name, render_page
from bot.web.board.settings import PATH as SETTINGS_PATH
from bot.web.problems import problem

PATH = f"{SETTINGS_PATH}/channel"

_CHANNEL = re.compile(r"[a-z][a-z0-9_-]*:[^\s\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPage:
    """Handlers that show and save a channel's spaces; the rest of its policy stays as it is.

    Saves of one process wait for each other: of two at once the later finds what the first saved.
    """

    settings: Settings
    policies: Policies
    documents: Documents
    drafts: DraftReview
    _one_save: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.page)
        app.router.add_post(PATH, self.save)
        app.router.add_post(f"{PATH}/live", self.go_live)

    async def page(self, request: web.Request) -> web.Response:
        """Show the spaces of the channel in the query string."""
        require_role(request, "admin")
        form = await self._form(_channel(request.query.get("channel", "")))
        return await self._render(request, form, sorted(form.policy.spaces or ()))

    async def go_live(self, request: web.Request) -> web.Response:
        """End a channel's shadow mode: the bot answers there from now on."""
        person = require_role(request, "admin")
        sent = await request.post()
        channel, mode = _channel(str(sent.get("channel", ""))), str(sent.get("mode", ""))
        live = next((each for each in LIVE_MODES if each == mode), None)
        if live is None:
            raise problem(
                422,
                tr("This is not a valid mode."),
                cure=tr("Choose one of {choices}.", choices=", ".join(LIVE_MODES)),
            )
        if not await self.drafts.go_live(channel, live, actor=f"board:{audit_name(person)}"):
            raise problem(409, tr("The channel is no longer in shadow mode."))
        raise web.HTTPSeeOther(f"{PATH}?{urlencode({'channel': channel})}")

    async def save(self, request: web.Request) -> web.Response:
        """Save the chosen spaces, unless they were changed since the form was shown."""
        person = require_role(request, "admin")
        sent = await request.post()
        channel = _channel(str(sent.get("channel", "")))
        chosen = [str(each) for each in sent.getall("spaces", [])]
        async with self._one_save:
            form = await self._form(channel)
            before = form.policy
            if sent.get("seen") != _seen(before):
                wrong = tr(
                    "Someone else has changed this in the meantime: answers now come from "
                    "{spaces}. Your selection below was not saved. Save it again if it is still "
                    "right.",
                    spaces=spaces_in_words(before),
                )
                return await self._render(request, form, chosen, status=409, wrong=wrong)
            read = read_form(_with_spaces(before, chosen), form)
            if isinstance(read, InvalidSettings):
                wrong = join_texts(" ", read.errors.values())
                return await self._render(request, form, chosen, status=422, wrong=wrong)
            # Without a choice an empty set stays one: to mean all spaces there would open them.
            after = before if not chosen and before.spaces == frozenset() else read
            if after != before:
                actor = f"board:{audit_name(person)}"
                await self.policies.set(self.settings.tenant, channel, after, actor=actor)
        raise web.HTTPSeeOther(f"{SETTINGS_PATH}#channels")

    async def _form(self, channel: str) -> ChannelSettingsForm:
        """Return the channel's settings, with the spaces that are served, whoever reads them."""
        settings = self.settings
        served = settings.index_spaces
        names = [each.name for each in await self.documents.spaces(None)]
        return build_form(
            channel,
            await self.policies.of(settings.tenant, channel) or Policy(),
            spaces=[name for name in names if served is None or name in served],
            models=[each.name for each in settings.further_models],
            usual=settings.openai_model,
        )

    async def _render(
        self,
        request: web.Request,
        form: ChannelSettingsForm,
        chosen: Sequence[str],
        *,
        status: int = 200,
        wrong: str = "",
    ) -> web.Response:
        context = {
            "channel": form.channel,
            "choices": form.spaces,
            "chosen": chosen,
            "now": spaces_in_words(form.policy),
            "seen": _seen(form.policy),
            "wrong": wrong,
            "report": await self.drafts.report(form.channel),
            "practises": form.policy.answers == "shadow",
            "reviewers": sorted(form.policy.reviewers),
        }
        response = render_page(request, "board/channel.html", context, role="admin")
        response.set_status(status)
        return response


def _channel(name: str) -> str:
    """Return the name of a channel (``platform:channel``). Raises Problem (422)."""
    name = name.strip()
    if len(name) <= LONGEST_NAME and _CHANNEL.fullmatch(name):
        return name
    raise problem(
        422,
        tr("This is not a valid channel."),
        cure=tr("Enter it like slack:C0123 or teams:19:abc@thread.tacv2."),
    )


def _seen(policy: Policy) -> str:
    """Return the spaces of a policy as the form carries them, to notice a change meanwhile."""
    return json.dumps(None if policy.spaces is None else sorted(policy.spaces))


def _with_spaces(policy: Policy, spaces: Sequence[str]) -> SubmittedSettings:
    return replace(current_values(policy), spaces=tuple(spaces) or (ALL_SPACES,))
