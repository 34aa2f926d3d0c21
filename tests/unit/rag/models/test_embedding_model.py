"""An embedder of OpenAI's protocol: settings and keys, vectors, limits, retries and prices."""

from __future__ import annotations

import asyncio
import math
import time

import numpy as np
import pytest
from aiohttp import web

from rag.config import SearchSettings
from rag.errors import ModelUnavailable
from rag.models.client import Endpoint
from rag.models.openai_embedder import (
    QUERY_RETRIES,
    TEXT_RETRIES,
    EmbedderSettings,
    embedder_settings,
)
from rag.ports import CountsUse
from tests.fakes.model_server import (
    SMALL_MODEL,
    VECTOR_LENGTH,
    Answer,
    OpenAIServer,
    ReplyChange,
    Seen,
    cuts,
    embeds,
    fails,
    floods,
    open_test_embedder,
    redirects,
    refuses,
    resets,
    sends,
    slowly,
    texts_of,
    unit,
    vector_of,
)

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


def sent(seen: Seen) -> list[str]:
    return texts_of(seen.body)


def sizes(server: OpenAIServer) -> list[int]:
    return [len(sent(each)) for each in server.seen]


async def test_vectors_come_in_the_order_of_the_texts_and_have_unit_length() -> None:
    texts = [f"text {number}" for number in range(5)]
    async with open_test_embedder(embeds()) as (embedder, _):
        vectors = await embedder.embed(texts)

    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(np.array([unit(vector_of(text)) for text in texts]), abs=1e-6)


async def test_a_question_is_one_vector() -> None:
    async with open_test_embedder(embeds()) as (embedder, server):
        vector = await embedder.embed_query("vpn")

    assert vector == pytest.approx(np.array(unit(vector_of("vpn"))), abs=1e-6)
    assert server.seen[0].path == "/v1/embeddings"
    assert server.seen[0].body == {
        "model": "small",
        "input": ["vpn"],
        "encoding_format": "float",
        "dimensions": VECTOR_LENGTH,
    }


async def test_no_texts_are_no_request() -> None:
    async with open_test_embedder(embeds()) as (embedder, server):
        vectors = await embedder.embed([])

    assert vectors.shape == (0, VECTOR_LENGTH)
    assert server.seen == []


async def test_many_texts_are_sent_64_at_a_time() -> None:
    async with open_test_embedder(embeds()) as (embedder, server):
        vectors = await embedder.embed([f"text {number}" for number in range(150)])

    assert sizes(server) == [64, 64, 22]
    assert vectors[149] == pytest.approx(np.array(unit(vector_of("text 149"))), abs=1e-6)


async def test_the_length_of_a_vector_is_asked_of_the_server_where_it_is_not_known() -> None:
    async with open_test_embedder(embeds(16), dimensions=None) as (embedder, server):
        assert embedder.dimensions == 16
        assert embedder.name == "small@16"

    assert "dimensions" not in server.seen[0].body


async def test_a_start_with_a_known_model_asks_nothing() -> None:
    async with open_test_embedder(embeds(), dimensions=None, model=SMALL_MODEL) as (
        embedder,
        server,
    ):
        assert (embedder.name, embedder.dimensions) == (f"{SMALL_MODEL}@1536", 1536)

    assert server.seen == []


async def test_a_start_whose_server_is_away_says_what_to_look_at() -> None:
    with pytest.raises(ModelUnavailable, match="EMBEDDING_BASE_URL"):
        async with open_test_embedder(resets, dimensions=None):
            pass


async def test_vectors_are_known_by_model_and_length_and_not_by_their_server() -> None:
    async with open_test_embedder(embeds()) as (one, _), open_test_embedder(embeds()) as (other, _):
        assert one.name == other.name == f"small@{VECTOR_LENGTH}"


async def test_a_server_that_gives_vectors_of_another_length_is_refused_with_the_cure() -> None:
    async with open_test_embedder(embeds(length=4)) as (embedder, _):
        with pytest.raises(ModelUnavailable, match="EMBEDDING_DIMENSIONS=4"):
            await embedder.embed_query("vpn")


@pytest.mark.parametrize("about", ["dimensions", "matryoshka representation of dimensions"])
async def test_a_server_that_takes_no_dimensions_is_asked_without_them(about: str) -> None:
    picky = refuses(
        lambda body: "dimensions" in body, f"unsupported: {about}", embeds(VECTOR_LENGTH)
    )
    async with open_test_embedder(picky) as (embedder, server):
        await embedder.embed_query("vpn")
        await embedder.embed_query("again")

    assert ["dimensions" in each.body for each in server.seen] == [True, False, False]


def row(reply: dict[str, object], number: int) -> dict[str, object]:
    data = reply["data"]
    assert isinstance(data, list)
    found = data[number]
    assert isinstance(found, dict)
    return found


