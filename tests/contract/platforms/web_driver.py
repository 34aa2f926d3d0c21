"""The web chat as a browser shows it, with its buttons."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from mimetypes import guess_type
from pathlib import Path
from typing import Protocol

from aiohttp import ClientResponse, FormData, web
from lxml import html
from lxml.html import HtmlElement

from bot.answering.gate import load_gate
from bot.domain.ports import Inbox, Notes
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.store.database import Store
from bot.web.chat.history import CONVERSATION_COOKIE
from bot.web.chat.routes import mount_chat
from tests.contract.platforms.driver import (
    Client,
    File,
    Hands,
    Missing,
    Platform,
    Question,
    ReadPress,
    Receipt,
    Vote,
)
from tests.fakes.chat_app import OnePageIndex, exchange_of
from tests.fakes.chat_context import ReadsEverything

_CHOSEN = 1000
"""The number of the question that a button asks."""


class Page(Protocol):
    """The exchanges of a conversation, as a browser has them."""

    async def ask(self, question: Question) -> Receipt: ...

    async def read(self, question: Question, part: str) -> str: ...

    async def press(self, question: Question, part: str) -> None: ...

    async def options(self, question: Question) -> Sequence[str]: ...

    async def request_button(self, question: Question, label: str) -> ReadPress: ...


class WebButtons:
    """Implements Buttons."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def why(self, question: Question) -> str:
        return await self._page.read(question, "why")

    async def ask_person(self, question: Question) -> None:
        await self._page.press(question, "person")

    async def choose(self, question: Question, option: str) -> None:
        assert option in await self._page.options(question)
        await self._page.ask(Question(option, number=_CHOSEN, thread=question.thread))

    async def request_button(self, question: Question, label: str) -> ReadPress:
        return await self._page.request_button(question, label)


_NAMES = uuid.UUID("00000000-0000-4000-8000-000000000000")
_OURS = re.compile(r"https://wiki\.example\.com/|/pages/|/chat/|/static/|#")
_LINKING = ("href", "src", "action", "formaction", "srcset", "style", "data", "poster")
_KINDS = {"ol": "list", "table": "table", "pre": "code", "blockquote": "quotation"}
_LOADING = ("script", "img", "iframe", "object", "embed", "link", "video", "audio")


