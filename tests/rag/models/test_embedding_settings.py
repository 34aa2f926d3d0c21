"""A key goes to the server that it is for, and to no other."""

from __future__ import annotations

import pytest

from rag.config import SearchSettings
from rag.models.embedding.openai_compatible import embedder_settings

CHAT = "https://chat.example/v1/"


@pytest.mark.parametrize(
    ("changes", "address", "key", "named"),
    [
        ({"openai_api_key": "chat"}, "https://api.openai.com/v1/", "chat", "OPENAI_API_KEY"),
        ({"openai_api_key": "chat", "openai_base_url": CHAT}, CHAT, "chat", "OPENAI_API_KEY"),
        (
            {"openai_api_key": "chat", "openai_base_url": CHAT, "embedding_base_url": CHAT},
            CHAT,
            "chat",
            "OPENAI_API_KEY",
        ),
        (
            {"openai_api_key": "chat", "embedding_base_url": "https://else.example/v1/"},
            "https://else.example/v1/",
            None,
            "EMBEDDING_API_KEY",
        ),
        (
            {"openai_api_key": "chat", "openai_base_url": CHAT, "embedding_api_key": "own"},
            CHAT,
            "own",
            "EMBEDDING_API_KEY",
        ),
        ({"embedding_base_url": "http://127.0.0.1:1/v1/"}, "http://127.0.0.1:1/v1/", None, None),
    ],
    ids=["openai", "shared", "the same server", "another server", "own key", "no key"],
)
def test_which_key_goes_where(
    changes: dict[str, object], address: str, key: str | None, named: str | None
) -> None:
    settings = embedder_settings(SearchSettings.model_validate(changes), "small")

    assert (settings.endpoint.address, settings.endpoint.api_key) == (address, key)
    assert named in {settings.endpoint.names.api_key, None}


def test_what_the_settings_say_of_the_model_is_taken_over() -> None:
    changes = {
        "embedding_dimensions": 256,
        "embedding_max_tokens": 512,
        "embedding_tokens_per_minute": 1000,
    }
    settings = embedder_settings(SearchSettings.model_validate(changes), "small")

    assert (settings.dimensions, settings.max_tokens, settings.tokens_per_minute) == (
        256,
        512,
        1000,
    )
