"""What the standard OTEL_* variables ask for; pure.

The SDK reads most of them itself, and says little when one is wrong; here a wrong value stops
the start with its cure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from bot.domain.errors import SettingInvalid

EXPORTERS = ("otlp", "console", "none")
PROTOCOL = "http/protobuf"
DEFAULT_ENDPOINT = "http://localhost:4318"
SAMPLERS = (
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
)
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which exporters, none when tracing is off, and in words where the spans go."""

    exporters: tuple[str, ...]
    where: str


def wanted(variables: Mapping[str, str]) -> Wanted:
    """Read the variables; an empty one counts as unset. Raises SettingInvalid."""
    given = {name: value.strip() for name, value in variables.items() if value.strip()}
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return Wanted((), "off by OTEL_SDK_DISABLED")
    exporters = _exporters(given)
    if not exporters:
        return Wanted((), "off")
    _check_sampler(given)
    if "otlp" in exporters:
        _check_exporter(given)
    return Wanted(exporters, "on: " + ", ".join(_place(name, given) for name in exporters))


def _exporters(given: Mapping[str, str]) -> tuple[str, ...]:
    implied = "otlp" if _first(_ENDPOINTS, given) else "none"
    named = given.get("OTEL_TRACES_EXPORTER", implied).lower().split(",")
    names = tuple(dict.fromkeys(name.strip() for name in named if name.strip()))
    unknown = [name for name in names if name not in EXPORTERS]
    if unknown:
        raise SettingInvalid(
            f"OTEL_TRACES_EXPORTER={given['OTEL_TRACES_EXPORTER']!r} is not known here. "
            f"Use one of {', '.join(EXPORTERS)}."
        )
    return tuple(name for name in names if name != "none")


def _check_sampler(given: Mapping[str, str]) -> None:
    sampler = given.get("OTEL_TRACES_SAMPLER", SAMPLERS[3]).lower()
    if sampler not in SAMPLERS:
        raise SettingInvalid(
            f"OTEL_TRACES_SAMPLER={sampler!r} is not known. Use one of {', '.join(SAMPLERS)}."
        )
    share = given.get("OTEL_TRACES_SAMPLER_ARG", "1.0")
    if "ratio" in sampler and not 0 <= _number(share) <= 1:
        raise SettingInvalid(
            f"OTEL_TRACES_SAMPLER_ARG={share!r} is not a share of traces. Use 0.1 for one in ten."
        )


def _check_exporter(given: Mapping[str, str]) -> None:
    protocol = _first(_PROTOCOLS, given) or (_PROTOCOLS[1], PROTOCOL)
    if protocol[1].lower() != PROTOCOL:
        raise SettingInvalid(
            f"{protocol[0]}={protocol[1]!r} is not spoken here. Unset it, or use {PROTOCOL!r} and "
            "the collector's port for it, usually 4318."
        )
    timeout = _first(_TIMEOUTS, given)
    if timeout and not 0 < _number(timeout[1]) < float("inf"):
        raise SettingInvalid(f"{timeout[0]}={timeout[1]!r} is not a time. Use seconds, such as 10.")
    for name in _ENDPOINTS:
        if name in given and not _is_address(given[name]):
            raise SettingInvalid(
                f"{name} is no whole address. Write it with its scheme, such as {DEFAULT_ENDPOINT}."
            )
    for name in _HEADERS:
        if not all("=" in pair for pair in given.get(name, "=").split(",") if pair.strip()):
            raise SettingInvalid(
                f"{name}=(hidden) can't be read. Write it as NAME=VALUE,NAME=VALUE."
            )


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _place(exporter: str, given: Mapping[str, str]) -> str:
    """Say where an exporter sends to, by host and port alone: the rest may hold a password."""
    if exporter != "otlp":
        return exporter
    _, endpoint = _first(_ENDPOINTS, given) or ("", DEFAULT_ENDPOINT)
    parts = urlsplit(endpoint)
    port = f":{parts.port}" if parts.port else ""
    return f"otlp to {parts.hostname}{port}"


def _first(names: tuple[str, ...], given: Mapping[str, str]) -> tuple[str, str] | None:
    return next(((name, given[name]) for name in names if name in given), None)


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return -1.0
