"""The figures behind one record, as tables; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.adapters.board.amounts import several, usd
from bot.answering.explanations.signals import (
    CALL_NAMES,
    PASSAGE_SIGNALS,
    TIMING_NAMES,
    format_signal,
    signal_of,
)
from bot.answering.visibility import Visibility
from bot.domain.types import Trace
from rag.types import FilterVerdict, ModelCall

_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first ``named`` columns are words, the others figures."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    named: int = 1
    note: str = ""


def tables(trace: Trace, sight: Visibility, *, scored: bool = True) -> tuple[Table, ...]:
    """Return the tables that have something to show; without ``scored`` no score of the search."""
    every = (
        _passages(trace, sight, PASSAGE_SIGNALS if scored else {}),
        _features(trace.features if scored else {}),
        _calls(trace.calls),
        _filters(trace.filters),
        _timings(trace.timings_ms),
        _notes(trace.notes),
    )
    return tuple(table for table in every if table.rows or table.note)


def _passages(trace: Trace, sight: Visibility, scores: Mapping[str, str]) -> Table:
    hidden = sight.hidden(trace.passages)
    return Table(
        title="Passages that were read, best first",
        head=("Page", "Section", *scores.values()),
        rows=tuple(
            (each.title, each.section, *(_figure(each.signals.get(name)) for name in scores))
            for each in sight.seen(trace.passages)
        ),
        named=2,
        note=f"{hidden:,} more that you may not read." if hidden else "",
    )


def _features(features: Mapping[str, float]) -> Table:
    named = [(signal_of(name), name, value) for name, value in features.items()]
    rows = sorted(
        (signal.name, format_signal(signal, value), name) for signal, name, value in named
    )
    return Table("What the gate weighed", ("Signal", "Value", "Name"), tuple(rows))


def _calls(calls: tuple[ModelCall, ...]) -> Table:
    return Table(
        title="Calls of language models",
        head=("For", "Model", "Prompt", "Tokens in", "Tokens out", "Took", "Cost"),
        rows=tuple(map(_call, calls)),
        named=3,
        note=_sum(calls),
    )


def _call(call: ModelCall) -> tuple[str, ...]:
    price = call.cost_micro_usd
    return (
        CALL_NAMES.get(call.purpose, call.purpose),
        call.model,
        call.prompt,
        f"{call.input_tokens:,}",
        f"{call.output_tokens:,}",
        f"{call.duration_ms:,.0f} ms",
        "not known" if price is None else usd(price / _MICRO),
    )


def _sum(calls: tuple[ModelCall, ...]) -> str:
    if not calls:
        return ""
    priced = [call.cost_micro_usd for call in calls if call.cost_micro_usd is not None]
    tokens = sum(call.input_tokens + call.output_tokens for call in calls)
    unpriced = len(calls) - len(priced)
    unknown = f", and {several(unpriced, 'call')} without a known price" if unpriced else ""
    return f"Together {tokens:,} tokens, {usd(sum(priced) / _MICRO)}{unknown}."


def _filters(verdicts: Iterable[FilterVerdict]) -> Table:
    rows = tuple(
        (each.direction, each.category, each.severity or "", "held back" if each.filtered else "")
        for each in verdicts
    )
    head = ("Direction", "Category", "Severity", "Outcome")
    return Table("What content filters said", head, rows, named=4)


def _timings(timings_ms: Mapping[str, float]) -> Table:
    rows = tuple(
        (TIMING_NAMES.get(name, name), f"{took:,.1f} ms") for name, took in timings_ms.items()
    )
    return Table("How long each step took", ("Step", "Time"), rows)


def _notes(notes: tuple[str, ...]) -> Table:
    return Table("Notes", ("Note",), tuple((note,) for note in notes))


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
