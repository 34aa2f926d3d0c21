"""The first minute of an operator: what is said at the start, and what a wrong setting says."""

from __future__ import annotations

import json
import resource
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from tests.e2e.conftest import ALMOST_ANYTHING, Served, environment, serving
from tests.fork_server import ROOT, Programme, completed

pytestmark = pytest.mark.xdist_group("served")


def run(
    tmp_path: Path, *arguments: str, plain: bool = False, **more: str
) -> subprocess.CompletedProcess[str]:
    programme = Programme(("bot", *arguments), environment(tmp_path, **more))
    return completed(programme, plain=plain)


@pytest.mark.parametrize("part", ["Slack", "Teams", "Confluence", "Azure AI Search", "model"])
def test_the_start_says_how_to_add_what_is_not_configured(served: Served, part: str) -> None:
    (line,) = [line for line in served.said.splitlines() if line.split()[1:2] == part.split()[:1]]

    assert "not" in line or "quotes" in line or "no " in line
    assert "Add " in line or "Index " in line or "used" in line


def test_the_start_says_what_is_indexed(served: Served) -> None:
    assert "Space SAMPLE-IT:" in served.said
    assert "knowledge" in served.said


@pytest.mark.usefixtures("served")
def test_a_later_start_changes_nothing_and_costs_little_beyond_its_imports(
    sample_data: Path, tmp_path: Path
) -> None:
    """Seconds of work are compared, which another program on the machine does not add to."""
    before = _seconds_of_children()
    imports = "import bot.app.cli.serve, bot.inbox.engine"
    subprocess.run([sys.executable, "-c", imports], cwd=ROOT, check=True)
    imported = _seconds_of_children()
    shutil.copytree(sample_data, tmp_path, dirs_exist_ok=True)
    for again in serving(tmp_path, plain=True):
        assert "0 added, 0 changed" in again.said
    started = _seconds_of_children()

    assert started - imported <= 3 * (imported - before)


def test_a_server_imports_nothing_that_is_not_configured_or_not_yet_needed() -> None:
    unneeded = (
        *("azure", "openai", "httpx2", "genai_prices", "slack_sdk", "slack_bolt", "botbuilder"),
        *("botframework", "msal", "pypdf", "docx", "onnxruntime", "alembic", "sklearn"),
        *("opentelemetry.sdk", "jsonschema", "phonenumbers", "stdnum"),
    )
    script = (
        "import sys, bot.app.cli.serve, bot.inbox.engine; "
        f"print(*(name for name in {unneeded} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True
    )

    assert done.stdout.split() == []


def _seconds_of_children() -> float:
    """Return what all processes that have ended took of the processors."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


@pytest.mark.mended(id="attack-9")
def test_nothing_that_is_written_is_for_other_accounts(tmp_path: Path) -> None:
    data, wiki = tmp_path / "data", tmp_path / "wiki"
    wiki.mkdir()
    (wiki / "a.md").write_text("# Leave\n\n28 days.\n")
    folder = ("ingestion", "folder", str(wiki), "--space", "IT")
    completed(Programme(folder, environment(data), first="umask 022")).check_returncode()
    for _ in serving(data, (), first="umask 022"):
        written = [data, *data.rglob("*")]

        lax = [path for path in written if path.exists() and path.stat().st_mode & 0o077]
        assert not lax
    assert {"index.sqlite", "frontdesk.sqlite"} <= {path.name for path in written}


@pytest.mark.mended(id="attack-5")
def test_hundreds_of_half_requests_do_not_stop_a_server_with_few_files(tmp_path: Path) -> None:
    half = b"GET / HTTP/1.1\r\nHost: a\r\nAcc"
    for served in serving(tmp_path, (), first="ulimit -n 256"):
        place = urlsplit(served.url)
        with ExitStack() as until:
            for _ in range(300):
                peer = socket.create_connection((place.hostname, place.port), timeout=30)
                until.enter_context(peer).sendall(half)
            with urlopen(f"{served.url}/health", timeout=30) as answer:  # noqa: S310 - ours
                assert answer.status == HTTPStatus.OK


def test_a_wrong_setting_stops_the_start_with_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "serve", plain=True, PORT="many")

    assert done.returncode == 2
    assert done.stderr.startswith("PORT='many' is wrong")
    assert done.stderr.count("\n") == 1


def test_a_second_server_on_the_same_data_directory_stops_with_the_cure(served: Served) -> None:
    done = run(served.data_dir, "serve")

    assert done.returncode == 2
    assert "Another server runs on FRONTDESK_DATA_DIR=" in done.stderr
    assert "DATABASE_URL" in done.stderr
    assert done.stderr.count("\n") == 1
    with urlopen(f"{served.url}/ready", timeout=30) as answer:  # noqa: S310 - ours
        assert answer.status == HTTPStatus.OK


@pytest.mark.usefixtures("served")
def test_the_command_line_answers_with_sources(sample_data: Path) -> None:
    question = "vpn says error 809, what now?"
    done = run(sample_data, "ask", question, CONFIDENCE_THRESHOLD=ALMOST_ANYTHING)

    assert done.returncode == 0, done.stderr
    assert "From the wiki:" in done.stdout
    assert "[1]" in done.stdout


SHOWN_WHOLE = [
    pytest.param(
        "how do I reset my password?",
        ["1. On any device", "3. Confirm with two methods", "5. At home, connect"],
        id="steps",
        marks=pytest.mark.mended(id="slack-3"),
    ),
    pytest.param(
        "who approves travel?",
        ["Would a call do?", "If not: your manager approves the trip"],
        id="a condition",
        marks=pytest.mark.mended(id="slack-3"),
    ),
    pytest.param(
        "vpn says error 809, what now?",
        ["| Code | Cause | Cure |", "| 809 | The network you are on blocks"],
        id="a row with its header",
        marks=pytest.mark.mended(id="teams-4"),
    ),
    pytest.param(
        "how many days of annual leave do I get?",
        ["| Full years with us | Days a year", "| 0 to 2 | 25 |"],
        id="the number that is asked for",
        marks=pytest.mark.mended(id="teams-4"),
    ),
]


@pytest.mark.parametrize(("question", "lines"), SHOWN_WHOLE)
def test_what_the_sample_is_asked_first_is_quoted_whole_and_in_order(
    served: Served, question: str, lines: list[str]
) -> None:
    asked = Request(  # noqa: S310 - ours
        f"{served.url}/api/v1/ask",
        json.dumps({"question": question}).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(asked, timeout=60) as answer:  # noqa: S310 - ours
        quote = json.load(answer)["sources"][0]["quote"]

    places = [quote.find(line) for line in lines]
    assert -1 not in places, quote
    assert places == sorted(places)


@pytest.mark.usefixtures("served")
def test_the_doctor_finds_a_fresh_installation_well(sample_data: Path) -> None:
    done = run(sample_data, "doctor")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "All that is configured works." in done.stdout


@pytest.mark.usefixtures("served")
def test_the_doctor_says_what_is_wrong_with_a_model(sample_data: Path) -> None:
    done = run(sample_data, "doctor", OPENAI_MODEL="none", OPENAI_BASE_URL="http://127.0.0.1:9/v1")

    assert done.returncode == 1
    assert "Broken: model" in done.stdout
