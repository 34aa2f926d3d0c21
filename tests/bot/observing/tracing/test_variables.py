"""The standard variables: what they switch on, and what is refused with its cure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import SettingInvalid
from bot.observability.tracing import TracingSettings, read_variables

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
EXPORTER = "OTEL_TRACES_EXPORTER"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, TracingSettings((), "off")),
        ({EXPORTER: "", ENDPOINT: " "}, TracingSettings((), "off")),
        ({"OTEL_SERVICE_NAME": "desk"}, TracingSettings((), "off")),
        ({EXPORTER: "none", ENDPOINT: "http://c:4318"}, TracingSettings((), "off")),
        (
            {EXPORTER: "otlp", "OTEL_SDK_DISABLED": "TRUE"},
            TracingSettings((), "off by OTEL_SDK_DISABLED"),
        ),
        ({EXPORTER: "OTLP"}, TracingSettings(("otlp",), "on: otlp to localhost:4318")),
        ({ENDPOINT: "http://c:4318"}, TracingSettings(("otlp",), "on: otlp to c:4318")),
        ({ENDPOINT: "https://anna:pw@c/x?key=k"}, TracingSettings(("otlp",), "on: otlp to c")),
        (
            {ENDPOINT: "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t:1/v1"},
            TracingSettings(("otlp",), "on: otlp to t:1"),
        ),
        ({EXPORTER: "console"}, TracingSettings(("console",), "on: console")),
        (
            {EXPORTER: "otlp, console"},
            TracingSettings(("otlp", "console"), "on: otlp to localhost:4318, console"),
        ),
        (
            {EXPORTER: "console", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            TracingSettings(("console",), "on: console"),
        ),
    ],
)
def test_off_unless_an_exporter_or_an_endpoint_is_named(
    variables: dict[str, str], expected: TracingSettings
) -> None:
    assert read_variables(variables) == expected


@pytest.mark.parametrize(
    ("variable", "value", "cure"),
    [
        (EXPORTER, "jaeger", "otlp, console, none"),
        ("OTEL_TRACES_SAMPLER", "sometimes", "parentbased_traceidratio"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "4318"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "4318"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "seconds"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0", "seconds"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "inf", "seconds"),
    ],
)
def test_a_value_that_cannot_work_is_refused_with_its_cure(
    variable: str, value: str, cure: str
) -> None:
    with pytest.raises(SettingInvalid) as refused:
        read_variables({ENDPOINT: "http://c:4318", variable: value})

    assert f"{variable}={value!r}" in str(refused.value)
    assert cure in str(refused.value)


@pytest.mark.parametrize("share", ["often", "-1", "1.5", "nan"])
def test_a_share_of_traces_is_between_none_and_all(share: str) -> None:
    variables = {ENDPOINT: "http://c", "OTEL_TRACES_SAMPLER": "traceidratio"}
    with pytest.raises(SettingInvalid, match=r"Use 0\.1"):
        read_variables({**variables, "OTEL_TRACES_SAMPLER_ARG": share})

    assert read_variables({**variables, "OTEL_TRACES_SAMPLER_ARG": "0.5"}).exporters == ("otlp",)


@pytest.mark.parametrize("address", ["collector:4318", "c", "ftp://c", "http://", "http://c:99999"])
def test_an_endpoint_is_a_whole_address_and_is_not_repeated(address: str) -> None:
    with pytest.raises(SettingInvalid, match="with its scheme") as refused:
        read_variables({ENDPOINT: address})

    assert f"={address}" not in str(refused.value)


def test_headers_that_cannot_be_read_are_not_repeated() -> None:
    with pytest.raises(SettingInvalid, match="NAME=VALUE") as refused:
        read_variables({ENDPOINT: "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "a=b,secret-4711"})

    assert "4711" not in str(refused.value)


@given(st.text(max_size=80))
def test_any_endpoint_is_read_or_refused(address: str) -> None:
    try:
        asked = read_variables({ENDPOINT: address})
    except SettingInvalid:
        return
    assert asked.exporters in {(), ("otlp",)}
