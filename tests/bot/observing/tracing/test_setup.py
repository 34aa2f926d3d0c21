"""Tracing is off by default, and what switches it on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry import trace

from bot.domain.errors import SettingInvalid
from bot.observability.tracing import set_up_tracing, tracing_part
from rag import telemetry
from rag.telemetry import span

ROOT = Path(__file__).parents[4]


def test_off_by_default_and_says_how_to_switch_it_on(
    switch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    close = set_up_tracing(tmp_path / ".env")
    close()

    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    part = tracing_part()
    assert (part.name, part.state) == ("tracing", "absent")
    assert part.line().split(maxsplit=2)[2].startswith("off. Set OTEL_EXPORTER_OTLP_ENDPOINT")


def test_neither_sdk_nor_exporter_is_loaded_while_it_is_off(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from bot.observability.tracing import set_up_tracing\n"
        "set_up_tracing()\n"
        "print([m for m in sys.modules if m.startswith(('opentelemetry.sdk', "
        "'opentelemetry.exporter', 'requests', 'google.protobuf'))])\n"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**clean, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"


def test_the_env_file_counts_and_the_environment_wins(
    switch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / ".env"
    file.write_text(
        "OTEL_TRACES_EXPORTER=nonsense\nOTEL_SERVICE_NAME=from-file\nOPENAI_API_KEY=sk-1\n"
    )
    switch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SettingInvalid, match="'nonsense'"):
        set_up_tracing(file)

    switch.setenv("OTEL_TRACES_EXPORTER", "none")
    set_up_tracing(file)
    assert os.environ["OTEL_SERVICE_NAME"] == "from-file"
    assert "OPENAI_API_KEY" not in os.environ


def test_on_the_console_spans_are_printed(
    switch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    switch.setenv("OTEL_TRACES_EXPORTER", "console")
    close = set_up_tracing(tmp_path / ".env")
    with span(telemetry.GATE):
        pass
    close()

    assert '"name": "gate"' in capsys.readouterr().out
    assert tracing_part().line() == "  + tracing          on: console"
