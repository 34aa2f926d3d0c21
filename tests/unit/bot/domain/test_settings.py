"""Settings have conventional names, and one clear line for a wrong value."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.domain.errors import SettingInvalid
from bot.domain.settings import NOT_FOUND, Settings
from bot.domain.settings_loading import load_settings


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():
        monkeypatch.delenv((field.alias or name).upper(), raising=False)


def test_defaults_need_no_environment() -> None:
    settings = load_settings()

    assert (settings.host, settings.port, settings.top_k) == ("127.0.0.1", 3978, 5)
    assert settings.confidence_threshold is None
    assert settings.not_found_message == NOT_FOUND
    assert not settings.slack_configured
    assert not settings.teams_configured
    assert not settings.model_configured


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("PORT", "99999", "99999"),
        ("RAG_TOP_K", "zero", "Passages"),
        ("CONFIDENCE_THRESHOLD", "1.5", "probability"),
        ("ROUTER", "magic", "cascade"),
        ("FRONTDESK_TENANT", "No Spaces", "tenant"),
        ("MICROSOFT_APP_TYPE", "Multi", "SingleTenant"),
    ],
)
def test_a_wrong_value_is_named_with_its_variable_and_cure(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(SettingInvalid) as raised:
        load_settings()

    line = str(raised.value)
    assert line.startswith(f"{variable}={value!r}")
    assert words.lower() in line.lower()
    assert "\n" not in line


@pytest.mark.mended(id="teams-6")
@pytest.mark.parametrize("written", ["http://127.0.0.1:1/conn", "http://127.0.0.1:1/conn/"])
def test_the_address_of_teams_may_end_with_or_without_a_slash(written: str) -> None:
    assert load_settings(teams_service_url=written).teams_service_url == "http://127.0.0.1:1/conn/"


@pytest.mark.mended(id="ux-9")
def test_examples_of_the_chat_are_parted_by_semicolons(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CHAT_EXAMPLES=Is it open, and when?; Who pays? ;\n")

    assert load_settings().chat_starters == ("Is it open, and when?", "Who pays?")
    assert load_settings(chat_examples=";").chat_starters == ()


def test_a_file_named_env_is_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PORT=4000\nFRONTDESK_SPACES=IT, HR\nUNRELATED=1\n")

    settings = load_settings()

    assert settings.port == 4000
    assert settings.index_spaces == frozenset({"IT", "HR"})


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "")

    assert load_settings().port == 3978


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-very-secret")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "very-secret")

    assert "very-secret" not in repr(load_settings())


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, "SLACK_SIGNING_SECRET"),
        ({"SLACK_SIGNING_SECRET": "s"}, "SLACK_BOT_TOKEN"),
        ({"SLACK_APP_TOKEN": "xapp-1"}, "SLACK_BOT_TOKEN"),
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, "SLACK_APP_TOKEN"),
        ({"SLACK_BOT_TOKEN": "xapp-1", "SLACK_APP_TOKEN": "xapp-1"}, "begins with xoxb-"),
        ({"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xoxb-1"}, "connections:write"),
        ({"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": " "}, "anyone could sign"),
        ({"SLACK_TEAM_ID": "acme"}, "SLACK_TEAM_ID='acme'"),
        ({"SLACK_OUTSIDERS": "no"}, "SLACK_OUTSIDERS='no'"),
        pytest.param(
            {"SLACK_OUTSIDERS": "answer"},
            "SLACK_OUTSIDER_SPACES",
            marks=pytest.mark.mended(id="slack-2"),
        ),
        pytest.param(
            {"TEAMS_OUTSIDERS": "answer", "TEAMS_OUTSIDER_SPACES": "IT"},
            "TEAMS_OUTSIDER_SPACES",
            marks=pytest.mark.mended(id="slack-2"),
        ),
        ({"MICROSOFT_APP_PASSWORD": "p"}, "MICROSOFT_APP_ID"),
        ({"ROUTER": "llm"}, "OPENAI_MODEL"),
        ({"SLACK_API_URL": "slack.com"}, "SLACK_API_URL"),
        ({"NOT_FOUND_MESSAGE": "  "}, "NOT_FOUND_MESSAGE"),
    ],
)
def test_half_of_what_only_works_whole_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], named: str
) -> None:
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)

    with pytest.raises(SettingInvalid) as raised:
        load_settings()

    assert named in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_server_others_reach_takes_no_unsigned_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (
        ("TEAMS_DEV_MODE", "true"),
        ("SLACK_BOT_TOKEN", "xoxb-1"),
        ("SLACK_SIGNING_SECRET", "s"),
    ):
        monkeypatch.setenv(name, value)

    with pytest.raises(SettingInvalid, match="Unset TEAMS_DEV_MODE"):
        load_settings()


@pytest.mark.parametrize(
    ("given", "transport"),
    [
        ({"SLACK_SIGNING_SECRET": "s"}, "http"),
        ({"SLACK_APP_TOKEN": "xapp-1"}, "socket"),
        ({"SLACK_SIGNING_SECRET": "s", "SLACK_APP_TOKEN": "xapp-1"}, "socket"),
    ],
)
def test_slack_has_one_transport_and_closes_the_doors_by_either(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], transport: str
) -> None:
    for variable, value in {"SLACK_BOT_TOKEN": "xoxb-1", **given}.items():
        monkeypatch.setenv(variable, value)

    settings = load_settings()

    assert settings.slack_configured
    assert settings.slack_transport == transport
    assert settings.exposed
    assert not settings.reachable


OIDC = {
    "OIDC_ISSUER": "https://id.example",
    "OIDC_CLIENT_ID": "desk",
    "PUBLIC_URL": "https://desk.example",
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"OIDC_CLIENT_ID": ""}, "OIDC_ISSUER and OIDC_CLIENT_ID"),
        ({"OIDC_ISSUER": ""}, "OIDC_ISSUER and OIDC_CLIENT_ID"),
        ({"PUBLIC_URL": ""}, "PUBLIC_URL is not"),
        ({"PUBLIC_URL": "http://desk.example"}, "PUBLIC_URL='http://desk.example' is plain HTTP"),
        ({"OIDC_ISSUER": "http://id.example"}, "OIDC_ISSUER='http://id.example' is plain HTTP"),
        ({"OIDC_ISSUER": "https://[id"}, "OIDC_ISSUER='https://[id' is no address"),
        ({"PUBLIC_URL": "https://desk:port"}, "PUBLIC_URL='https://desk:port' is no address"),
        ({"OIDC_ISSUER": "id.example"}, "OIDC_ISSUER='id.example' is wrong"),
    ],
)
def test_a_sign_in_that_cannot_work_or_can_be_read_along_is_refused(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, str], said: str
) -> None:
    for variable, value in {**OIDC, **change}.items():
        monkeypatch.setenv(variable, value)

    with pytest.raises(SettingInvalid) as raised:
        load_settings()

    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_groups_are_given_by_comma(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in {**OIDC, "OIDC_ADMIN_GROUPS": " a b, Desk.Admin ,"}.items():
        monkeypatch.setenv(variable, value)

    assert load_settings().oidc_admin_groups == ("a b", "Desk.Admin")
