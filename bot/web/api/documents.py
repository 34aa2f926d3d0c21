"""API operations and handlers for index administration: documents, uploads and index runs."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from bot.chat.documents import Documents, Reindex
from bot.domain.messages import Person
from bot.domain.ports import Audits
from bot.web.api import admin_schemas
from bot.web.api.operations import (
    ALWAYS_POSSIBLE,
    V2,
    WITH_BODY,
    Operation,
    Parameter,
    parameters_of,
)
from bot.web.api.requests import body_of, json_reply, query_of
from bot.web.api.uploads import (
    DocumentContent,
    NewDocument,
    Upload,
    UploadForm,
    UploadQuery,
    receive_named,
    receive_new,
)
from bot.web.auth.identity import require_role
from bot.web.forms import UploadLimits
from bot.web.problems import problem
from ingestion.errors import DocumentUnknown
from ingestion.library import Space

SPACES_PATH = f"{V2}/documents"
SPACE_PATH = f"{SPACES_PATH}/{{space}}"
DOCUMENT_PATH = f"{SPACE_PATH}/{{id}}"
REINDEX_PATH = f"{V2}/reindex"
SPACE_PARAMETER = Parameter("space", "path", "The space's name.", {"type": "string"})
DOCUMENT_PARAMETER = Parameter(
    "id", "path", "The document's id; a slash in it is written %2F.", {"type": "string"}
)
RUN_PARAMETER = Parameter("run", "path", "The run's id.", {"type": "string"})

DOCUMENT_OPERATIONS = (
    Operation(
        "spaces",
        "GET",
        SPACES_PATH,
        "List the spaces that are indexed; for admins.",
        {200: admin_schemas.IndexedSpaces},
        ALWAYS_POSSIBLE,
    ),
    Operation(
        "space",
        "GET",
        SPACE_PATH,
        "List the documents of a space; for admins.",
        {200: admin_schemas.IndexedDocuments},
        (*ALWAYS_POSSIBLE, 404, 422),
        parameters=(SPACE_PARAMETER, *parameters_of(admin_schemas.DocumentSearch)),
    ),
    Operation(
        "upload",
        "POST",
        SPACE_PATH,
        "Upload a document, which replaces one of the same name; for admins.",
        {202: admin_schemas.Uploaded},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 409),
        UploadForm,
        (SPACE_PARAMETER,),
        body_type="multipart/form-data",
        other_bodies={"application/json": NewDocument},
    ),
    Operation(
        "put_document",
        "PUT",
        DOCUMENT_PATH,
        "Create or replace a document, as JSON or as a file's bytes; for admins.",
        {202: admin_schemas.Uploaded},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 409),
        DocumentContent,
        (SPACE_PARAMETER, DOCUMENT_PARAMETER, *parameters_of(UploadQuery)),
        other_bodies={"application/octet-stream": None},
    ),
    Operation(
        "indexed",
        "GET",
        DOCUMENT_PATH,
        "Show a document and whether it can be found yet; for admins.",
        {200: admin_schemas.IndexedDocument},
        (*ALWAYS_POSSIBLE, 404),
        parameters=(SPACE_PARAMETER, DOCUMENT_PARAMETER),
    ),
    Operation(
        "remove",
        "DELETE",
        DOCUMENT_PATH,
        "Delete an uploaded document; for admins.",
        {204: None},
        (*ALWAYS_POSSIBLE, 404, 409),
        parameters=(SPACE_PARAMETER, DOCUMENT_PARAMETER),
    ),
    Operation(
        "reindex",
        "POST",
        REINDEX_PATH,
        "Bring one space or all up to date with what fills them; for admins.",
        {202: admin_schemas.Reindex},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 404, 409),
        admin_schemas.StartReindex,
    ),
    Operation(
        "runs",
        "GET",
        REINDEX_PATH,
        "List the last runs with their progress and failures; for admins.",
        {200: admin_schemas.Reindexes},
        (*ALWAYS_POSSIBLE, 422),
        parameters=parameters_of(admin_schemas.RunSearch),
    ),
    Operation(
        "cancel",
        "DELETE",
        f"{REINDEX_PATH}/{{run}}",
        "Stop a run; what it has written stays. For admins.",
        {204: None},
        (*ALWAYS_POSSIBLE, 404),
        parameters=(RUN_PARAMETER,),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentsApi:
    """Handlers for documents and index runs; all of them require the role admin.

    ``data_dir`` holds uploads temporarily; ``bounds`` limits their size and number.
    """

    tenant: str
    documents: Documents
    reindexing: Reindex
    audits: Audits
    data_dir: Path
    bounds: UploadLimits

    async def spaces(self, request: web.Request) -> web.Response:
        """List the spaces."""
        require_role(request, "admin")
        listed = [
            admin_schemas.IndexedSpace.model_validate(each)
            for each in await self.documents.spaces(None)
        ]
        return json_reply(admin_schemas.IndexedSpaces(spaces=listed))

    async def space(self, request: web.Request) -> web.Response:
        """List the documents of a space, page by page."""
        require_role(request, "admin")
        asked = query_of(request, admin_schemas.DocumentSearch)
        space = await self._known(request.match_info["space"])
        found = await self.documents.documents(
            space.name, None, words=asked.q, after=asked.after, limit=asked.limit + 1
        )
        shown = found[: asked.limit]
        return json_reply(
            admin_schemas.IndexedDocuments(
                space=admin_schemas.IndexedSpace.model_validate(space),
                documents=[admin_schemas.IndexedDocument.model_validate(each) for each in shown],
                next=shown[-1].id if len(found) > asked.limit else None,
            )
        )

    async def upload(self, request: web.Request) -> web.Response:
        """Accept a document; a background run indexes it."""
        person = require_role(request, "admin")
        return await self._add(request, person, receive_new(request, self.data_dir, self.bounds))

    async def put(self, request: web.Request) -> web.Response:
        """Accept a document under the id in the address; a background run indexes it."""
        person = require_role(request, "admin")
        name = request.match_info["id"]
        return await self._add(
            request, person, receive_named(request, name, self.data_dir, self.bounds)
        )

    async def _add(
        self, request: web.Request, person: Person, receiving: AbstractAsyncContextManager[Upload]
    ) -> web.Response:
        async with receiving as upload:
            added = await self.documents.add(
                request.match_info["space"],
                upload.file.path,
                name=upload.file.name,
                readers=upload.readers,
                by=person.id,
                exact=upload.exact,
                declared=upload.declared,
            )
        await self._audit(person.id, "upload", f"{added.space}/{added.id}")
        return json_reply(admin_schemas.Uploaded.model_validate(added), 202)

    async def indexed(self, request: web.Request) -> web.Response:
        """Show a document."""
        require_role(request, "admin")
        space, document_id = request.match_info["space"], request.match_info["id"]
        return json_reply(
            admin_schemas.IndexedDocument.model_validate(
                await self.documents.document(space, document_id, None)
            )
        )

    async def remove(self, request: web.Request) -> web.Response:
        """Delete an uploaded document."""
        person = require_role(request, "admin")
        space, document_id = request.match_info["space"], request.match_info["id"]
        await self.documents.remove(space, document_id, by=person.id)
        await self._audit(person.id, "delete document", f"{space}/{document_id}")
        return web.Response(status=204)

    async def reindex(self, request: web.Request) -> web.Response:
        """Start an index run."""
        person = require_role(request, "admin")
        asked = await body_of(request, admin_schemas.StartReindex)
        run_id = await self.reindexing.start(
            asked.space,
            by=person.id,
            dry_run=asked.dry_run,
            allow_mass_delete=asked.allow_mass_delete,
            extent="changes" if asked.changes else "all",
            page=asked.page or "",
        )
        detail = [f"page {asked.page}"] * bool(asked.page) + ["dry run"] * asked.dry_run
        await self._audit(person.id, "reindex", asked.space or "all", ", ".join(detail))
        run = await self.reindexing.get(run_id)
        if run is None:
            raise problem(503, "The run can't be told. Look at the list of runs.")
        return json_reply(admin_schemas.Reindex.model_validate(run), 202)

    async def runs(self, request: web.Request) -> web.Response:
        """List the last runs."""
        require_role(request, "admin")
        asked = query_of(request, admin_schemas.RunSearch)
        newest = await self.reindexing.newest(asked.limit)
        return json_reply(
            admin_schemas.Reindexes(
                runs=[admin_schemas.Reindex.model_validate(each) for each in newest]
            )
        )

    async def cancel(self, request: web.Request) -> web.Response:
        """Cancel a run."""
        person = require_role(request, "admin")
        run_id = request.match_info["run"]
        await self.reindexing.cancel(run_id)
        await self._audit(person.id, "cancel reindex", run_id)
        return web.Response(status=204)

    async def _known(self, name: str) -> Space:
        for each in await self.documents.spaces(None):
            if each.name == name:
                return each
        raise DocumentUnknown(f"There is no space {name[:100]!r}.")

    async def _audit(self, person_id: str, act: str, subject: str, detail: str = "") -> None:
        await self.audits.append(self.tenant, f"api:{person_id}", act, subject, detail=detail)
