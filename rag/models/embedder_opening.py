"""Opens the embedder behind a server."""

from __future__ import annotations

from azure.core.credentials_async import AsyncTokenCredential

from rag.models.connecting import connect
from rag.models.dialect import Rejection
from rag.models.embedding_dialect import EmbeddingDialect
from rag.models.embedding_transport import EmbeddingTransport
from rag.models.openai_embedder import EmbedderSettings, OpenAIEmbedder, Patience, not_accepted
from rag.models.retrying import Deadline

REQUEST_SECONDS = 60.0
"""How long one request may take; a question's has less."""

_LENGTHS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
"""Of OpenAI's models, so that a start need not ask for one."""


async def open_openai_embedder(
    settings: EmbedderSettings, credential: AsyncTokenCredential | None = None
) -> OpenAIEmbedder:
    """Make an embedder; the server is asked only for a length of vectors that is not known.

    Args:
        settings: which model, and where.
        credential: identity to use when there is no key (rag.models.connecting.connect).

    Raises:
        ModelUnavailable: when the settings cannot work, naming the one to change, or the length
            is to be asked for and the server does not answer.
    """
    connection = connect(settings.endpoint, REQUEST_SECONDS, credential)
    dialect = EmbeddingDialect(
        "base64" if settings.endpoint.is_vendor else "float", settings.dimensions
    )
    transport = EmbeddingTransport(
        connection.client, settings.model, dialect, settings.endpoint.names
    )
    try:
        dimensions = settings.dimensions or _LENGTHS.get(settings.model)
        if dimensions is None:
            dimensions = await _measured(transport, settings.queries)
    except BaseException:
        await connection.close()
        raise
    return OpenAIEmbedder(transport, settings, dimensions, connection)


async def _measured(transport: EmbeddingTransport, patience: Patience) -> int:
    answer = await transport.send(
        ["How long is a vector?"], patience.policy, Deadline(patience.seconds)
    )
    if isinstance(answer, Rejection):
        raise not_accepted(transport)
    return int(answer.vectors.shape[1])
