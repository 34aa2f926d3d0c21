"""One trace and one line from a caller of the API to the answer, in the application as served."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from bot.observability.logs import set_up_logs
from tests.bot.house import LIKELY, LOW, house, until, write_index
from tests.bot.server import settings_for
from tests.spans import Spans

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    set_up_logs("info", stream)
    yield stream
    structlog.reset_defaults()
    logging.getLogger().handlers.clear()


@pytest.mark.parametrize("headers", [CALLER, {}], ids=["caller's", "own"])
async def test_a_question_over_the_api_is_one_trace_and_one_line(
    tmp_path: Path, spans: Spans, written: io.StringIO, headers: dict[str, str]
) -> None:
    settings = settings_for(tmp_path / "data", confidence_threshold=LOW)
    await write_index(settings, tmp_path / "pages")
    async with house(settings) as client:
        response = await client.post("/api/v1/ask", json={"question": LIKELY}, headers=headers)
        body = await response.json()
        await until(lambda: "interaction" in spans.names)

    assert response.status == 200
    assert spans.names == [
        "route",
        "retrieval",
        "generation",
        "grounding",
        "gate",
        "interaction",
    ]
    (trace_id,) = spans.trace_ids()
    assert (trace_id == TRACE) == bool(headers)
    assert spans.told("interaction")["frontdesk.interaction.id"] == body["interaction_id"]
    assert spans.told("interaction")["frontdesk.answer_type"] == body["answer_type"]
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    (line,) = [line for line in lines if line["event"] == "request.answered"]
    assert (line["trace_id"], line["interaction_id"]) == (trace_id, body["interaction_id"])
    assert line["user_query"] == LIKELY
