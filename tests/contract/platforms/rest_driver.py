"""The JSON API as a client sees it that shows text, sources and suggestions."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse, FormData, web

from bot.domain.health import ComponentStatus
from bot.domain.ports import Inbox, Notes
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.store.database import Store
from bot.web import api
from tests.contract.platforms.driver import (
    Client,
    Hands,
    Missing,
    Platform,
    Question,
    ReadPress,
    Receipt,
    Vote,
)
from tests.fakes.chat_context import ReadsEverything, documents_api, draft_review
from tests.fakes.http_server import answers_api, gaps_api, insights_api, record_api

_ASK_SECONDS = 0.3
"""Short, so that the cases in which the answer is awaited elsewhere do not last."""

_RECEIPTS: dict[int, Receipt] = {200: "kept", 504: "kept", 422: "refused", 503: "send it again"}
_DID = {
    "claim": "is working on your question",
    "reply": "replied:",
    "decline": "can't help with your question",
    "resolve": "closed your question",
    "ask_more": "would like to see",
}
_ANSWERS = {"Show them": "show_more", "No": "keep_more"}
_OPENABLE = re.compile(r"https?://|/pages/")


class OnRest:
    """Implements Platform: one client, a conversation for each thread."""

    client: Client
    channel = None

    def __init__(self, directory: Path) -> None:
        self.settings: Settings = load_settings(_env_file=None, data_dir=directory)
        self.hands = Hands(buttons=RestButtons(self))
        self._threads: dict[int, list[str]] = {}
        self._ids: dict[int, str] = {}
        self._problems: dict[int, str] = {}

    def another_channel(self) -> None:
        """Nothing is posted."""

    def mount(self, app: web.Application, inbox: Inbox, store: Store) -> None:
        async def parts() -> Sequence[ComponentStatus]:
            return ()

        api.mount(
            app,
            inbox=inbox,
            interactions=store.interactions,
            audits=store.audits,
            settings=self.settings,
            check_parts=parts,
            record=record_api(store),
            documents=documents_api(store.audits, self.settings.data_dir),
            gaps=gaps_api(store),
            answers=answers_api(store, self.settings.data_dir),
            insights=insights_api(store),
            shadow=api.ShadowApi(draft_review(store)),
            readable=ReadsEverything(),
            ask_seconds=_ASK_SECONDS,
        )

    async def ask(self, question: Question) -> Receipt:
        if not replace(question, files=()).plain:
            raise Missing
        response = await self._asked(question)
        told = await response.json()
        receipt = _RECEIPTS[response.status]
        if receipt == "kept":
            self._ids[question.number] = told["interaction_id"]
            thread = self._threads.setdefault(question.thread, [])
            if told["interaction_id"] not in thread:
                thread.append(told["interaction_id"])
        else:
            self._problems[question.thread] = f"{told['detail']} {told.get('cure', '')}"
        return receipt

    async def _asked(self, question: Question) -> ClientResponse:
        body = {"question": question.text, "conversation_id": f"thread-{question.thread}"}
        key = {"Idempotency-Key": f"question-{question.number}"}
        if not question.files:
            return await self.client.post("/api/v2/ask", json=body, headers=key)
        filled = FormData({"ask": json.dumps(body)})
        for name, content in question.files:
            kind = guess_type(name)[0] or "text/plain"
            filled.add_field("file", content, filename=name, content_type=kind)
        return await self.client.post("/api/v2/ask", data=filled, headers=key)

    async def edit(self, question: Question, text: str) -> None:
        response = await self.client.patch(self._path(question), json={"question": text})
        assert response.status in {200, 409}, await response.text()

    async def delete(self, question: Question) -> None:
        response = await self.client.delete(self._path(question))
        assert response.status == 204, await response.text()

    async def vote(self, question: Question, vote: Vote) -> None:
        path = f"{self._path(question)}/feedback"
        response = await self.client.put(path, json={"vote": vote})
        assert response.status == 200, await response.text()

    async def unvote(self, question: Question, vote: Vote) -> None:
        response = await self.client.delete(f"{self._path(question)}/feedback")
        assert response.status == 204, await response.text()

    async def can_vote(self, question: Question) -> bool:
        """JSON has no buttons: only an answer with sources is worth asking a judgement of."""
        (answer,) = await self._answers(question)
        return bool(answer["answer_type"] == "RAG")

    async def seen(self, question: Question) -> Sequence[str]:
        problem = self._problems.get(question.thread)
        shown = []
        for answer in await self._answers(question):
            shown += [_read(answer), *await self._history(answer)]
        return [*shown, *([problem] if problem else [])]

    async def messages(self, question: Question) -> int:
        return len(await self.seen(question))

    async def kinds(self, question: Question) -> frozenset[str]:
        answers = await self._answers(question)
        return frozenset(part["kind"] for answer in answers for part in answer["parts"])

    async def privately(self, question: Question) -> Sequence[str]:
        raise Missing

    async def live(self, question: Question) -> Sequence[str]:
        """Only the addresses of sources are there to be opened; the text is shown as text."""
        return [
            page["url"]
            for answer in await self._answers(question)
            for page in (*answer["sources"], *answer["suggestions"])
            if page["url"] and not _OPENABLE.match(page["url"])
        ]

    async def people(self) -> Sequence[str]:
        raise Missing

    def lose_answer(self) -> None:
        raise Missing

    async def marked(self, question: Question) -> str:
        raise Missing

    async def _answers(self, question: Question) -> Sequence[dict[str, Any]]:
        answers = []
        for interaction_id in self._threads.get(question.thread, []):
            response = await self.client.get(f"/api/v2/interactions/{interaction_id}")
            if response.status == 404:
                continue
            assert response.status == 200, await response.text()
            answers.append(await response.json())
        return answers

    async def _history(self, answer: dict[str, Any]) -> Sequence[str]:
        """Return what people did about a question that went to them."""
        response = await self.client.get(f"/api/v2/escalations/{answer['interaction_id']}")
        if response.status == 404:
            return []
        assert response.status == 200, await response.text()
        history = (await response.json())["history"]
        return [_step(step) for step in history if step["by_role"] == "expert"]

    async def pipeline(self, question: Question) -> str:
        """Return how the answer came about, as the API tells it."""
        response = await self.client.get(f"{self._path(question)}?show_pipeline=true")
        assert response.status == 200, await response.text()
        return str((await response.json())["pipeline"])

    async def request_button(self, question: Question, act: str) -> ReadPress:
        """Return what answers the request that stands in a case's history."""
        path = f"/api/v2/escalations/{self._ids[question.number]}"
        history = (await (await self.client.get(path)).json())["history"]
        body = {"about": history[-1]["number"]}

        async def press() -> str:
            response = await self.client.post(f"{path}/{act}", json=body)
            assert response.status in {200, 409}, await response.text()
            return await response.text()

        return press

    def _path(self, question: Question) -> str:
        return f"/api/v2/interactions/{self._ids[question.number]}"


