"""Tests of the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from bot.domain.errors import StoreUnavailable
from bot.domain.handoff import PERSON_REQUEST, person_request_id
from bot.domain.health import ComponentStatus
from bot.domain.interactions import CacheUse, Outcome, Reply, Trace
from bot.domain.messages import Intent
from bot.observability.metrics import PATH, Metrics, mount_metrics
from bot.web.problems import problem, problem_middleware
from rag.types import ModelCall
from tests.fakes.builders import NOON, message, route
from tests.fakes.http_server import LIKELY, serving_application, settings_for

CALL = ModelCall("answer", "gpt-x", "answer@1", 100, 20, 80.0, 1_500)


def samples(page: str | bytes) -> Mapping[str, float]:
    """Return what a page says, by name and labels, read by Prometheus' own parser."""
    text = page if isinstance(page, str) else page.decode()
    return {
        f"{sample.name}{sorted(sample.labels.values())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_an_outcome_is_counted_with_its_time_and_what_it_cost() -> None:
    metrics = Metrics()
    trace = Trace(route=route(Intent.DOMAIN, "?"), calls=(CALL, CALL))

    metrics.answered(message("?"), Outcome(Reply("Yes.", "generic"), trace), 1500)

    page = samples(metrics.page((), {}))
    assert page["frontdesk_answers_total['DOMAIN', 'GENERIC', 'none', 'web']"] == 1
    assert page["frontdesk_answer_seconds_sum['web']"] == 1.5
    assert page["frontdesk_model_calls_total['answer', 'gpt-x']"] == 2
    assert page["frontdesk_model_tokens_total['gpt-x', 'in']"] == 200
    assert page["frontdesk_model_tokens_total['gpt-x', 'out']"] == 40
    assert page["frontdesk_model_usd_total['gpt-x']"] == pytest.approx(0.003)


@pytest.mark.parametrize("result", ["hit", "saved", "miss"])
def test_what_the_answer_cache_did_is_counted(result: Literal["hit", "saved", "miss"]) -> None:
    metrics = Metrics()
    plain = Trace(route=route(Intent.DOMAIN, "?"))
    used = replace(plain, cache=CacheUse("k", result, NOON))
    for trace in (plain, used):
        metrics.answered(message("?"), Outcome(Reply("Yes.", "found"), trace), 1)

    page = samples(metrics.page((), {}))
    assert {name: value for name, value in page.items() if "answer_cache_total" in name} == {
        f"frontdesk_answer_cache_total['{result}']": 1
    }


@pytest.mark.mended(id="ux-5")
def test_the_press_of_a_button_is_no_answer_of_its_own() -> None:
    metrics = Metrics()
    wish = replace(message(PERSON_REQUEST), id=person_request_id("m1"))

    metrics.answered(
        wish, Outcome(Reply("Of course.", "generic"), Trace(route(Intent.HUMAN, "?"))), 5
    )

    page = samples(metrics.page((), {}))
    assert not any(name.startswith("frontdesk_answers_total") for name in page)
    assert page["frontdesk_hand_overs_total['web']"] == 1


def test_parts_and_waiting_cases_are_as_they_are_now() -> None:
    metrics = Metrics()
    metrics.watch(lambda: 7)
    index, inbox = ComponentStatus("index", "failed", "gone"), ComponentStatus("inbox", "ready", "")

    before = samples(
        metrics.page((index, inbox, ComponentStatus("Slack", "absent", "")), {"open": 3})
    )
    after = samples(metrics.page((ComponentStatus("index", "ready", ""),), {}))

    assert before["frontdesk_part_up['index']"] == 0
    assert before["frontdesk_part_up['inbox']"] == 1
    assert before["frontdesk_escalations['open']"] == 3
    assert before["frontdesk_questions_under_way[]"] == 7
    assert not [name for name in before if "Slack" in name]
    assert after["frontdesk_part_up['index']"] == 1
    assert not [name for name in after if name.startswith("frontdesk_escalations")]


async def no_parts() -> Sequence[ComponentStatus]:
    return ()


async def no_record() -> Mapping[str, int]:
    raise StoreUnavailable("It is away.")


async def test_requests_are_timed_by_route_and_not_by_what_is_in_their_path() -> None:
    async def show(request: web.Request) -> web.Response:
        if request.match_info["id"] == "gone":
            raise problem(404)
        return web.Response()

    metrics, app = Metrics(), web.Application()
    app.middlewares.extend([metrics.time, problem_middleware])
    app.router.add_get("/things/{id}", show)
    mount_metrics(app, metrics, check_parts=no_parts, cases=no_record)
    async with TestClient(TestServer(app)) as client:
        for path in ("/things/a", "/things/b", "/things/gone", "/none/of/ours"):
            await client.get(path)
        await client.request("PROPFIND", "/things/a")
        shown = await client.get(PATH)
        page = samples(await shown.text())

    assert shown.status == 200
    assert shown.headers["Content-Type"].startswith("text/plain; version=")
    counted = {
        name.removeprefix("frontdesk_http_request_seconds_count"): value
        for name, value in page.items()
        if name.startswith("frontdesk_http_request_seconds_count")
    }
    assert counted == {
        "['/things/{id}', '200', 'GET']": 2,
        "['/things/{id}', '404', 'GET']": 1,
        "['(none)', '404', 'GET']": 1,
        "['(none)', '(other)', '405']": 1,
    }


async def test_the_server_counts_what_it_answers_and_names_nobody(tmp_path: Path) -> None:
    async with serving_application(settings_for(tmp_path)) as client:
        await client.post("/api/v1/ask", json={"question": LIKELY})
        page = await (await client.get(PATH)).text()

    shown = samples(page)
    assert [v for name, v in shown.items() if name.startswith("frontdesk_answers_total")] == [1]
    assert shown["frontdesk_part_up['inbox']"] == 1
    assert shown["process_open_fds[]"] > 0
    assert LIKELY not in page
