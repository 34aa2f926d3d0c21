"""Send a message in the richest form that a workspace accepts, and post to response URLs.

Texts are sent in the language of the workspace, wherever they are in a payload.

Types of blocks that a workspace rejects are remembered for ten minutes, so that not every message
is rejected first.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import aiohttp
import structlog
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.texts import ENGLISH, Language
from bot.platforms.slack.client.errors import (
    FormRefused,
    FormsRefused,
    NeverPermitted,
    error_from_response,
    result_unknown,
)
from bot.platforms.slack.client.rate_limits import ApiCaller, Clock
from bot.platforms.slack.payloads.events import is_slack_url
from bot.platforms.slack.rendering import MessageForm, MessageForms, blocks_of, shorten

_REMEMBERED_SECONDS = 600.0
_REFUSED_BLOCK_CODES = frozenset({"invalid_blocks", "invalid_blocks_format"})
"""Slack's codes for unsupported blocks; others concern the length of one message."""

MessageKind = Literal[
    "reply", "private reply", "reason question", "response", "notice", "card", "reminder", "run"
]
"""Kinds of messages; each learns for itself which blocks it does without.

A fault of one card must not take the buttons from answers, and ephemeral messages take fewer types
of blocks than others. A "response" is shown at a response URL, a "reminder" beside the cards.
"""

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class TextWebClient(AsyncWebClient):
    """Renders the texts of each call, wherever they are in its payload."""

    language: Language = ENGLISH

    async def api_call(self, api_method: str, **given: Any) -> AsyncSlackResponse:  # noqa: ANN401 - as the client has it
        return await super().api_call(api_method, **self.language.render_all(given))


def language_of(web: AsyncWebClient) -> Language:
    """Return the language in which a client sends texts."""
    return web.language if isinstance(web, TextWebClient) else ENGLISH


class RefusedBlocks:
    """Remembers for ten minutes which types of blocks a workspace rejects.

    Slack rejects a message also for faults of its own. So a type of blocks counts as rejected if
    Slack names it, or once two different messages were accepted without it.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}
        self._suspected: dict[str, tuple[int, float]] = {}

    async def send_richest(
        self, forms: MessageForms, send: Callable[[MessageForm], Awaitable[Result]]
    ) -> Result:
        """Send a message in its first form that Slack accepts; rejected blocks are remembered.

        Where Slack names the blocks that it rejects, no other form with such blocks is tried. A
        form that is too long is shortened, and says so.
        Raises FormsRefused when all forms are rejected, and DeliveryFailed.
        """
        refused: list[MessageForm] = []
        left = list(self.accepted(forms))
        while left:
            form = left.pop(0)
            try:
                result = await send(form)
            except FormRefused as error:
                log.warning("slack.form_refused", error=str(error))
                self.unknown(_block_types_at(form, error.unknown))
                left = _forms_left(left, form, error)
                refused += [form] if error.code in _REFUSED_BLOCK_CODES else []
            else:
                self.learn(refused, form)
                return result
        raise FormsRefused("Slack refused every form of a message.")

    def accepted(self, forms: Sequence[MessageForm]) -> Sequence[MessageForm]:
        """Return the forms without rejected types of blocks; the last form is always included."""
        now = self._clock()
        refused = {kind for kind, until in self._until.items() if until > now}
        *richer, last = forms
        return [*(form for form in richer if refused.isdisjoint(_block_types(form))), last]

    def unknown(self, kinds: Iterable[str]) -> None:
        """Record types of blocks that Slack names as unsupported."""
        for kind in kinds:
            self._until[kind] = self._clock() + _REMEMBERED_SECONDS

    def learn(self, refused: Iterable[MessageForm], accepted: MessageForm) -> None:
        """Record types that only a message's rejected forms had, at the second such message."""
        tried = frozenset[str]().union(*(_block_types(form) for form in refused))
        message, now = hash(accepted.text), self._clock()
        for kind in tried - _block_types(accepted):
            before, until = self._suspected.get(kind, (message, now))
            if before != message and until > now:
                self.unknown([kind])
            self._suspected[kind] = (message, now + _REMEMBERED_SECONDS)


