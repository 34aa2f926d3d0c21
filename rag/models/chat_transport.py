"""Send chat-completion requests with retries, and record usage and content-filter verdicts.

Recorded are tokens, cost, requests, and Azure OpenAI's content-filter verdicts on input and
output.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import httpx2
from openai import APIError, APIStatusError, AsyncOpenAI

from rag import telemetry
from rag.errors import ModelUnavailable, ToolsRejected
from rag.models.client import (
    CHAT_SETTINGS,
    SettingNames,
    TryAgain,
    cost_micro_usd,
    read_body,
    rejection_of,
    translate_error,
)
from rag.models.protocol import (
    ChatReply,
    Dialect,
    Prices,
    Rejection,
    Usage,
    WantedShape,
    joined_results,
    read_reply,
    read_usage,
    says_tools_rejected,
)
from rag.ports import ChatMessage, Prompt
from rag.retrying import Deadline, RetryPolicy, with_retries
from rag.types import FilterVerdict, ModelCall

Direction = Literal["input", "output"]

UNSPECIFIED = "unspecified"
"""The category if a filter stopped a call without naming one."""

_RESULT_KEYS = ("content_filter_result", "content_filter_results")
_INNER_KEYS = ("innererror", "inner_error")


def reply_verdicts(reply: ChatReply) -> tuple[FilterVerdict, ...]:
    """Return the content-filter verdicts of a reply: on the input, then on the output."""
    verdicts = [
        verdict
        for results in joined_results(reply.prompt_filter_results)
        for verdict in _verdicts("input", results)
    ]
    verdicts += _verdicts("output", reply.choice.content_filter_results or {})
    stopped = reply.finish_reason == "content_filter"
    if stopped and not any(v.filtered and v.direction == "output" for v in verdicts):
        verdicts.append(FilterVerdict("output", UNSPECIFIED, filtered=True))
    return tuple(verdicts)


def blocked_input_verdicts(error_body: object) -> tuple[FilterVerdict, ...] | None:
    """Return the verdicts that blocked an input, or None if the error has another cause."""
    error = _unwrapped(error_body)
    inner = _first_error(error, _INNER_KEYS)
    codes = {error.get("code"), inner.get("code")}
    if not codes & {"content_filter", "ResponsibleAIPolicyViolation"}:
        return None
    results = _first_error(inner, _RESULT_KEYS) or _first_error(error, _RESULT_KEYS)
    verdicts = tuple(_verdicts("input", results))
    if any(verdict.filtered for verdict in verdicts):
        return verdicts
    return (*verdicts, FilterVerdict("input", UNSPECIFIED, filtered=True))


def _verdicts(direction: Direction, results: Mapping[str, object]) -> Iterator[FilterVerdict]:
    for category, verdict in results.items():
        if isinstance(verdict, dict) and isinstance(verdict.get("filtered"), bool):
            severity = verdict.get("severity")
            yield FilterVerdict(
                direction=direction,
                category=category,
                filtered=verdict["filtered"],
                severity=severity if isinstance(severity, str) else None,
            )


def _unwrapped(body: object) -> Mapping[str, object]:
    """Return the error object of a body, which the SDK may have unwrapped already."""
    if not isinstance(body, dict):
        return {}
    inner = body.get("error")
    return inner if isinstance(inner, dict) else body


def _first_error(source: Mapping[str, object], keys: tuple[str, ...]) -> Mapping[str, object]:
    found = (source[key] for key in keys if isinstance(source.get(key), dict))
    value = next(found, {})
    return value if isinstance(value, dict) else {}


LARGEST_REPLY_BYTES = 4 * 1024 * 1024

_PLAIN_CODE = re.compile(r"[a-z_]{1,40}")
"""An error code that may be shown; other text of a server is never repeated."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its reply; ``reply`` is None if a content filter blocked the input."""

    reply: ChatReply | None
    filters: tuple[FilterVerdict, ...]


