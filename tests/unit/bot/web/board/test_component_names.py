"""Tests that components are called by names of the reader's language."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.health import ComponentStatus
from bot.domain.texts import Text, load_catalogue
from bot.store.database import Store
from bot.web.board.health import NAMES, component_name, component_view
from tests.fakes.board_app import BoardState, state_pages
from tests.fakes.http_server import settings_for

BOT = Path(__file__).parents[5] / "bot"


def common_names() -> Iterator[str]:
    """Yield the names of components in running servers that are no products."""
    for path in sorted(BOT.rglob("*.py")):
        if "cli" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            ast.unparse(node.targets[0]): node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ComponentStatus"):
                name = constants.get(ast.unparse(node.args[0]), node.args[0])
                if isinstance(name, ast.Constant) and str(name.value).islower():
                    yield str(name.value)


@pytest.mark.parametrize("name", sorted({*common_names()}))
def test_each_component_with_a_common_name_has_a_text(name: str) -> None:
    assert isinstance(NAMES[name], Text)


def test_the_components_of_a_running_server_are_found() -> None:
    assert {*common_names()} == {*NAMES}


def test_a_named_model_and_a_product_keep_their_names() -> None:
    german = load_catalogue("de").default
    assert "gpt-large" in german.text(component_name("model gpt-large"))
    assert component_name("Slack") == "Slack"


def test_a_component_can_be_found_by_its_name_in_the_docs() -> None:
    view = component_view(ComponentStatus("doors", "ready", "open on this machine only"))
    assert (view.id, view.name, view.detail) == ("doors", "doors", "Open on this machine only")


async def test_a_german_page_calls_components_in_german(store: Store, tmp_path: Path) -> None:
    told = BoardState(parts=[ComponentStatus(name, "failed", "x.") for name in NAMES])
    settings = settings_for(tmp_path, ui_language="de")
    async with state_pages(store, settings, told) as client:
        status = await (await client.get("/board/parts")).text()
        overview = await (await client.get("/board")).text()

    german = load_catalogue("de").default
    for id_, name in NAMES.items():
        assert f'<h2 title="{id_}">{german.text(name)}</h2>' in status
        assert f"<span>{german.text(name)} " in overview
