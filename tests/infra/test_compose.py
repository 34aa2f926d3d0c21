"""The compose file and what azd reads: what they name is there, and no container may do much."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.infra.bicep import AZURE, ROOT, read
from tests.infra.named import BOT, INGESTION

INFRA = ROOT / "infra"
COMPOSE = yaml.safe_load((INFRA / "compose.yaml").read_text())
AZD = yaml.safe_load((INFRA / "azure.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("bot", "ingestion")


@pytest.mark.parametrize("name", OURS)
def test_our_containers_are_given_settings_that_there_are(name: str) -> None:
    assert SERVICES[name]["environment"].keys() <= BOT | INGESTION


@pytest.mark.parametrize("name", SERVICES)
def test_no_container_may_write_its_root_or_become_more_than_it_is(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["tmpfs"]
    assert "privileged" not in service


@pytest.mark.parametrize("name", OURS)
def test_ours_write_to_the_data_and_to_memory_alone(name: str) -> None:
    service = SERVICES[name]

    assert service["volumes"] == ["data:/data"]
    assert service["environment"]["FRONTDESK_DATA_DIR"] == "/data"
    assert [place.split(":")[0] for place in service["tmpfs"]] == ["/tmp"]  # noqa: S108 - in there
    assert "cap_add" not in service
    assert service["depends_on"]["database"]["condition"] == "service_healthy"
    assert "pg_isready" in SERVICES["database"]["healthcheck"]["test"][1]


def test_only_this_machine_reaches_it_without_a_proxy() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert published == ["127.0.0.1:3978:3978"]


def test_a_secret_that_is_missing_stops_it_with_the_cure() -> None:
    text = (INFRA / "compose.yaml").read_text()
    asked = re.findall(r"\$\{(\w+)([^}]*)\}", text)

    assert {name for name, _ in asked} == {"POSTGRES_PASSWORD", "FRONTDESK_ADMIN_TOKEN"}
    assert all(rest.startswith(":?Set ") for _, rest in asked)


def test_what_compose_builds_and_reads_is_there() -> None:
    service = SERVICES["bot"]

    assert (INFRA / service["build"] / "Dockerfile").is_file()
    assert Path(service["env_file"]).name == ".env"


def test_the_server_is_stopped_no_sooner_than_it_has_finished() -> None:
    assert SERVICES["bot"]["stop_grace_period"] == "40s"
    assert "terminationGracePeriodSeconds: 40" in (AZURE / "modules" / "bot.bicep").read_text()


def test_what_azd_reads_is_there() -> None:
    service = AZD["services"]["bot"]
    infra = AZD["infra"]

    assert (INFRA / service["project"] / "Dockerfile").is_file()
    assert (INFRA / infra["path"] / f"{infra['module']}.bicep").is_file()
    assert (INFRA / infra["path"] / f"{infra['module']}.parameters.json").is_file()


def test_azd_finds_the_app_by_its_tag_and_the_registry_by_its_output() -> None:
    main = read(AZURE / "main.bicep")

    assert AZD["services"].keys() == {"bot"}
    assert main.path.read_text().count("'azd-service-name': 'bot'") == 1
    assert "AZURE_CONTAINER_REGISTRY_ENDPOINT" in main.declared("output")
