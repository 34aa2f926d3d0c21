"""Tests of the Bicep that describes Frontdesk on Azure, as far as it can be judged offline."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tree_sitter import Node

from bot.domain.settings_loading import load_settings
from ingestion.__main__ import main as ingestion
from tests.e2e.infra_files import (
    AZURE,
    AZURE_IDENTITY_VARIABLES,
    BOT_VARIABLES,
    FILES,
    INGESTION_VARIABLES,
    ROOT,
    Bicep,
    entries,
    properties,
    read,
    within,
    words,
)

MAIN = read(AZURE / "main.bicep")
MAIN_TEXT = (AZURE / "main.bicep").read_text()
AZD = yaml.safe_load((AZURE.parent / "azure.yaml").read_text())
BOT_BICEP = read(AZURE / "modules" / "bot.bicep")
JOBS_BICEP = read(AZURE / "modules" / "ingestion.bicep")
OPENAI = read(AZURE / "modules" / "openai.bicep")
GUIDE = ROOT / "docs" / "azure.md"
RUNNING = ROOT / "docs" / "azure-running.md"
VARIABLE = re.compile(r"^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$")
ROLE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ROLES = {
    "8ebe5a00-799e-43f5-93ac-243d3dce84a7": "Search Index Data Contributor",
    "7ca78c08-252a-4471-8644-bb5ff32d4ba0": "Search Service Contributor",
    "5e0bd9bd-7b93-4f28-af87-19fc36ad61bd": "Cognitive Services OpenAI User",
    "4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
    "7f951dda-4ed3-4680-a7ca-43fe172d538d": "AcrPull",
}
BLOCKED_FROM = {"Hate": "Low", "Violence": "Medium", "Selfharm": "High", "Sexual": "High"}


def variables(*nodes: Node) -> Iterator[tuple[str, Node]]:
    """Yield what containers are given: settings by name, and secrets by ``variable``."""
    for node in nodes:
        for name, value in properties(node):
            if name == "variable":
                yield words(value), value
            elif VARIABLE.match(name):
                yield name, value


def given_to_jobs() -> Iterator[tuple[str, Node]]:
    return variables(MAIN.variable("shared"), MAIN.variable("wiki"), JOBS_BICEP.root)


def given_to_the_bot() -> Iterator[tuple[str, Node]]:
    its_own = MAIN.declared("module")["bot"]
    return variables(MAIN.variable("shared"), MAIN.variable("wiki"), its_own, BOT_BICEP.root)


@pytest.mark.parametrize("bicep", [read(path) for path in FILES], ids=lambda one: one.path.name)
def test_every_file_is_bicep(bicep: Bicep) -> None:
    assert not bicep.broken


def test_what_is_no_bicep_is_found_out(tmp_path: Path) -> None:
    broken = tmp_path / "broken.bicep"
    broken.write_text(
        (AZURE / "main.bicep").read_text().replace("location: location\n", "location:\n", 1)
    )

    assert read(broken).broken


@pytest.mark.parametrize("path", sorted(AZURE.rglob("*.bicepparam")), ids=lambda path: path.name)
def test_every_environment_gives_what_has_to_be_given(path: Path) -> None:
    given = set(re.findall(r"^param (\w+) =", path.read_text(), flags=re.MULTILINE))

    assert given <= MAIN.params().keys()
    assert {name for name, needed in MAIN.params().items() if needed} <= given


def test_azd_gives_what_has_to_be_given() -> None:
    given = json.loads((AZURE / "main.parameters.json").read_text())["parameters"].keys()

    assert given <= MAIN.params().keys()
    assert {name for name, needed in MAIN.params().items() if needed} <= given


def test_every_module_is_given_its_parameters_and_no_others() -> None:
    for name, module in MAIN.declared("module").items():
        known = read(AZURE / words(module.named_children[1])).params()
        body = next(value for key, value in properties(module) if key == "params")
        given = {words(each.named_children[0]) for each in direct(body)}

        assert given <= known.keys(), name
        assert {key for key, needed in known.items() if needed} <= given, name


def test_every_output_that_is_asked_for_is_there() -> None:
    for name, wanted in re.findall(r"(\w+)\.outputs\.(\w+)", text_of(MAIN)):
        module = MAIN.declared("module")[name]
        outputs = read(AZURE / words(module.named_children[1])).declared("output")

        assert wanted in outputs, name


def test_the_jobs_are_given_settings_that_ingestion_has() -> None:
    assert {name for name, _ in given_to_jobs()} - AZURE_IDENTITY_VARIABLES <= INGESTION_VARIABLES


def test_the_bot_is_given_settings_that_it_has() -> None:
    given = {name for name, _ in given_to_the_bot()}

    assert given - AZURE_IDENTITY_VARIABLES <= BOT_VARIABLES | INGESTION_VARIABLES
    assert given >= {"DATABASE_URL", "AZURE_SEARCH_ENDPOINT", "PUBLIC_URL", "SLACK_BOT_TOKEN"}


def test_what_is_written_there_is_taken_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in given_to_the_bot():
        if (
            name in BOT_VARIABLES
            and value.type == "string"
            and not list(within(value, "interpolation"))
        ):
            monkeypatch.setenv(name, words(value))
    monkeypatch.setenv("MICROSOFT_APP_ID", "an-id")
    monkeypatch.delenv("DATABASE_URL")
    for secret in ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET"):
        monkeypatch.delenv(secret)

    settings = load_settings()

    assert (settings.host, settings.port) == ("0.0.0.0", 3978)  # noqa: S104 - what a container listens to
    assert settings.microsoft_app_type == "UserAssignedMSI"


def test_the_probes_ask_where_the_server_listens() -> None:
    probes = text_of(BOT_BICEP)
    ports = set(re.findall(r"(?:port|targetPort|PORT): '?(\d+)", probes, flags=re.IGNORECASE))

    assert ports == {"3978"}
    assert set(re.findall(r"path: '([^']+)'", probes)) == {"/health", "/ready"}


@pytest.mark.parametrize(
    "job", list(entries(JOBS_BICEP.variable("jobs"))), ids=lambda job: job["name"]
)
def test_the_jobs_order_what_ingestion_understands(
    job: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = re.findall(r"'([^']+)'", job["arguments"])

    with pytest.raises(SystemExit) as ended:
        ingestion([*asked, "--help"])

    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert all(flag in told for flag in asked[1:])


def test_every_role_is_one_that_the_guide_gives_a_reason_for() -> None:
    used = {role for path in FILES for role in ROLE.findall(path.read_text())}
    guide = GUIDE.read_text()

    assert used == ROLES.keys()
    for role, name in ROLES.items():
        assert re.search(rf"\| {name} \| `{role}` \| [^|]{{10,}} \| [^|]{{20,}} \|", guide), name


def test_the_bot_may_not_change_definitions() -> None:
    granted = list(entries(read(AZURE / "modules" / "search.bicep").variable("granted")))
    definers = [one["principal"] for one in granted if one["role"] == "serviceContributor"]

    assert definers == ["ingestionPrincipal"]


def model(name: str) -> dict[str, str]:
    return next(entries(MAIN.default(name)))


@pytest.mark.mended(id="confluence-1")
def test_the_chat_model_is_one_that_can_be_deployed() -> None:
    assert model("chatModel") == {
        "name": "gpt-5.4-mini",
        "version": "2026-03-17",
        "sku": "GlobalStandard",
        "capacity": "50",
    }


@pytest.mark.mended(id="confluence-2")
def test_both_models_are_of_a_sku_that_every_region_has() -> None:
    """Standard has text-embedding-3-small in one region of Europe alone."""
    assert {model("chatModel")["sku"], model("embeddingModel")["sku"]} == {"GlobalStandard"}
    assert "DataZoneStandard" in GUIDE.read_text()


@pytest.mark.mended(id="confluence-1")
@pytest.mark.parametrize("name", ["chatModel", "embeddingModel"])
def test_azd_sets_a_model_by_name_version_and_sku(name: str) -> None:
    given = json.loads((AZURE / "main.parameters.json").read_text())["parameters"][name]["value"]
    by_env = {key: re.fullmatch(r"\$\{(\w+)=(.+)\}", str(value)) for key, value in given.items()}

    assert {key for key, found in by_env.items() if found} == {"name", "version", "sku"}
    defaults = {key: found[2] if found else str(given[key]) for key, found in by_env.items()}
    assert defaults == model(name)
    assert all(found[1] in GUIDE.read_text() for found in by_env.values() if found)


@pytest.mark.mended(id="confluence-1")
@pytest.mark.parametrize("name", ["chatModel", "embeddingModel"])
def test_the_day_a_model_retires_stands_beside_it_and_in_the_guide(name: str) -> None:
    beside = re.search(
        rf"// [^\n]*(20\d\d-\d\d-\d\d)[^\n]*\n@description[^\n]*\nparam {name} ", MAIN_TEXT
    )
    later = RUNNING.read_text().partition("## After the first deployment")[2].partition("\n## ")[0]

    assert beside
    assert beside[1] in later
    assert model(name)["name"] in later


SECRETS = {"DATABASE_URL", "FRONTDESK_ADMIN_TOKEN", "CONFLUENCE_TOKEN", "SLACK_BOT_TOKEN"}


@pytest.mark.mended(id="confluence-10")
def test_the_placeholder_is_given_nothing_of_ours() -> None:
    app = BOT_BICEP.declared("resource")["app"]
    first = set(BOT_BICEP.leads_to(app, "isPlaceholder", holds=True))
    then = set(BOT_BICEP.leads_to(app, "isPlaceholder", holds=False))

    assert then >= {*SECRETS, "PUBLIC_URL", "UserAssigned", "/data", "/health", "3978"}
    assert first.isdisjoint({*SECRETS, "PUBLIC_URL", "UserAssigned", "/data", "/health", "3978"})
    assert "80" in first - then


@pytest.mark.mended(id="confluence-10")
def test_azd_puts_no_image_where_the_placeholder_is() -> None:
    steps = [step["azd"] for step in AZD["workflows"]["up"]["steps"]]

    assert steps == ["provision", "publish --all", "provision"]


@pytest.mark.mended(id="confluence-10")
def test_every_role_assignment_is_named_by_its_principal() -> None:
    named = re.findall(r"name: guid\((.+)\)\n\s+properties: \{\n\s+principalId: (\S+)", all_text())

    assert len(named) == all_text().count("roleAssignments@")
    assert all(principal in arguments.split(", ") for arguments, principal in named)


def test_the_content_policy_is_what_was_asked_for() -> None:
    thresholds = {one["name"]: one["severity"] for one in entries(OPENAI.variable("thresholds"))}
    ways = [next(entries(OPENAI.variable(name)))["source"] for name in ("prompt", "completion")]
    chat = dict(properties(OPENAI.declared("resource")["chat"]))

    assert thresholds == BLOCKED_FROM
    assert ways == ["Prompt", "Completion"]
    assert words(chat["raiPolicyName"]) == "policy.name"


@pytest.mark.parametrize("name", ["search", "openai", "registration"])
def test_nothing_takes_keys(name: str) -> None:
    assert "disableLocalAuth: true" in (AZURE / "modules" / f"{name}.bicep").read_text()


def test_no_secret_is_an_output_or_has_a_default() -> None:
    assert not re.search(
        r"^output .*(password|token|secret)", all_text(), re.IGNORECASE | re.MULTILINE
    )
    for decorated in re.findall(r"@secure\(\)\n(?:@.*\n)*param (.+)", all_text()):
        assert re.fullmatch(r"\w+ string(?: = '')?", decorated)


def test_every_parameter_says_what_it_is() -> None:
    main = text_of(MAIN)
    described = set(re.findall(r"@description\('[^\n]+'\)\nparam (\w+)", main))

    assert MAIN.params().keys() - described == {"tags"} - described


def test_every_finding_of_the_linter_that_is_let_go_has_its_reason() -> None:
    skipped = re.findall(r"checkov:skip=(.*)", all_text())

    assert skipped
    assert all(re.fullmatch(r"CKV_AZURE_\d+: \S.{8,}", each) for each in skipped)


def direct(node: Node) -> Iterator[Node]:
    return (each for each in node.children if each.type == "object_property")


def text_of(bicep: Bicep) -> str:
    return bicep.path.read_text()


def all_text() -> str:
    return "\n".join(path.read_text() for path in FILES)
