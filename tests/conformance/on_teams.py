"""Teams as the people of a channel see it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from bot.adapters import teams
from bot.adapters.teams.calling.cloud import Cloud
from bot.config import Settings, load_settings
from bot.ports import Inbox
from bot.store import Store
from tests.bot.adapters.teams import activities
from tests.bot.adapters.teams.server import (
    APP_ID,
    ENTRA,
    ISSUER,
    CountingCredentials,
    FakeTeams,
    Sent,
)
from tests.bot.adapters.teams.tenant import names
from tests.bot.offices import office_over
from tests.conformance.platforms import Client, Missing, Platform, Question, Receipt, Vote

_LIVE = re.compile(r"<[!@#a-z]|\]\((?!https://wiki\.example\.com/)|(?<!`)https?://evil")
_RECEIPTS: dict[int, Receipt] = {200: "kept", 503: "send it again"}
_REACTIONS: Mapping[Vote, str] = {"up": "like", "down": "dislike"}


class OnTeams:
    """Implements Platform."""

    client: Client

    def __init__(self, tenant: FakeTeams, directory: Path) -> None:
        self._tenant = tenant
        self.settings: Settings = load_settings(
            _env_file=None,
            data_dir=directory,
            microsoft_app_id=APP_ID,
            microsoft_app_password="secret",
            microsoft_app_tenant_id=ENTRA,
            teams_escalation_channel=names.PEOPLE,
            teams_service_url=f"{tenant.url}/",
        )
        self.channel: teams.TeamsChannel = self.another_channel()

    def another_channel(self) -> teams.TeamsChannel:
        cloud = Cloud(issuer=ISSUER, metadata_url=f"{self._tenant.url}/meta")
        return teams.connect(self.settings, cloud=cloud, credentials=CountingCredentials())

    def mount(self, app: web.Application, inbox: Inbox, store: Store) -> None:
        teams.mount(app, self.channel, office_over(store, inbox))

    async def ask(self, question: Question) -> Receipt:
        return _RECEIPTS[await self._send(self._activity(question))]

    async def edit(self, question: Question, text: str) -> None:
        changed = Question(text, question.number, question.thread, question.private)
        await self._send(self._changed(changed, "messageUpdate", "editMessage"))

    async def delete(self, question: Question) -> None:
        gone = Question("", question.number, question.thread, question.private)
        await self._send(self._changed(gone, "messageDelete", "softDeleteMessage"))

    async def vote(self, question: Question, vote: Vote) -> None:
        reply = self._last(question)
        value = {"reaction": _REACTIONS[vote], "feedback": '{"feedbackText": ""}'}
        await self._send(
            {
                **self._activity(question),
                "type": "invoke",
                "name": "message/submitAction",
                "id": f"f:{vote}",
                "replyToId": reply.id,
                "value": {"actionName": "feedback", "actionValue": value},
            }
        )

    async def unvote(self, question: Question, vote: Vote) -> None:
        raise Missing

    async def can_vote(self, question: Question) -> bool:
        return "feedbackLoop" in self._last(question).activity.get("channelData", {})

    async def seen(self, question: Question) -> Sequence[str]:
        shown = [sent.shown for sent in self._posts(question)]
        return [text.replace("&lt;", "<").replace("&amp;", "&") for text in shown]

    async def privately(self, question: Question) -> Sequence[str]:
        raise Missing

    async def live(self, question: Question) -> Sequence[str]:
        texts = [str(sent.activity["text"]) for sent in self._posts(question)]
        return _LIVE.findall("\n".join(texts))

    async def people(self) -> Sequence[str]:
        return [sent.shown for sent in self._tenant.posts_in(names.PEOPLE)]

    def _activity(self, question: Question) -> dict[str, Any]:
        name = {"id": _name(question.number)}
        if question.private:
            return activities.in_person(self._tenant, question.text, **name)
        asked = activities.in_channel(self._tenant, f"<at>Help</at> {question.text}", **name)
        thread = f"{activities.CHANNEL};messageid={_name(question.thread)}"
        return {**asked, "conversation": {**asked["conversation"], "id": thread}}

    def _changed(self, question: Question, kind: str, event: str) -> dict[str, Any]:
        activity = self._activity(question)
        told = {**activity["channelData"], "eventType": event}
        return {**activity, "type": kind, "channelData": told}

    def _posts(self, question: Question) -> Sequence[Sent]:
        thread = self._activity(question)["conversation"]["id"]
        return [sent for sent in self._tenant.messages if sent.conversation == thread]

    def _last(self, question: Question) -> Sent:
        return self._posts(question)[-1]

    async def _send(self, activity: dict[str, Any]) -> int:
        return (await activities.send(self.client, self._tenant, activity)).status


def _name(number: int) -> str:
    """The first message of a thread has the thread's number."""
    return f"17000000000{number:02d}"


@cache
def _key() -> RSAPrivateKey:
    """Made once: it takes longer than a case."""
    return generate_private_key(public_exponent=65537, key_size=2048)


@asynccontextmanager
async def on_teams(directory: Path) -> AsyncIterator[Platform]:
    async with FakeTeams(keys={"k1": _key()}).serving() as tenant:
        yield OnTeams(tenant, directory)