def _forms_left(
    left: Sequence[MessageForm], form: MessageForm, error: FormRefused
) -> list[MessageForm]:
    """Return the forms to try after one was rejected."""
    if error.too_long and (shorter := shorten(form)):
        return [shorter, *(shorten(last) or last for last in left[-1:])]
    named = _block_types_at(form, error.blocks)
    return [other for other in left if named.isdisjoint(_block_types(other))]


def _block_types(form: MessageForm) -> frozenset[str]:
    return frozenset(str(block["type"]) for block in form.blocks)


def _block_types_at(form: MessageForm, indexes: frozenset[int]) -> frozenset[str]:
    return frozenset(str(form.blocks[at]["type"]) for at in indexes if at < len(form.blocks))


_RESPONSE_URL = "response_url"
_TIMEOUT_SECONDS = 10.0
_OK = 200
_USED_UP = frozenset({403, 404, 410})
_LONGEST_CODE = 80


@dataclass(frozen=True, slots=True)
class ResponseOptions:
    """How a message goes to a response URL.

    Attributes:
        replace: It replaces the message whose button was pressed.
        thread_ts: The thread to show it in, if any.
        command_reply: It replies to a command, so it takes the token and the time of an API call.
    """

    replace: bool = False
    thread_ts: str = ""
    command_reply: bool = False


async def send_response(
    web: AsyncWebClient, caller: ApiCaller, url: str, form: MessageForm, options: ResponseOptions
) -> None:
    """Send an ephemeral message to a response URL.

    Raises NeverPermitted for one that is used up or not Slack's, and DeliveryFailed.
    """
    payload = {
        "response_type": "ephemeral",
        "replace_original": options.replace,
        "text": form.text,
        **({"blocks": blocks_of(form)} if form.blocks else {}),
        **({"thread_ts": options.thread_ts} if options.thread_ts else {}),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    rendered = language_of(web).render_all(payload)
    await caller.call(
        _RESPONSE_URL,
        lambda: _post_response(web, url, rendered, command_reply=options.command_reply),
        # Slack limits each URL by itself: one user must not hold the others.
        channel=url,
        needs_token=options.command_reply,
    )


async def _post_response(
    web: AsyncWebClient, url: str, payload: Mapping[str, object], *, command_reply: bool
) -> AsyncSlackResponse:
    if not is_slack_url(url, web.base_url):
        raise NeverPermitted("The response URL is not Slack's. Nothing was sent.", "not_slacks")
    seconds = web.timeout if command_reply else _TIMEOUT_SECONDS
    async with AsyncExitStack() as stack:
        session = web.session
        if session is None:
            session = await stack.enter_async_context(aiohttp.ClientSession())
        posting = session.post(
            url,
            json=payload,
            proxy=web.proxy,
            ssl=web.ssl or True,
            timeout=aiohttp.ClientTimeout(total=seconds),
            allow_redirects=command_reply,
        )
        response = await stack.enter_async_context(posting)
        return _checked(web, response, await _text(response))


def _checked(
    web: AsyncWebClient, response: aiohttp.ClientResponse, body: str
) -> AsyncSlackResponse:
    """Return the response as one of the Web API. Raises DeliveryFailed for an error."""
    answer = AsyncSlackResponse(
        client=web,
        http_verb="POST",
        api_url=_RESPONSE_URL,
        req_args={},
        data=_response_data(response.status, body),
        # As they are: a dict would find no header that is spelled in another case.
        headers=cast("dict[str, str]", response.headers),
        status_code=response.status,
    )
    if response.status == _OK and answer.get("ok") is not False:
        return answer
    error = error_from_response(_RESPONSE_URL, answer)
    if response.status in _USED_UP and not isinstance(error, FormRefused):
        raise NeverPermitted("The response URL is used up, or was never valid.", "used_url")
    raise error


async def _text(response: aiohttp.ClientResponse) -> str:
    """Return a response's body. Raises ResultUnknown for one that is no text."""
    try:
        return await response.text()
    except (UnicodeDecodeError, LookupError) as error:
        raise result_unknown(f"{_RESPONSE_URL}: the answer can't be read as text.") from error


def _response_data(status: int, body: str) -> dict[str, object]:
    """Return the data of a response; Slack writes JSON or one word."""
    try:
        data = json.loads(body)
    except ValueError:
        data = None
    if isinstance(data, dict):
        return data
    return {"ok": status == _OK, "error": body.strip()[:_LONGEST_CODE]}
