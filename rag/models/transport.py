"""Sends one question to a chat server, again where that helps, and says what came of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx2
from openai import APIError, APIStatusError, AsyncOpenAI

from rag.errors import ModelUnavailable
from rag.models.bodies import whole_body
from rag.models.dialect import Dialect, Rejection, WantedShape
from rag.models.filters import blocked_input_verdicts, reply_verdicts
from rag.models.retrying import Deadline, RetryPolicy, TryAgain, with_retries
from rag.models.vendor_errors import rejection_of, translated
from rag.models.wire import ChatReply, Usage, read_reply, read_usage
from rag.ports import ChatMessage, Prompt
from rag.types import FilterVerdict

LARGEST_REPLY_BYTES = 4 * 1024 * 1024

_PLAIN_CODE = re.compile(r"[a-z_]{1,40}")
"""An error code worth showing; anything else that a server writes is not repeated."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question to the server; ``reply`` is None when a filter stopped it on the way in."""

    reply: ChatReply | None
    filters: tuple[FilterVerdict, ...]


@dataclass(slots=True)
class Tally:
    """What one call took so far, kept also when it fails.

    ``unread`` is what replies took that were no chat completions; ``requests`` counts all that were
    sent.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    unread: list[Usage] = field(default_factory=list)
    requests: int = 0

    @property
    def counted(self) -> bool:
        """Whether the server said of anything what it took."""
        replies = (exchange.reply for exchange in self.exchanges)
        return bool(self.unread) or any(reply and reply.usage for reply in replies)


@dataclass(frozen=True, slots=True)
class _Blocked:
    filters: tuple[FilterVerdict, ...]


class ChatTransport:
    """One model behind one client; remembers the dialect that its server accepts."""

    def __init__(
        self, client: AsyncOpenAI, model: str, dialect: Dialect, policy: RetryPolicy
    ) -> None:
        self.model = model
        self._client = client
        self._dialect = dialect
        self._policy = policy

    @property
    def base_url(self) -> str:
        return str(self._client.base_url)

    async def ask(
        self,
        prompt: Prompt,
        messages: Sequence[ChatMessage],
        shape: WantedShape | None,
        deadline: Deadline,
        tally: Tally,
    ) -> Exchange:
        """Send the messages with the prompt's limits, and count it. Raises ModelUnavailable."""
        dialect, tried = self._dialect, set[Dialect]()

        async def post() -> ChatReply | Rejection | _Blocked:
            tally.requests += 1
            return await self._post(dialect.body(self.model, prompt, messages, shape), tally)

        while True:
            answer = await with_retries(post, self._policy, deadline)
            if isinstance(answer, _Blocked):
                return _counted(tally, Exchange(None, answer.filters))
            if isinstance(answer, ChatReply):
                self._dialect = dialect
                return _counted(tally, Exchange(answer, reply_verdicts(answer)))
            tried.add(dialect)
            other = dialect.after(answer, structured=shape is not None)
            if other is None or other in tried:
                raise ModelUnavailable(_not_accepted(self.model, answer))
            dialect = other

    async def _post(
        self, body: dict[str, object], tally: Tally
    ) -> ChatReply | Rejection | _Blocked:
        try:
            content = await self._read(body)
        except APIError as error:
            return self._understood(error)
        except httpx2.HTTPError:
            # From nothing: what a server sent may repeat the key or the question.
            raise TryAgain(f"The answer of the model {self.model!r} was cut off.") from None
        reply = read_reply(content)
        if reply is None:
            usage = read_usage(content)
            tally.unread += [usage] if usage else []
            raise TryAgain(
                f"The model {self.model!r} answered with something that is no chat completion; "
                "check OPENAI_BASE_URL, which usually ends in /v1."
            )
        return reply

    async def _read(self, body: dict[str, object]) -> bytes:
        """Return the response's body, at most LARGEST_REPLY_BYTES of it."""
        request = self._client.chat.completions.with_streaming_response.create(
            model=self.model,
            messages=[],
            extra_body=body,  # the whole body is the dialect's; the two above only satisfy the SDK
        )
        async with request as response:
            content = await whole_body(response.iter_bytes(), LARGEST_REPLY_BYTES)
        if content is None:
            raise ModelUnavailable(
                f"The model {self.model!r} sent more than {LARGEST_REPLY_BYTES} bytes; "
                "check OPENAI_BASE_URL."
            )
        return content

    def _understood(self, error: APIError) -> Rejection | _Blocked:
        """Return what a status says about the question; raise what it says about the server."""
        if isinstance(error, APIStatusError):
            blocked = blocked_input_verdicts(error.body)
            if blocked is not None:
                return _Blocked(blocked)
            rejection = rejection_of(error)
            if rejection is not None:
                return rejection
        # From nothing: error bodies may repeat the key or the question.
        raise translated(error, self.model) from None


def _counted(tally: Tally, exchange: Exchange) -> Exchange:
    tally.exchanges.append(exchange)
    return exchange


def _not_accepted(model: str, rejection: Rejection) -> str:
    named = (text for text in (rejection.code, rejection.param) if _PLAIN_CODE.fullmatch(text))
    return (
        f"The model {model!r} does not accept the request ({next(named, 'no reason given')}); "
        "check that OPENAI_MODEL is a chat model with a context of at least 4,096 tokens."
    )
