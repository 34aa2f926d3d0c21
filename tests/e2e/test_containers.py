"""Tests of the compose file, the image and the database's address."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from pydantic import SecretStr
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from bot.domain.errors import StoreUnavailable
from bot.domain.settings import Settings
from bot.inbox.engine import engine_url
from bot.store.database import database_url, prepare
from ingestion.errors import LedgerUnavailable
from ingestion.records.ledger import records_at
from tests import postgres
from tests.e2e.infra_files import AZURE, BOT_VARIABLES, INGESTION_VARIABLES, ROOT, read

INFRA = ROOT / "infra"
COMPOSE = yaml.safe_load((INFRA / "compose.yaml").read_text())
AZD = yaml.safe_load((INFRA / "azure.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("bot", "ingestion")


@pytest.mark.parametrize("name", OURS)
def test_our_containers_are_given_settings_that_there_are(name: str) -> None:
    assert SERVICES[name]["environment"].keys() <= BOT_VARIABLES | INGESTION_VARIABLES


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


DOCKERFILE = (ROOT / "Dockerfile").read_text()
CONTAINER = Path(__file__).with_name("container.sh")


def confined() -> bool:
    """Whether this machine lets us mount, and another user read what is here, as containers do."""
    asked = ["unshare", "--mount", "setpriv", "--reuid", "10001", "--clear-groups"]
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv", "mount"))):
        return False
    tried = subprocess.run(
        [*asked, sys.executable, "-c", "import bot"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=60,
    )
    return tried.returncode == 0


def test_everything_that_is_copied_is_there() -> None:
    copied = [line.split()[1:-1] for line in DOCKERFILE.splitlines() if line.startswith("COPY ")]
    own = [source for sources in copied for source in sources if not sources[0].startswith("--")]

    assert [source for source in own if not (ROOT / source).exists()] == []
    assert {"bot", "rag", "ingestion", "prompts"} <= set(own)


def test_it_does_not_run_as_root() -> None:
    assert DOCKERFILE.index("USER 10001") < DOCKERFILE.rindex("CMD ")
    assert "USER root" not in DOCKERFILE


@pytest.mark.skipif(not confined(), reason="needs root and mount namespaces")
def test_it_serves_and_stops_as_another_user_on_a_root_that_no_one_may_write(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o777)
    ran = subprocess.run(
        ["unshare", "--mount", "bash", str(CONTAINER), str(tmp_path), sys.executable, str(ROOT)],  # noqa: S607 - found above
        check=False,
        capture_output=True,
        text=True,
        timeout=110,
    )

    assert "Read-only file system" in ran.stderr
    assert "ready 200" in ran.stdout, ran.stdout + ran.stderr
    assert "ended 0" in ran.stdout, ran.stdout + ran.stderr


ENCRYPTED = "?sslmode=require"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if not postgres.available():
        pytest.skip(postgres.MISSING)
    with postgres.running() as server:
        yield server.create("frontdesk")


def test_the_vault_asks_for_an_encrypted_connection() -> None:
    vault = (AZURE / "modules" / "vault.bicep").read_text()
    [address] = re.findall(r"value: '(postgresql://[^']+)'", vault)
    filled = re.sub(r"\$\{[^}]+\}", "x", address)

    settings = Settings(database_url=SecretStr(filled))

    assert filled.endswith(ENCRYPTED)
    assert database_url(settings) == f"postgresql+psycopg://x:x@x/x{ENCRYPTED}"


async def test_the_record_is_not_kept_where_it_would_go_in_the_clear(
    address: str,
) -> None:
    settings = Settings(database_url=SecretStr(address + ENCRYPTED))

    with pytest.raises(StoreUnavailable):
        await prepare(database_url(settings))

    await prepare(database_url(Settings(database_url=SecretStr(address))))


def test_nor_is_the_engine(address: str) -> None:
    settings = Settings(database_url=SecretStr(address + ENCRYPTED))
    engine = create_engine(engine_url(settings))

    with pytest.raises(OperationalError, match="SSL"), engine.connect() as connection:
        connection.execute(text("SELECT 1"))

    engine.dispose()


async def test_nor_is_what_ingestion_remembers(address: str, tmp_path: Path) -> None:
    encrypted = records_at(tmp_path, "acme", address + ENCRYPTED)
    with pytest.raises(LedgerUnavailable):
        await encrypted.ledger.active()
    encrypted.close()

    plain = records_at(tmp_path, "acme", address)
    active = await plain.ledger.active()
    plain.close()
    assert not active


@pytest.mark.parametrize("password", ["letters123", "p@ss/w:rd?#%", "ä ö"])
def test_a_password_that_is_encoded_as_the_vault_does_is_taken(password: str) -> None:
    address = f"postgresql://frontdesk:{quote(password, safe='')}@db.example/frontdesk{ENCRYPTED}"

    settings = Settings(database_url=SecretStr(address))

    assert create_engine(database_url(settings)).url.password == password
