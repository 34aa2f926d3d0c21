"""Reply to commands, buttons and modals at their response URLs.

Only one person sees such a message, and Slack can't be asked for it afterwards.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta

import aiohttp
import structlog
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from slack_sdk.webhook.async_client import AsyncWebhookClient
from slack_sdk.webhook.webhook_response import WebhookResponse

from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.handoff import as_ephemeral, as_list_only
from bot.domain.interactions import Delivery, PostedRef, Response
from bot.domain.messages import Message
from bot.domain.outcomes import undelivered_text
from bot.domain.ports import Notes
from bot.platforms.slack.client.api import ApiCaller
from bot.platforms.slack.client.errors import (
    FormsRefused,
    NeverPermitted,
    NotPermitted,
    ResultUnknown,
    error_from_response,
)
from bot.platforms.slack.client.posting import Poster, blocks_of
from bot.platforms.slack.escalations.people_channel import PeopleChannel
from bot.platforms.slack.messages.replies import delivery_messages
from bot.platforms.slack.payloads.events import is_slack_url, response_url_of
from bot.platforms.slack.payloads.metadata import Place, label_of, ts_of
from bot.platforms.slack.rendering import Block, MessageForm, MessageForms

_TIMEOUT = aiohttp.ClientTimeout(total=10)
_GONE = frozenset({403, 404, 410})
_FIRST_ERROR = 300


class ResponseUrls:
    """Posts to response URLs, each valid five times within half an hour.

    This works where the bot is not: in channels that it is no member of, and between two people.
    Raises DeliveryFailed, and DeliveryRefused for a URL that is used up.
    """

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def tell(
        self, url: str, text: str, blocks: Sequence[Block] = (), *, thread: str = ""
    ) -> None:
        """Post a new ephemeral message; ``text`` is escaped already."""
        where = {"thread_ts": thread} if thread else {}
        await self._post(
            url, {**_ephemeral_payload(text, blocks), **where, "replace_original": False}
        )

    async def replace(self, url: str, text: str, blocks: Sequence[Block] = ()) -> None:
        """Replace the message whose button was pressed."""
        await self._post(url, {**_ephemeral_payload(text, blocks), "replace_original": True})

    async def _post(self, url: str, payload: dict[str, object]) -> None:
        if not is_slack_url(url, self._client.base_url):
            raise DeliveryRefused("The address to answer at is not Slack's. Nothing was sent.")
        try:
            status = await self._status(url, payload)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DeliveryFailed("The address to answer at can't be reached.") from error
        if status in _GONE:
            raise DeliveryRefused("The address to answer at is used up, or was never good.")
        if status >= _FIRST_ERROR:
            raise DeliveryFailed(f"Slack answered {status} at the address to answer at.")

    async def _status(self, url: str, payload: dict[str, object]) -> int:
        async with AsyncExitStack() as stack:
            session = self._client.session
            if session is None:
                session = await stack.enter_async_context(aiohttp.ClientSession())
            answer = await stack.enter_async_context(
                session.post(url, json=payload, timeout=_TIMEOUT, allow_redirects=False)
            )
            return answer.status


def _ephemeral_payload(text: str, blocks: Sequence[Block]) -> dict[str, object]:
    return {
        "response_type": "ephemeral",
        "text": text,
        **({"blocks": [dict(block) for block in blocks]} if blocks else {}),
        "unfurl_links": False,
        "unfurl_media": False,
    }


_URL_LIFETIME = timedelta(minutes=29)
"""Slack accepts a response URL for half an hour; this leaves time for the request."""

_OK = 200
_LONGEST_CODE = 80
_REMEMBERED = 1_000
_CARD_NUMBER = 0
"""The number of the part before the first: the escalation card."""

log = structlog.get_logger(__name__)


class CommandReplies:
    """Delivers ephemeral replies to commands, which can't be looked up afterwards.

    So each part is recorded before it is sent, and sent again only if it surely failed: better once
    than twice. When the response URL is used up, a direct message is sent instead.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        caller: ApiCaller,
        notes: Notes,
        poster: Poster,
        people: PeopleChannel,
    ) -> None:
        self._client = client
        self._caller = caller
        self._notes = notes
        self._poster = poster
        self._people = people
        self._begun: OrderedDict[str, int | None] = OrderedDict()

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Send the parts not sent yet. Raises DeliveryFailed; the other parts are then still due.

        Raises also StoreUnavailable, before anything is sent.
        """
        begun = await self._begun_of(delivery)
        response = await self._response(delivery, begun)
        ref = _ephemeral_ref(delivery)
        parts = delivery_messages(delivery, response)
        for number, forms in enumerate(parts, start=1):
            if begun is not None and number <= begun:
                continue
            await self._note(delivery, number)
            ref = await self._once(delivery, number, forms, of=len(parts))
        return ref

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Return a reply's reference if all its parts may have been sent, None if some were not.

        Raises StoreUnavailable.
        """
        begun = await self._begun_of(delivery)
        of = len(delivery_messages(delivery, delivery.outcome.response))
        return _ephemeral_ref(delivery) if begun is not None and begun >= of else None

    async def _once(
        self, delivery: Delivery, number: int, forms: MessageForms, *, of: int
    ) -> PostedRef:
        """Send a part; one with an unknown result counts as sent."""
        try:
            return await self._send(delivery, number, forms, of=of)
        except ResultUnknown as error:
            log.warning("slack.response_unknown", error=str(error))
            return _ephemeral_ref(delivery)
        except DeliveryFailed:
            await self._note(delivery, number - 1)
            raise

    async def _send(
        self, delivery: Delivery, number: int, forms: MessageForms, *, of: int
    ) -> PostedRef:
        message = delivery.message
        url = response_url_of(message)
        if url and datetime.now(UTC) - message.received_at < _URL_LIFETIME:
            try:
                await self._poster.richest(forms, lambda form: self._respond(url, form))
            except (NotPermitted, NeverPermitted) as error:
                log.info("slack.response_url_closed", error=str(error))
            except FormsRefused:
                said = MessageForm(undelivered_text(message, delivery.outcome, "Slack"))
                with suppress(DeliveryFailed):
                    await self._respond(url, said)
                raise
            else:
                return _ephemeral_ref(delivery)
        place = Place(await self._direct(message), None, since=ts_of(message))
        ts = await self._poster.post(place, forms, label_of(delivery, str(number), of=of))
        return PostedRef(place.channel, ts)

    async def _direct(self, message: Message) -> str:
        """Return the direct conversation with the asker; opening it twice does no harm."""
        try:
            opened = await self._caller.call(
                "conversations.open",
                lambda: self._client.conversations_open(users=message.author.id),
            )
        except ResultUnknown as error:
            raise DeliveryFailed(str(error)) from error
        return str(opened["channel"]["id"])

    async def _respond(self, url: str, form: MessageForm) -> None:
        if not is_slack_url(url, self._client.base_url):
            raise NeverPermitted("The address to answer at is not Slack's.", "not_slacks")
        webhook = AsyncWebhookClient(
            url,
            timeout=int(self._client.timeout),
            session=self._client.session,
            retry_handlers=[],
        )

        async def send() -> AsyncSlackResponse:
            answer = await webhook.send(
                text=form.text,
                blocks=blocks_of(form),
                response_type="ephemeral",
                replace_original=False,
                unfurl_links=False,
                unfurl_media=False,
            )
            return self._checked(answer)

        await self._caller.call("response_url", send)

    def _checked(self, answer: WebhookResponse) -> AsyncSlackResponse:
        """Return a webhook response as one of the Web API. Raises DeliveryFailed."""
        told = AsyncSlackResponse(
            client=self._client,
            http_verb="POST",
            api_url="response_url",
            req_args={},
            data=_response_data(answer),
            headers=answer.headers,
            status_code=answer.status_code,
        )
        if answer.status_code != _OK or told.get("ok") is False:
            raise error_from_response("response_url", told)
        return told

    async def _response(self, delivery: Delivery, begun: int | None) -> Response:
        """Post the escalation card first, if one is due and not posted; return the response."""
        response = as_ephemeral(delivery.outcome.response)
        asked = self._people.are_asked(delivery)
        if asked and begun is not None and await self._people.cards(delivery.message):
            return response
        if begun is None:
            await self._note(delivery, _CARD_NUMBER)
        return response if await self._people.ask(delivery) else as_list_only(response)

    async def _begun_of(self, delivery: Delivery) -> int | None:
        """Return the number of the last part that may have been sent, None before the first try."""
        if delivery.id not in self._begun:
            noted = await self._notes.get(_tenant(delivery), _key(delivery))
            self._begun[delivery.id] = int(noted) if noted and noted.isdecimal() else None
            while len(self._begun) > _REMEMBERED:
                self._begun.popitem(last=False)
        return self._begun[delivery.id]

    async def _note(self, delivery: Delivery, number: int) -> None:
        await self._notes.put(
            _tenant(delivery),
            _key(delivery),
            str(number),
            interaction_id=delivery.interaction_id,
        )
        self._begun[delivery.id] = number


def _ephemeral_ref(delivery: Delivery) -> PostedRef:
    """Return a reference for an ephemeral message, which has no ts: the delivery's id."""
    return PostedRef(delivery.message.thread.channel, delivery.id)


def _response_data(answer: WebhookResponse) -> dict[str, object]:
    """Return the data of a response; Slack writes JSON or one word."""
    try:
        told = json.loads(answer.body)
    except ValueError:
        told = None
    if isinstance(told, dict):
        return told
    return {"ok": answer.status_code == _OK, "error": answer.body.strip()[:_LONGEST_CODE]}


def _tenant(delivery: Delivery) -> str:
    return delivery.message.thread.tenant


def _key(delivery: Delivery) -> str:
    return f"slack:response:{delivery.id}"