@dataclass(slots=True)
class CallTally:
    """The running record of one model call, valid also if the call fails.

    ``unread`` is the usage of replies that were not chat completions; ``requests`` counts all
    requests sent.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    unread: list[Usage] = field(default_factory=list)
    requests: int = 0

    @property
    def counted(self) -> bool:
        """Whether the server reported the usage of any request."""
        replies = (exchange.reply for exchange in self.exchanges)
        return bool(self.unread) or any(reply and reply.usage for reply in replies)


@dataclass(frozen=True, slots=True)
class _Blocked:
    filters: tuple[FilterVerdict, ...]


REJECTION_KEPT_SECONDS = 3600.0
"""A rejected JSON format, or tools, are tried again after this long: one odd rejection is not for
ever."""


class ChatTransport:
    """Sends chat-completion requests for one model; remembers the dialect its server accepts.

    ``name`` is what the operator calls the model, "" as its server does; ``names`` are its settings
    in error messages. ``prices`` None looks prices up. ``clock`` returns seconds that only grow.
    """

    def __init__(
        self,
        client: AsyncOpenAI,
        model: str,
        dialect: Dialect,
        policy: RetryPolicy,
        *,
        name: str = "",
        names: SettingNames = CHAT_SETTINGS,
        prices: Prices | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = model
        self.name = name or model
        self.given_name = name
        self.names = names
        self._client = client
        self._dialect = dialect
        self._best_format = dialect.format
        self._format_until = 0.0
        self._tools_rejected_until = 0.0
        self._policy = policy
        self._prices = prices
        self._clock = clock

    def price(self, usage: Usage, models: tuple[str, ...]) -> int | None:
        """Return a price in millionths of a US dollar, by the likeliest of some model names."""
        if self._prices is not None:
            return self._prices.micro_usd(usage)
        return cost_micro_usd(usage, models, str(self._client.base_url))

    async def ask(
        self,
        prompt: Prompt,
        messages: Sequence[ChatMessage],
        shape: WantedShape | None,
        deadline: Deadline,
        tally: CallTally,
    ) -> Exchange:
        """Send messages with the limits of a prompt, and record it in ``tally``.

        Retries transient failures, and changes the dialect when the server rejects it. Raises
        ModelUnavailable; ToolsRejected, without a request while the last rejection of tools is
        recent.
        """
        if prompt.tools and self._clock() < self._tools_rejected_until:
            raise ToolsRejected(_no_tools(self.model))
        dialect, tried = self._current_dialect(), set[Dialect]()

        async def post() -> ChatReply | Rejection | _Blocked:
            tally.requests += 1
            return await self._post(dialect.body(self.model, prompt, messages, shape), tally)

        while True:
            answer = await with_retries(post, self._policy, deadline)
            if isinstance(answer, _Blocked):
                return _usage_of_error(tally, Exchange(None, answer.filters))
            if isinstance(answer, ChatReply):
                self._keep(dialect)
                telemetry.describe_current(_request_attributes(dialect, prompt))
                return _usage_of_error(tally, Exchange(answer, reply_verdicts(answer)))
            tried.add(dialect)
            other = dialect.after(answer, structured=shape is not None)
            if other is None or other in tried:
                if prompt.tools and says_tools_rejected(answer):
                    self._tools_rejected_until = self._clock() + REJECTION_KEPT_SECONDS
                    raise ToolsRejected(_no_tools(self.model))
                raise ModelUnavailable(_not_accepted(self.name, answer, self.names))
            dialect = other

    def _current_dialect(self) -> Dialect:
        """Return the dialect to begin with: the last accepted, with the best format in time."""
        if self._clock() < self._format_until:
            return self._dialect
        return replace(self._dialect, format=self._best_format)

    def _keep(self, dialect: Dialect) -> None:
        if dialect.format != self._best_format and self._clock() >= self._format_until:
            self._format_until = self._clock() + REJECTION_KEPT_SECONDS
        self._dialect = dialect

    async def _post(
        self, body: dict[str, object], tally: CallTally
    ) -> ChatReply | Rejection | _Blocked:
        try:
            content = await self._read(body)
        except APIError as error:
            return self._understood(error)
        except httpx2.HTTPError:
            # ``from None``: what a server sent may repeat the key or the question.
            raise TryAgain(f"The answer of the model {self.name!r} was cut off.") from None
        reply = read_reply(content)
        if reply is None:
            usage = read_usage(content)
            tally.unread += [usage] if usage else []
            raise TryAgain(
                f"The model {self.name!r} answered with something that is no chat completion; "
                f"check {self.names.base_url}, which usually ends in /v1."
            )
        return reply

    async def _read(self, body: dict[str, object]) -> bytes:
        """Return the response body; raise ModelUnavailable above LARGEST_REPLY_BYTES."""
        request = self._client.chat.completions.with_streaming_response.create(
            model=self.model,
            messages=[],
            extra_body=body,  # the whole body is the dialect's; the two above only satisfy the SDK
        )
        async with request as response:
            content = await read_body(response.iter_bytes(), LARGEST_REPLY_BYTES)
        if content is None:
            raise ModelUnavailable(
                f"The model {self.name!r} sent more than {LARGEST_REPLY_BYTES} bytes; "
                f"check {self.names.base_url}."
            )
        return content

    def _understood(self, error: APIError) -> Rejection | _Blocked:
        """Return a rejection or a content-filter block; raise any other error translated."""
        if isinstance(error, APIStatusError):
            blocked = blocked_input_verdicts(error.body)
            if blocked is not None:
                return _Blocked(blocked)
            rejection = rejection_of(error)
            if rejection is not None:
                return rejection
        # ``from None``: error bodies may repeat the key or the question.
        raise translate_error(error, self.name, self.names) from None


def _request_attributes(dialect: Dialect, prompt: Prompt) -> telemetry.Attributes:
    """Return the span attributes of the parameters that were sent."""
    body = dialect.body("", prompt, (), None)
    limit, temperature = body[dialect.limit], body.get("temperature")
    return {
        telemetry.REQUEST_MAX_TOKENS: limit if isinstance(limit, int) else None,
        telemetry.REQUEST_TEMPERATURE: temperature
        if isinstance(temperature, int | float)
        else None,
    }


def _usage_of_error(tally: CallTally, exchange: Exchange) -> Exchange:
    tally.exchanges.append(exchange)
    return exchange


def _not_accepted(model: str, rejection: Rejection, names: SettingNames) -> str:
    named = (text for text in (rejection.code, rejection.param) if _PLAIN_CODE.fullmatch(text))
    return (
        f"The model {model!r} does not accept the request ({next(named, 'no reason given')}); "
        f"check that {names.model} is a chat model with a context of at least 4,096 tokens."
    )


def _no_tools(model: str) -> str:
    return (
        f"The server of the model {model!r} does not accept tools; leave SEARCH=planned out, or "
        "turn tool calling on where the model is served."
    )


_LONGEST_NAME = 128
_WITHOUT_REPLY = {True: "content_filter", False: "error"}
"""Finish reason of a call without a reply, by whether the server answered at all."""


PriceOf = Callable[[Usage, tuple[str, ...]], int | None]
"""Returns the price of tokens in millionths of a US dollar, by the likeliest of model names."""


def model_call(
    prompt: Prompt,
    tally: CallTally,
    *,
    model: str,
    price: PriceOf,
    duration_ms: float,
    name: str = "",
) -> ModelCall:
    """Return the record of a call: a request and its repair, if any, also if they failed.

    It is recorded under the operator's ``name`` of the model, else under the server's. The cost
    is None if any part of it is unknown.
    """
    exchanges = tally.exchanges
    replies = [exchange.reply for exchange in exchanges if exchange.reply]
    usages = [*(reply.usage for reply in replies), *tally.unread]
    whole = len(replies) == len(exchanges)
    last = exchanges[-1].reply if exchanges else None
    answered_by = (last.model if last else None) or model
    names = tuple(dict.fromkeys((answered_by, model)))
    return ModelCall(
        purpose=prompt.id.partition("@")[0],
        model=(name or answered_by)[:_LONGEST_NAME],
        answered_by=answered_by[:_LONGEST_NAME],
        prompt=prompt.id,
        input_tokens=sum(usage.prompt_tokens for usage in usages if usage),
        output_tokens=sum(usage.completion_tokens for usage in usages if usage),
        duration_ms=duration_ms,
        cost_micro_usd=_cost(usages, names, price) if whole else None,
        finish_reason=last.finish_reason if last else _WITHOUT_REPLY[bool(exchanges)],
        attempts=tally.requests,
        repaired=len(exchanges) > 1,
        filters=tuple(verdict for exchange in exchanges for verdict in exchange.filters),
    )


def _cost(usages: Sequence[Usage | None], names: tuple[str, ...], price: PriceOf) -> int | None:
    total = 0
    for usage in usages:
        cost = price(usage, names) if usage else None
        if cost is None:
            return None
        total += cost
    return total
