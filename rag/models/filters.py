"""Content-filter verdicts, as Azure OpenAI writes them, on the way in and out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from rag.models.wire import ChatReply, joined_results
from rag.types import FilterVerdict

Direction = Literal["input", "output"]

UNSPECIFIED = "unspecified"
"""The category when a filter stopped a call without saying why."""

_RESULT_KEYS = ("content_filter_result", "content_filter_results")
_INNER_KEYS = ("innererror", "inner_error")


def reply_verdicts(reply: ChatReply) -> tuple[FilterVerdict, ...]:
    """Return every verdict that an answer carries: the prompt's, then the output's."""
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
    """Return why an input was blocked, or None when the error is about something else."""
    error = _unwrapped(error_body)
    inner = _first(error, _INNER_KEYS)
    codes = {error.get("code"), inner.get("code")}
    if not codes & {"content_filter", "ResponsibleAIPolicyViolation"}:
        return None
    results = _first(inner, _RESULT_KEYS) or _first(error, _RESULT_KEYS)
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
    """Return the error itself, which the SDK may or may not have unwrapped."""
    if not isinstance(body, dict):
        return {}
    inner = body.get("error")
    return inner if isinstance(inner, dict) else body


def _first(source: Mapping[str, object], keys: tuple[str, ...]) -> Mapping[str, object]:
    found = (source[key] for key in keys if isinstance(source.get(key), dict))
    value = next(found, {})
    return value if isinstance(value, dict) else {}
