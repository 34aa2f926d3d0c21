"""The API's handlers for those who look after what is indexed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from bot.adapters.rest import wire_documents as wire
from bot.adapters.rest.reading import body_of, invalid, query_of
from bot.adapters.rest.replies import as_json
from bot.chat.documents import Document, Documents, Reindex, Run, Space
from bot.domain.errors import DocumentUnknown
from bot.domain.ports import Audits
from bot.doors.identity import needs
from bot.doors.problems import problem
from bot.doors.receiving import Bounds, received

_FIELDS = {"readers"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentsApi:
    """Handlers over the index and what fills it; all of them are for admins.

    ``data_dir`` takes files as they arrive, within ``bounds``.
    """

    tenant: str
    documents: Documents
    reindexing: Reindex
    audits: Audits
    data_dir: Path
    bounds: Bounds

    async def spaces(self, request: web.Request) -> web.Response:
        """List the spaces."""
        needs(request, "admin")
        listed = [_space(each) for each in await self.documents.spaces(None)]
        return as_json(wire.IndexedSpaces(spaces=listed))

    async def space(self, request: web.Request) -> web.Response:
        """List the documents of a space, page by page."""
        needs(request, "admin")
        asked = query_of(request, wire.DocumentSearch)
        space = await self._known(request.match_info["space"])
        found = await self.documents.documents(
            space.name, None, words=asked.q, after=asked.after, limit=asked.limit + 1
        )
        shown = found[: asked.limit]
        return as_json(
            wire.IndexedDocuments(
                space=_space(space),
                documents=[_document(each) for each in shown],
                next=shown[-1].id if len(found) > asked.limit else None,
            )
        )

    async def upload(self, request: web.Request) -> web.Response:
        """Take a document; it is indexed afterwards."""
        person = needs(request, "admin")
        async with received(request, self.data_dir, self.bounds) as form:
            unknown = sorted(form.texts.keys() - _FIELDS)
            if unknown:
                raise invalid(unknown[0], form.texts[unknown[0]], "is not known", _KNOWN)
            if not form.files:
                raise invalid("file", None, "is missing", "Send the document as the field 'file'.")
            file = form.files[0]
            added = await self.documents.add(
                request.match_info["space"],
                file.path,
                name=file.name,
                readers=form.texts.get("readers", "everyone"),
                by=person.id,
            )
        await self._audit(person.id, "upload", f"{added.space}/{added.id}")
        return as_json(
            wire.Uploaded(
                space=added.space, id=added.id, replaced=added.replaced, run_id=added.run_id
            ),
            202,
        )

    async def indexed(self, request: web.Request) -> web.Response:
        """Show a document."""
        needs(request, "admin")
        space, document_id = request.match_info["space"], request.match_info["id"]
        return as_json(_document(await self.documents.document(space, document_id, None)))

    async def remove(self, request: web.Request) -> web.Response:
        """Delete an uploaded document."""
        person = needs(request, "admin")
        space, document_id = request.match_info["space"], request.match_info["id"]
        await self.documents.remove(space, document_id, by=person.id)
        await self._audit(person.id, "delete document", f"{space}/{document_id}")
        return web.Response(status=204)

    async def reindex(self, request: web.Request) -> web.Response:
        """Begin a run."""
        person = needs(request, "admin")
        asked = await body_of(request, wire.StartReindex)
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
        return as_json(_run(run), 202)

    async def runs(self, request: web.Request) -> web.Response:
        """List the last runs."""
        needs(request, "admin")
        asked = query_of(request, wire.RunSearch)
        newest = await self.reindexing.newest(asked.limit)
        return as_json(wire.Reindexes(runs=[_run(each) for each in newest]))

    async def cancel(self, request: web.Request) -> web.Response:
        """Stop a run."""
        person = needs(request, "admin")
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


_KNOWN = "Leave it out. Known are file and readers."


def _space(space: Space) -> wire.IndexedSpace:
    return wire.IndexedSpace.model_validate(space, from_attributes=True)


def _document(document: Document) -> wire.IndexedDocument:
    return wire.IndexedDocument.model_validate(document, from_attributes=True)


def _run(run: Run) -> wire.Reindex:
    return wire.Reindex.model_validate(run, from_attributes=True)