class OnWeb:
    """Implements Platform: one browser, a conversation for each thread."""

    client: Client
    channel = None

    def __init__(self, directory: Path) -> None:
        self.settings: Settings = load_settings(_env_file=None, data_dir=directory)
        self.hands = Hands(buttons=WebButtons(self))
        self._exchanges: dict[int, str] = {}
        self._troubles: dict[int, str] = {}
        self._opening = asyncio.Lock()

    def another_channel(self) -> None:
        """Nothing is posted."""

    def mount(self, app: web.Application, inbox: Inbox, store: Store) -> None:
        mount_chat(
            app,
            inbox=inbox,
            interactions=store.interactions,
            cases=store.escalations,
            watches=store.watching,
            threads=store.threads,
            gate=load_gate(self.settings.confidence_threshold),
            pages=OnePageIndex(),
            readable=ReadsEverything(),
            tenant=self.settings.tenant,
            data_dir=self.settings.data_dir,
        )

    async def ask(self, question: Question) -> Receipt:
        if not replace(question, files=()).plain:
            raise Missing
        async with self._opening:  # the first page makes the browser known
            await self._page(question)
        name = str(uuid.uuid5(_NAMES, f"message {question.number}"))
        response = await self._post(
            _chat(question), question.files, question=question.text, message=name
        )
        if response.status == 200:
            self._exchanges[question.number] = exchange_of(await response.text())
            return "kept"
        self._troubles[question.thread] = (await response.json())["detail"]
        return "refused" if response.status == 422 else "send it again"

    async def edit(self, question: Question, text: str) -> None:
        response = await self._post(f"{self._path(question)}/edit", question=text)
        assert response.status == 200, await response.text()
        self._exchanges[question.number] = exchange_of(await response.text())

    async def delete(self, question: Question) -> None:
        response = await self._post(f"{self._path(question)}/withdraw")
        assert response.status == 200, await response.text()

    async def vote(self, question: Question, vote: Vote) -> None:
        response = await self._post(f"{self._path(question)}/vote", vote=vote)
        assert response.status == 200, await response.text()

    async def unvote(self, question: Question, vote: Vote) -> None:
        """The thumb that is pressed takes the judgement back when it is pressed again."""
        await self.vote(question, vote)

    async def can_vote(self, question: Question) -> bool:
        (article,) = await self._articles(question)
        return bool(article.find_class("vote"))

    async def seen(self, question: Question) -> Sequence[str]:
        trouble = self._troubles.get(question.thread)
        articles = await self._articles(question)
        shown = [text for article in articles for text in (_read(article), *_people(article))]
        return [*shown, *([trouble] if trouble else [])]

    async def messages(self, question: Question) -> int:
        return len(await self.seen(question))

    async def kinds(self, question: Question) -> frozenset[str]:
        texts = [each for one in await self._articles(question) for each in one.find_class("text")]
        return frozenset(
            kind for tag, kind in _KINDS.items() if any(each.findall(f".//{tag}") for each in texts)
        )

    async def privately(self, question: Question) -> Sequence[str]:
        raise Missing

    async def live(self, question: Question) -> Sequence[str]:
        articles = await self._articles(question)
        return [found for article in articles for found in _live(article)]

    async def people(self) -> Sequence[str]:
        raise Missing

    def lose_answer(self) -> None:
        raise Missing

    async def marked(self, question: Question) -> str:
        raise Missing

    async def _articles(self, question: Question) -> Sequence[HtmlElement]:
        page: HtmlElement = html.document_fromstring(await self._page(question))
        return list(page.find_class("exchange"))

    async def _page(self, question: Question) -> str:
        cookies = {CONVERSATION_COOKIE: _conversation(question)}
        headers = {"Accept": "text/html"}
        async with self.client.get("/", headers=headers, cookies=cookies) as response:
            assert response.status == 200
            return await response.text()

    async def read(self, question: Question, part: str) -> str:
        """Return a part of an exchange that is fetched when it is opened, as it is read."""
        async with self.client.get(f"{self._path(question)}/{part}") as response:
            assert response.status == 200, await response.text()
            whole: HtmlElement = html.document_fromstring(await response.text())
            return str(whole.text_content())

    async def press(self, question: Question, part: str) -> None:
        response = await self._post(f"{self._path(question)}/{part}")
        assert response.status == 200, await response.text()

    async def request_button(self, question: Question, label: str) -> ReadPress:
        """Return what presses a button of the request that stands on the card of a question."""
        forms = [
            form
            for article in await self._articles(question)
            for form in article.xpath(".//div[@class='wanted']//form")
        ]
        (form,) = forms
        (button,) = [each for each in form.iter("button") if each.text == label]
        about = form.xpath("./input[@name='about']/@value")[0]

        async def press() -> str:
            path = f"{self._path(question)}/case"
            response = await self._post(path, act=button.get("value"), about=about)
            assert response.status == 200, await response.text()
            return await response.text()

        return press

    async def options(self, question: Question) -> Sequence[str]:
        """Return what the buttons of an exchange would ask."""
        articles = await self._articles(question)
        return [
            str(button.get("data-ask"))
            for article in articles
            for button in article.find_class("choice")
        ]

    def _path(self, question: Question) -> str:
        return f"{_chat(question)}/{self._exchanges[question.number]}"

    async def _post(self, path: str, files: Sequence[File] = (), **form: str) -> ClientResponse:
        filled = FormData(form)
        for name, content in files:
            kind = guess_type(name)[0] or "text/plain"
            filled.add_field("file", content, filename=name, content_type=kind)
        origin = str(self.client.make_url("/")).rstrip("/")
        headers = {"Origin": origin, "HX-Request": "true"}
        return await self.client.post(path, data=filled, headers=headers, allow_redirects=False)


def _conversation(question: Question) -> str:
    return str(uuid.uuid5(_NAMES, f"thread {question.thread}"))


def _chat(question: Question) -> str:
    return f"/chat/{_conversation(question)}"


def _read(article: HtmlElement) -> str:
    """Return the answer as a person reads it; what was asked is not part of it."""
    (answer,) = article.find_class("answer")
    for mark in answer.find_class("mark"):
        mark.text = f"[{mark.text}]"
    for item in answer.xpath(".//ul/li"):
        item.text = f"- {item.text or ''}"
    for line in answer.xpath(".//div[@class='text']//blockquote/p"):
        line.text = f"> {line.text or ''}"
    links = [link.get("href", "") for link in answer.find_class("open")]
    outside = [link for link in links if link.startswith("http")]
    return "\n".join([str(answer.text_content()), *outside])


def _people(article: HtmlElement) -> Sequence[str]:
    """Return how it stands with people and what they said, as a person reads it."""
    shown = [
        *article.xpath(".//*[@class='state']/strong"),
        *article.xpath(".//ol/li"),
        *article.xpath(".//div[@class='wanted']/p"),
    ]
    of_case = [each for each in shown if each.xpath("ancestor::section")]
    return [" ".join(str(each.text_content()).split()) for each in of_case]


def _live(article: HtmlElement) -> Sequence[str]:
    found = []
    for element in article.iter():
        if element.tag in _LOADING:
            found.append(str(element.tag))
        addresses = [element.get(name, "") for name in _LINKING if name in element.attrib]
        found += [address for address in addresses if not _OURS.match(address)]
        found += [name for name in element.attrib if str(name).startswith("on")]
    return found


@asynccontextmanager
async def on_web(directory: Path, _: Notes) -> AsyncIterator[Platform]:
    yield OnWeb(directory)