class RestButtons:
    """Implements Buttons as far as JSON can: why is told, the rest is asked in words."""

    def __init__(self, api: OnRest) -> None:
        self._api = api

    async def why(self, question: Question) -> str:
        return await self._api.pipeline(question)

    async def ask_person(self, question: Question) -> None:
        raise Missing

    async def choose(self, question: Question, option: str) -> None:
        raise Missing

    async def request_button(self, question: Question, label: str) -> ReadPress:
        return await self._api.request_button(question, _ANSWERS[label])


def _step(step: dict[str, Any]) -> str:
    did = _DID.get(step["step"], step["step"])
    return f"{step['by_name']} {did} {step['to_name'] or ''} {step['text']}"


def _read(answer: dict[str, Any]) -> str:
    sources = [
        f"[{number}] {page['title']} {_link(page['url'])}"
        for number, page in enumerate(answer["sources"], start=1)
    ]
    pages = [
        f"(not confirmed) {page['title']} {page['updated_by']}" for page in answer["suggestions"]
    ]
    said = answer["escalation_message"] or answer["answer"]
    return "\n".join([said, *sources, *pages, *answer["warnings"], *answer["remarks"]])


def _link(url: str) -> str:
    """An address without a host is for the one who knows the server's."""
    return url if url.startswith("http") else ""


@asynccontextmanager
async def on_rest(directory: Path, _: Notes) -> AsyncIterator[Platform]:
    yield OnRest(directory)
