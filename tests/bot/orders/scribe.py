"""A platform that only takes orders: JSON in, the words that were answered out."""

from __future__ import annotations

from aiohttp import web

from bot.config import Settings
from bot.office import Office
from bot.orders.channel_settings import Filled, Wrong
from bot.orders.orders import Orders
from bot.orders.parsing import command_order
from bot.orders.progress import progress_text
from bot.orders.types import (
    Admins,
    Help,
    Misunderstood,
    Orderer,
    Refused,
    ReindexOrder,
    ReindexStatus,
    Status,
)
from bot.orders.types import Settings as SettingsOrder
from bot.ports import Channel, Notes
from bot.types import Activity, Delivery, Message, Person, PostedRef
from tests.bot.orders.fakes import SLACK

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


def mount(app: web.Application, channel: Channel, office: Office) -> None:
    async def taken(request: web.Request) -> web.Response:
        given = await request.json()
        by = Orderer(Person(given["person"]), "scribe", ADMINS, SLACK)
        return web.json_response(await _answered(office.orders, given["text"], by))

    app.router.add_post(PATH, taken)


async def _answered(orders: Orders, text: str, by: Orderer) -> list[str]:
    """Return what is told, one after the other."""
    match command_order(text, SLACK):
        case Misunderstood(said):
            return [said]
        case ReindexOrder() as order:
            return await _followed(orders, order, by)
        case ReindexStatus():
            return [(await orders.reindex_status(by)).text]
        case Status():
            return [(await orders.status(by)).text]
        case Help():
            return [(await orders.help(by)).text]
        case SettingsOrder():
            saved = await orders.save("room", Filled(answers="off"), by)
            return list(saved.errors.values()) if isinstance(saved, Wrong) else [saved.text]
        case order:
            raise web.HTTPNotImplemented(text=repr(order))


async def _followed(orders: Orders, order: ReindexOrder, by: Orderer) -> list[str]:
    started = await orders.reindex(order, by)
    if isinstance(started, Refused):
        return [started.text]
    told = [progress_text(each, by.spelling) async for each in orders.follow(started.run_id)]
    return [started.text, *told]