def without_one(reply: dict[str, object]) -> None:
    data = reply["data"]
    assert isinstance(data, list)
    data.pop()


def said_of(reply: dict[str, object], vector: object) -> None:
    row(reply, 0)["embedding"] = vector


@pytest.mark.parametrize(
    "changed",
    [
        without_one,
        lambda reply: row(reply, 0).update(index=0),
        lambda reply: row(reply, 0).update(index=7),
        lambda reply: said_of(reply, [0.5] * (VECTOR_LENGTH - 1)),
        lambda reply: said_of(reply, []),
        lambda reply: said_of(reply, [math.nan] * VECTOR_LENGTH),
        lambda reply: said_of(reply, [math.inf] * VECTOR_LENGTH),
        lambda reply: said_of(reply, [0.0] * VECTOR_LENGTH),
        lambda reply: said_of(reply, [1e200] * VECTOR_LENGTH),
        lambda reply: said_of(reply, "not base64 at all"),
        lambda reply: said_of(reply, "QUJD"),
    ],
    ids=[
        "missing",
        "twice",
        "elsewhere",
        "short",
        "empty",
        "nan",
        "infinite",
        "zero",
        "huge",
        "words",
        "bytes",
    ],
)
async def test_vectors_that_cannot_be_compared_are_refused(changed: ReplyChange) -> None:
    async with open_test_embedder(embeds(changed=changed)) as (embedder, server):
        with pytest.raises(ModelUnavailable, match="EMBEDDING_MODEL"):
            await embedder.embed(["one", "two"])
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    "trouble",
    [
        fails(429),
        fails(429, {"Retry-After": "0"}),
        fails(503, {"Retry-After": "0"}),
        fails(500),
        resets,
        cuts,
        sends(b"<html>busy</html>", "text/html"),
        sends(b'{"data": 3}'),
    ],
)
async def test_what_may_pass_is_tried_again(trouble: Answer) -> None:
    async with open_test_embedder(trouble, embeds()) as (embedder, server):
        assert (await embedder.embed(["one", "two"])).shape == (2, VECTOR_LENGTH)
        assert (len(server.seen), embedder.use.requests) == (2, 2)


async def test_a_question_does_not_wait_longer_than_its_deadline() -> None:
    async with open_test_embedder(fails(429, {"Retry-After": "60"}), seconds=0.5) as (
        embedder,
        server,
    ):
        with pytest.raises(ModelUnavailable, match="429"):
            await embedder.embed_query("vpn")
        assert len(server.seen) == 1


async def test_a_server_that_hangs_is_given_up_at_the_deadline() -> None:
    async with open_test_embedder(slowly(30, embeds()), seconds=0.3) as (embedder, _):
        with pytest.raises(ModelUnavailable, match=r"0\.3 seconds"):
            await embedder.embed_query("vpn")


def test_indexing_waits_for_minutes_and_questions_for_seconds() -> None:
    assert QUERY_RETRIES.seconds == 20
    assert TEXT_RETRIES.seconds >= 600
    assert TEXT_RETRIES.policy.attempts * TEXT_RETRIES.policy.first_wait_seconds >= 120


async def test_indexing_outlasts_a_storm_of_refusals() -> None:
    storm = [fails(429)] * 30
    patient = EmbedderSettings("small").texts
    quick = type(patient)(10.0, type(patient.policy)(100, 0.001, 0.002, 0.001))
    async with open_test_embedder(*storm, embeds(), texts=quick) as (embedder, server):
        await embedder.embed(["one"])
        assert len(server.seen) == 31


async def test_indexing_can_be_cancelled_while_it_waits() -> None:
    asked, busy = asyncio.Event(), fails(429, {"Retry-After": "400"})

    async def answer(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        asked.set()
        return await busy(request, body)

    async with open_test_embedder(answer) as (embedder, server), asyncio.timeout(60):
        work = asyncio.create_task(embedder.embed(["one"]))
        await asked.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("trouble", "cure"),
    [
        (fails(401), "EMBEDDING_API_KEY"),
        (fails(403), "Cognitive Services OpenAI User"),
        (fails(404), "EMBEDDING_MODEL"),
        (fails(400, message="odd"), "EMBEDDING_MODEL"),
        (fails(429, code="insufficient_quota"), "billing of EMBEDDING_API_KEY"),
        (redirects("http://127.0.0.1:9/"), "EMBEDDING_BASE_URL"),
        (floods(33 * 1024 * 1024), "EMBEDDING_BASE_URL"),
    ],
)
async def test_what_does_not_pass_is_told_at_once_with_the_setting(
    trouble: Answer, cure: str
) -> None:
    async with open_test_embedder(trouble) as (embedder, server):
        with pytest.raises(ModelUnavailable, match=cure):
            await embedder.embed_query("secret question")
        assert len(server.seen) == 1


