"""The figures behind an explanation, named and ordered for reading; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bot.domain.types import FoundPassage, Intent, Trace
from bot.gating.gate import Weight
from bot.why.signals import CALLS, FOUND_BY, TIMES, signal_of, written
from rag.types import ModelCall

_DECIDERS = {
    "rule": "a fixed rule",
    "classifier": "the local classifier",
    "model": "the language model",
    "default": "the default",
}
_INTENTS = {
    Intent.GENERIC: "small talk or general knowledge",
    Intent.DOMAIN: "about the company",
    Intent.UNKNOWN: "not sure",
    Intent.HUMAN: "wants a person",
}
_HARDLY, _CLEARLY = 0.05, 0.25
"""Log-odds."""

_MICRO = 1_000_000
_SECOND = 1000.0


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, and the length of its bar from 0 to 100; None where it was not measured."""

    figure: str
    bar: int | None


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A passage with its signals in the order of the table's columns."""

    title: str
    section: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class WeightRow:
    """A signal, and what it did to the judgement; ``side`` is for, against or neither."""

    name: str
    cell: Cell
    did: str
    side: str


@dataclass(frozen=True, slots=True)
class Group:
    """Figures under one heading."""

    name: str
    rows: tuple[tuple[str, str], ...]


def passage_rows(
    passages: Sequence[FoundPassage], *, scored: bool = True
) -> tuple[PassageRow, ...]:
    """Return the passages as they were ranked; bars compare within a column.

    Without ``scored`` they have no cells.
    """
    most = {
        name: max((each.signals.get(name, 0.0) for each in passages), default=0.0)
        for name in FOUND_BY
    }
    return tuple(
        PassageRow(
            each.title,
            each.section if each.section != each.title else "",
            tuple(_cell(each.signals.get(name), most[name]) for name in FOUND_BY if scored),
        )
        for each in passages
    )


def _cell(value: float | None, most: float) -> Cell:
    if value is None:
        return Cell("", None)
    share = value / most if most > 0 else 0.0
    return Cell(f"{value:.2f}", round(100 * min(1.0, max(0.0, share))))


def weight_rows(weights: Sequence[Weight], features: Mapping[str, float]) -> tuple[WeightRow, ...]:
    """Return the signals that were weighed, those that did most first."""
    return tuple(
        _weight_row(each, features[each.name])
        for each in sorted(weights, key=lambda each: -abs(each.push))
    )


def _weight_row(weight: Weight, value: float) -> WeightRow:
    signal = signal_of(weight.name)
    return WeightRow(
        name=signal.name,
        cell=Cell(written(signal, value), round(100 * weight.place)),
        did=_did(weight.push),
        side=_side(weight.push),
    )


def _did(push: float) -> str:
    if abs(push) < _HARDLY:
        return "hardly counts"
    strength = "clearly " if abs(push) >= _CLEARLY else ""
    return f"{strength}{_side(push)}"


def _side(push: float) -> str:
    if abs(push) < _HARDLY:
        return "neither"
    return "for" if push > 0 else "against"


def groups(trace: Trace, weighed: AbstractSet[str]) -> tuple[Group, ...]:
    """Return all other figures; what was ``weighed`` is shown elsewhere."""
    every = (
        Group("Kind of question", tuple(_route(trace))),
        Group("Other signals", tuple(_signals(trace.features, weighed))),
        Group("Time", tuple(_times(trace.timings_ms))),
        Group("Language model", tuple(_calls(trace.calls))),
        Group("Remarks", tuple(("", _sentence(note)) for note in trace.notes)),
    )
    return tuple(group for group in every if group.rows)


def _route(trace: Trace) -> list[tuple[str, str]]:
    route = trace.route
    return [
        ("Taken as", _INTENTS[route.intent]),
        ("Decided by", f"{_DECIDERS[route.decided_by]}, {route.score:.0%} sure"),
    ]


def _signals(features: Mapping[str, float], weighed: AbstractSet[str]) -> list[tuple[str, str]]:
    others = {name: value for name, value in features.items() if name not in weighed}
    named = [(signal_of(name), value) for name, value in others.items()]
    return sorted((signal.name, written(signal, value)) for signal, value in named)


def _times(timings: Mapping[str, float]) -> list[tuple[str, str]]:
    rows = [(TIMES.get(name, name), _duration(value)) for name, value in timings.items()]
    return [*rows, ("Together", _duration(sum(timings.values())))] if len(rows) > 1 else rows


def _duration(milliseconds: float) -> str:
    if milliseconds < _SECOND:
        return f"{milliseconds:.0f} ms" if milliseconds >= 1 else "under 1 ms"
    return f"{milliseconds / _SECOND:.1f} s"


def _calls(calls: Sequence[ModelCall]) -> list[tuple[str, str]]:
    if not calls:
        return [("Asked", "not at all, so it cost nothing")]
    rows = [(CALLS.get(call.purpose, call.purpose), _call(call)) for call in calls]
    return [*rows, ("Cost", _cost(calls))]


def _call(call: ModelCall) -> str:
    read, wrote = f"{call.input_tokens:,}", f"{call.output_tokens:,}"
    asked = f"{call.model} read {read} and wrote {wrote} tokens in {_duration(call.duration_ms)}"
    return f"{asked} ({call.prompt})"


def _cost(calls: Sequence[ModelCall]) -> str:
    known = [call.cost_micro_usd for call in calls if call.cost_micro_usd is not None]
    if not known:
        return "not known: no price is set for this model"
    dollars = f"{sum(known) / _MICRO:.4f} US dollars"
    return dollars if len(known) == len(calls) else f"{dollars}, and calls without a known price"


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."
