"""A Pigeon that runs here, and what its people see."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.domain.ports import Inbox, Notes
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.store.database import Store
from tests.contract.platforms.driver import (
    Client,
    Hands,
    Missing,
    Platform,
    Question,
    Receipt,
    Vote,
)
from tests.contract.platforms.example_platform.adapter import (
    LONGEST_NOTE,
    PATH,
    PigeonChannel,
    PigeonSettings,
    mount,
)
from tests.fakes.chat_context import chat_context_over

SECRET = "coo"
ALICE = "alice"
PEOPLE = "people"
_LIVE = re.compile(r"\[\[(?!https://wiki\.example\.com/)|@\w")
_RECEIPTS: dict[int, Receipt] = {200: "kept", 503: "send it again"}


@dataclass(frozen=True)
class Note:
    """A note as it hangs in a room."""

    id: str
    room: str
    thread: str
    text: str
    mark: str
    only_for: str | None
    thumbs: bool


@dataclass
class FakePigeon:
    """All rooms."""

    notes: list[Note] = field(default_factory=list)
    url: str = ""
    loses_answer: bool = False
    _posted: int = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakePigeon]:
        app = web.Application()
        app.router.add_post("/rooms/{room}/notes", self._post)
        app.router.add_get("/rooms/{room}/notes", self._find)
        app.router.add_delete("/rooms/{room}/notes", self._delete)
        async with TestServer(app, host="127.0.0.1") as server:
            self.url = str(server.make_url("/"))
            yield self

    async def _post(self, request: web.Request) -> web.Response:
        given = await request.json()
        if request.headers["Authorization"] != f"Bearer {SECRET}":
            return web.Response(status=401)
        if not 0 < len(given["text"]) <= LONGEST_NOTE:
            return web.Response(status=400)
        self._posted += 1
        note = Note(
            id=f"note-{self._posted}",
            room=request.match_info["room"],
            thread=given["thread"],
            text=given["text"],
            mark=given["mark"],
            only_for=given.get("for"),
            thumbs=given.get("thumbs", False),
        )
        self.notes.append(note)
        if self.loses_answer:
            self.loses_answer = False
            return web.Response(status=504)
        return web.json_response({"id": note.id})

    async def _find(self, request: web.Request) -> web.Response:
        wanted = request.match_info["room"], request.query["mark"]
        found = [note.id for note in self.notes if (note.room, note.mark) == wanted]
        return web.json_response({"ids": found})

    async def _delete(self, request: web.Request) -> web.Response:
        room, mark = request.match_info["room"], request.query["marked"]
        gone = [note for note in self.notes if note.room == room and note.mark.startswith(mark)]
        self.notes = [note for note in self.notes if note not in gone]
        return web.json_response({"ids": [note.id for note in gone]})


class OnPigeon:
    """Implements Platform."""

    client: Client

    def __init__(self, pigeon: FakePigeon, directory: Path) -> None:
        self._pigeon = pigeon
        self.settings: Settings = load_settings(_env_file=None, data_dir=directory)
        self.channel = self.another_channel()
        self.hands = Hands()

    def another_channel(self) -> PigeonChannel:
        settings = PigeonSettings(url=self._pigeon.url, secret=SECRET, people=PEOPLE)
        return PigeonChannel(settings)

    def mount(self, app: web.Application, inbox: Inbox, store: Store) -> None:
        mount(app, self.channel, chat_context_over(store, inbox))

    async def ask(self, question: Question) -> Receipt:
        if not question.plain:
            raise Missing
        return _RECEIPTS[await self._report("asked", question)]

    async def edit(self, question: Question, text: str) -> None:
        await self._report("edited", replace(question, text=text))

    async def delete(self, question: Question) -> None:
        await self._report("deleted", question)

    async def vote(self, question: Question, vote: Vote) -> None:
        note = self._notes(question)[-1].id
        assert await self._report("judged", question, thumb=vote, note=note) == 200

    async def unvote(self, question: Question, vote: Vote) -> None:
        note = self._notes(question)[-1].id
        assert await self._report("judged", question, thumb=None, note=note) == 200

    async def can_vote(self, question: Question) -> bool:
        return self._notes(question)[-1].thumbs

    async def seen(self, question: Question) -> Sequence[str]:
        return [_read(note) for note in self._notes(question) if note.only_for is None]

    async def messages(self, question: Question) -> int:
        return len(await self.seen(question))

    async def kinds(self, question: Question) -> frozenset[str]:
        del question
        raise Missing

    async def privately(self, question: Question) -> Sequence[str]:
        return [_read(note) for note in self._notes(question) if note.only_for == ALICE]

    async def live(self, question: Question) -> Sequence[str]:
        return [found for note in self._pigeon.notes for found in _LIVE.findall(note.text)]

    async def people(self) -> Sequence[str]:
        return [_read(note) for note in self._pigeon.notes if note.room == PEOPLE]

    def lose_answer(self) -> None:
        self._pigeon.loses_answer = True

    async def marked(self, question: Question) -> str:
        raise Missing

    def _notes(self, question: Question) -> Sequence[Note]:
        thread = f"thread-{question.thread}"
        return [note for note in self._pigeon.notes if note.thread == thread]

    async def _report(self, kind: str, question: Question, **more: Any) -> int:  # noqa: ANN401 - JSON
        event = {
            "kind": kind,
            "id": f"message-{question.number}",
            "room": "alice" if question.private else "help",
            "thread": f"thread-{question.thread}",
            "person": ALICE,
            "text": question.text,
            "private": question.private,
            **more,
        }
        headers = {"X-Pigeon-Secret": SECRET}
        async with self.client.post(PATH, json=event, headers=headers) as response:
            return response.status


def _read(note: Note) -> str:
    return note.text.replace("\u200b", "")


@asynccontextmanager
async def on_pigeon(directory: Path, _: Notes) -> AsyncIterator[Platform]:
    async with FakePigeon().serving() as pigeon:
        yield OnPigeon(pigeon, directory)