async def test_neither_key_nor_text_is_in_an_error() -> None:
    leaky = fails(400, message="bad key sk-right-0123456789 for 'secret question'")
    async with open_test_embedder(leaky) as (embedder, _):
        with pytest.raises(ModelUnavailable) as raised:
            await embedder.embed_query("secret question")

    assert "sk-right" not in str(raised.value)
    assert "secret question" not in str(raised.value)


async def test_a_text_that_the_server_finds_too_long_is_cut_and_counted() -> None:
    def too_long(body: dict[str, object]) -> bool:
        return any(len(text) > 1000 for text in texts_of(body))

    picky = refuses(too_long, "This model's maximum context length is 250 tokens", embeds())
    texts = ["short", "word " * 500, "also short"]
    async with open_test_embedder(picky) as (embedder, server):
        vectors = await embedder.embed(texts)
        assert embedder.use.cut == 1

    assert vectors[0] == pytest.approx(np.array(unit(vector_of("short"))), abs=1e-6)
    assert vectors[2] == pytest.approx(np.array(unit(vector_of("also short"))), abs=1e-6)
    accepted = next(text for each in server.seen[::-1] for text in sent(each) if "word" in text)
    assert 500 < len(accepted) <= 1000
    assert texts[1].startswith(accepted)


async def test_no_more_of_a_text_is_sent_than_the_model_sees() -> None:
    async with open_test_embedder(embeds(), max_tokens=100) as (embedder, server):
        await embedder.embed_query("password " * 1000)
        assert embedder.use.cut == 1

    (question,) = sent(server.seen[0])
    assert 0 < embedder.count_tokens(question) <= 100


@pytest.mark.parametrize("text", ["", "   ", "\n", "\ud800", "\x00", "🙂" * 9000, "x" * 100_000])
async def test_odd_texts_are_embedded(text: str) -> None:
    blank = refuses(
        lambda body: any(not each.strip() for each in texts_of(body)), "input is empty", embeds()
    )
    async with open_test_embedder(blank) as (embedder, _):
        assert np.linalg.norm(await embedder.embed_query(text)) == pytest.approx(1)


async def test_a_server_that_takes_fewer_texts_at_once_is_sent_fewer_from_then_on() -> None:
    def many(body: dict[str, object]) -> bool:
        return len(texts_of(body)) > 32

    picky = refuses(many, "batch size 64 > maximum allowed batch size 32", embeds(), status=413)
    async with open_test_embedder(picky) as (embedder, server):
        await embedder.embed([f"text {number}" for number in range(64)])
        await embedder.embed([f"text {number}" for number in range(64)])

    assert sizes(server) == [64, 32, 32, 32, 32]


async def test_a_rejection_that_is_not_about_the_length_ends_the_tries() -> None:
    always = refuses(lambda _: True, "no embeddings here", embeds())
    async with open_test_embedder(always) as (embedder, server):
        with pytest.raises(ModelUnavailable, match="model for embeddings"):
            await embedder.embed(["one", "two", "three", "four"])

    assert sizes(server) == [4, 2, 1]


async def test_what_is_taken_is_counted_and_priced_by_the_model_that_answers() -> None:
    async with open_test_embedder(embeds()) as (embedder, server):
        assert isinstance(embedder, CountsUse)
        await embedder.embed(["one", "two"])
        await embedder.embed_query("three")
        use = embedder.use

    assert (use.tokens, use.requests, use.cut) == (9, 2, 0)
    assert use.cost_micro_usd is None  # one's own server has no price
    assert len(server.seen) == 2


async def test_a_server_that_does_not_count_is_counted_for() -> None:
    silent = embeds(changed=lambda reply: reply.pop("usage"))
    async with open_test_embedder(silent) as (embedder, _):
        await embedder.embed(["how do I reset my password"])
        assert embedder.use.tokens == embedder.count_tokens("how do I reset my password")


async def test_the_price_of_a_vendors_model_is_known_before() -> None:
    endpoint = Endpoint("https://api.openai.com/v1/", "sk-none")
    async with open_test_embedder(embeds(), endpoint=endpoint, model=SMALL_MODEL) as (embedder, _):
        assert embedder.estimate(1_000_000).cost_micro_usd == 20_000


async def test_indexing_keeps_to_its_tokens_a_minute_and_questions_do_not_wait() -> None:
    async with open_test_embedder(embeds(), tokens_per_minute=600) as (embedder, _):
        started = time.monotonic()
        await embedder.embed(["one"])
        await embedder.embed(["two"])
        assert time.monotonic() - started >= 0.25  # the three tokens of the first, at ten a second

    async with open_test_embedder(embeds(), tokens_per_minute=1) as (embedder, server):
        await embedder.embed(["one"])
        indexing = asyncio.create_task(embedder.embed(["two"]))
        await embedder.embed_query("three")
        assert not indexing.done()
        indexing.cancel()

    assert [sent(each) for each in server.seen] == [["one"], ["three"]]
