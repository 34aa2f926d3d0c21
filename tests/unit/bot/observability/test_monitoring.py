"""Tests of the rules and the dashboard for operations: all that they read is measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from bot.domain.handoff import PERSON_REQUEST, person_request_id
from bot.domain.health import ComponentStatus
from bot.domain.interactions import CacheUse, Outcome, Reply, Trace
from bot.domain.messages import Intent
from bot.observability.metrics import Metrics
from rag.types import ModelCall
from tests.fakes.builders import NOON, message, route

MONITORING = Path(__file__).parents[4] / "infra" / "monitoring"
METRIC = re.compile(r"\bfrontdesk_\w+")
RECORDED = re.compile(r"\bfrontdesk(?::\w+)+")
CONDITION = re.compile(r"(\w+)=~?\"")
GROUPED = re.compile(r"\bby \(([^)]*)\)")
OF_PROMETHEUS = {"le", "instance"}


def rules() -> list[dict[str, Any]]:
    text = yaml.safe_load((MONITORING / "rules.yml").read_text())
    return [rule for group in text["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return found


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    yield from (target["expr"] for panel in panels() for target in panel["targets"])


def measured() -> dict[str, set[str]]:
    """Return the labels of every metric of a server that has done something of each kind."""
    metrics = Metrics()
    metrics.watch(lambda: 1)
    call = ModelCall("answer", "gpt-x", "answer@1", 100, 20, 80.0, 1_500)
    metrics.answered(
        message("?"),
        Outcome(
            Reply("Yes.", "generic"),
            Trace(route(Intent.DOMAIN, "?"), calls=(call,), cache=CacheUse("key", "miss", NOON)),
        ),
        1500,
    )
    wish = message(PERSON_REQUEST, message_id=person_request_id("m1"))
    metrics.answered(wish, Outcome(Reply("Yes.", "generic"), Trace(route(Intent.HUMAN, "?"))), 1)
    metrics.dropped(message("?"))
    page = metrics.page((ComponentStatus("index", "ready", ""),), {"open": 1}).decode()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(page):
        found.setdefault(family.name, set())
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    found["frontdesk_http_request_seconds_bucket"] = {"method", "route", "status"}
    found["frontdesk_http_request_seconds_count"] = {"method", "route", "status"}
    return found


@pytest.mark.parametrize("expression", list(expressions()))
def test_every_expression_reads_metrics_and_labels_that_exist(expression: str) -> None:
    known = measured()
    recorded = {rule["record"] for rule in rules() if "record" in rule}

    named = set(METRIC.findall(expression))
    assert named <= set(known)
    assert set(RECORDED.findall(expression)) <= recorded
    used = set(CONDITION.findall(expression))
    used |= {each.strip() for group in GROUPED.findall(expression) for each in group.split(",")}
    assert used <= set().union(OF_PROMETHEUS, *(known[each] for each in named))
    assert expression.count("(") == expression.count(")")


def test_every_alert_says_what_is_wrong_and_where_to_look() -> None:
    alerts = [rule for rule in rules() if "alert" in rule]

    assert len({rule["alert"] for rule in alerts}) == len(alerts) > 5
    for rule in alerts:
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["labels"]["severity"] in {"warning", "critical"}


def test_every_metric_of_ours_is_on_the_dashboard() -> None:
    drawn = " ".join(target["expr"] for panel in panels() for target in panel["targets"])
    ours = {name for name in measured() if name.startswith("frontdesk_")}
    stems = {re.sub(r"_(total|bucket|sum|count|created)$", "", name) for name in ours}

    assert sorted(stem for stem in stems if stem not in drawn) == []


def test_panels_do_not_lie_on_each_other() -> None:
    cells = [
        (x, y)
        for panel in panels()
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in panels()}) == len(panels())
