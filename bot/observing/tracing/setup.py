"""Switches tracing on when the standard OTEL_* variables ask for it; off by default."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic_settings import BaseSettings, DotEnvSettingsSource

from bot.domain.health import ComponentStatus
from bot.observing.tracing.variables import Wanted, wanted

ENV_FILE = Path(".env")
_PREFIX = "OTEL_"


def set_up_tracing(env_file: Path = ENV_FILE) -> Callable[[], None]:
    """Send spans where the variables say, if they do; call it once, in the process that serves.

    Variables come from the environment, else from ``env_file``; the latter are put into the
    environment, which is the one place where the SDK looks. SDK and exporter are loaded only now.

    Returns:
        What ends it: sends what waits, and returns within seconds whatever the collector does.

    Raises:
        SettingInvalid: when a variable has a value that can't work.
    """
    for name, value in _in_file(env_file).items():
        if not os.environ.get(name):
            os.environ[name] = value
    asked = wanted(os.environ)
    return _start(asked) if asked.exporters else _nothing


def tracing_part(variables: Mapping[str, str] | None = None) -> ComponentStatus:
    """Say for the start, and for readiness, whether spans are sent and where to."""
    asked = wanted(os.environ if variables is None else variables)
    if asked.exporters:
        return ComponentStatus("tracing", "ready", asked.where)
    cure = "Set OTEL_EXPORTER_OTLP_ENDPOINT to a collector: docs/observability.md"
    return ComponentStatus("tracing", "absent", f"{asked.where}.", cure)


def _start(asked: Wanted) -> Callable[[], None]:
    from bot.observing.tracing import export

    return export.start(asked)


def _in_file(path: Path) -> Mapping[str, str]:
    source = DotEnvSettingsSource(
        BaseSettings, env_file=path, env_file_encoding="utf-8", case_sensitive=True
    )
    return {
        name: value for name, value in source.env_vars.items() if name.startswith(_PREFIX) and value
    }


def _nothing() -> None:
    """End what was never begun."""
