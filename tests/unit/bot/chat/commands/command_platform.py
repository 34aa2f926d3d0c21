"""A chat platform that only takes commands: JSON in, the lines of the answer out."""

from __future__ import annotations

from dataclasses import replace

from aiohttp import web

from bot.chat.adapters import ChatContext
from bot.chat.commands.channel_settings import current_values
from bot.chat.commands.command_texts import progress_text
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.parsing import parse_command_text
from bot.chat.commands.types import (
    Admins,
    CommandCaller,
    Done,
    HelpRequest,
    InvalidCommand,
    Refused,
    ReindexRequest,
    ReindexStatusRequest,
    StatusRequest,
)
from bot.chat.commands.types import SettingsRequest as SettingsOrder
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import Activity, Message, Person
from bot.domain.ports import Channel, Notes
from bot.domain.settings import Settings
from tests.fakes.chat_commands import SLACK

PATH = "/platforms/scribe/orders"
ADMINS = Admins("SCRIBE_ADMINS", ids=frozenset({"anna"}))


class Mute:
    """Implements Channel: nothing is ever asked here, so nothing is posted."""

    platform = "scribe"

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None: ...

    async def deliver(self, delivery: Delivery) -> PostedRef:
        return PostedRef("scribe", delivery.id)

    async def find(self, delivery: Delivery) -> PostedRef | None:
        return None


def connect(settings: Settings, notes: Notes) -> Channel:
    return Mute()


def mount(app: web.Application, channel: Channel, context: ChatContext) -> None:
    async def taken(request: web.Request) -> web.Response:
        given = await request.json()
        by = CommandCaller(Person(given["person"]), "scribe", ADMINS, SLACK)
        return web.json_response(await _answered(context.commands, given["text"], by))

    app.router.add_post(PATH, taken)


async def _answered(orders: CommandExecutor, text: str, by: CommandCaller) -> list[str]:
    """Return what is told, one after the other."""
    match parse_command_text(text, SLACK):
        case InvalidCommand(said):
            return [said]
        case ReindexRequest() as order:
            return await _followed(orders, order, by)
        case ReindexStatusRequest():
            return [(await orders.reindex_status(by)).text]
        case StatusRequest():
            return [(await orders.status(by)).text]
        case HelpRequest():
            return [(await orders.help(by)).text]
        case SettingsOrder():
            return [await _turned_off(orders, by)]
        case order:
            raise web.HTTPNotImplemented(text=repr(order))


async def _turned_off(orders: CommandExecutor, by: CommandCaller) -> str:
    form = await orders.settings("room", by)
    if isinstance(form, Refused):
        return form.text
    off = replace(current_values(form.policy), answers="off")
    saved = await orders.save("room", lambda _: off, by, version=form.version)
    return saved.text if isinstance(saved, Done | Refused) else repr(saved)


async def _followed(orders: CommandExecutor, order: ReindexRequest, by: CommandCaller) -> list[str]:
    started = await orders.reindex(order, by)
    if isinstance(started, Refused):
        return [started.text]
    told = [progress_text(each, by.spelling) async for each in orders.follow(started.run_id)]
    return [started.text, *told]
