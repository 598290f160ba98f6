"""`vade export`: what is kept of a person, or of a whole tenant, in forms that others read."""

import importlib.metadata
import zipfile
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from vademecum.catalogue import Catalogue
from vademecum.cli.documents import with_catalogue
from vademecum.cli.options import COMMON, As, scope_of
from vademecum.cli.output import escape, out, print_json
from vademecum.errors import DocumentNotFound, NotFound, UsageError
from vademecum.interface import document_json, personal_json
from vademecum.jsontext import written
from vademecum.model.document import Document
from vademecum.model.principal import Scope

_FORMAT = 1
_PAGE = 200
_MOST_FEEDBACK = 1_000_000


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a new file, like export.zip")],
    principal: As = None,
) -> None:
    """Write documents, memories and conversations into a zip: of the tenant, or of one person."""
    if file.exists():
        raise UsageError(f"{file} is there already", hint="give a name that is not taken")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}", hint="make it first")
    person = scope_of(principal, None) if principal is not None else None

    async def work(catalogue: Catalogue) -> dict[str, int]:
        with TemporaryDirectory(dir=file.parent) as folder:
            unfinished = Path(folder) / "export.zip"
            counts = await _write(catalogue, person, unfinished)
            unfinished.chmod(0o600)
            unfinished.rename(file)
        return counts

    counts = with_catalogue(work)
    if COMMON.json:
        print_json({"path": file, "bytes": file.stat().st_size} | counts)
        return
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    out.print(f"[green]written[/] {escape(str(file))} ({told})")


async def _write(catalogue: Catalogue, person: Scope | None, path: Path) -> dict[str, int]:
    """Write the export, and return how much of each kind there is."""
    operator = Scope.for_operator(COMMON.tenant)
    people = [person] if person else await _people(catalogue, operator)
    counts = {"people": len(people), "memories": 0, "conversations": 0, "feedback": 0}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(dir=path.parent)))
        archive = stack.enter_context(zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED))
        lines = {
            name: stack.enter_context((folder / name).open("w", encoding="utf-8", newline="\n"))
            for name in ("documents", "memories", "conversations", "feedback")
        }
        counts |= await _documents(catalogue, operator, person, archive, lines["documents"].write)
        for scope in people:
            of = {"principal": scope.principal}
            personal = personal_json(await catalogue.exports.personal(scope))
            given = await catalogue.feedback.all(scope, None, _MOST_FEEDBACK)
            found = personal | {"feedback": [asdict(feedback) for feedback in given]}
            for name, rows in found.items():
                counts[name] += len(rows)
                lines[name].writelines(_lines(of | row for row in rows))
        for name, file in lines.items():
            file.close()
            archive.write(folder / name, f"{name}.jsonl")
        archive.writestr("manifest.json", written(_manifest(person) | counts, indent=2) + "\n")
    return counts


async def _people(catalogue: Catalogue, operator: Scope) -> list[Scope]:
    """Return everybody of whom the tenant keeps something; labels of groups keep nothing."""
    names = sorted(await catalogue.people.names(operator.tenant))
    scopes = [Scope.for_principal(operator.tenant, name, frozenset()) for name in names]
    return [scope for scope in scopes if any((await catalogue.people.held(scope, None)).values())]


async def _documents(
    catalogue: Catalogue,
    operator: Scope,
    person: Scope | None,
    archive: zipfile.ZipFile,
    write: Any,
) -> dict[str, int]:
    """Write what is known of each document and of each revision that is kept, with every original
    once, however many have the same."""
    documents, revisions, originals = 0, 0, dict[str, str | None]()
    async for document in _each(catalogue, operator, person):
        try:
            history = await catalogue.documents.history(operator, document.id)
        except DocumentNotFound:  # deleted meanwhile
            continue
        for key in (document.content_hash, *(one.content_hash for one in history)):
            if key not in originals:
                originals[key] = await _original(catalogue, operator, archive, key)
        kept = [asdict(one) | {"original": originals[one.content_hash]} for one in history]
        told = {"original": originals[document.content_hash], "revisions": kept}
        write(written(document_json(document) | told) + "\n")
        documents += 1
        revisions += len(kept)
    there = sum(name is not None for name in originals.values())
    return {"documents": documents, "revisions": revisions, "originals": there}


async def _original(
    catalogue: Catalogue, operator: Scope, archive: zipfile.ZipFile, key: str
) -> str | None:
    """Put an original into the archive, and return its name there; None where it is deleted or
    lost meanwhile: what is known of it is still told."""
    try:
        content = await catalogue.blobs.get(operator.tenant, key)
    except NotFound:
        return None
    name = f"originals/{key}"
    archive.writestr(name, content)
    return name


async def _each(
    catalogue: Catalogue, operator: Scope, person: Scope | None
) -> AsyncIterator[Document]:
    """Yield every document; of a person those that nobody else sees."""
    if person is not None:
        for document_id in await catalogue.people.private_documents(person, None):
            try:
                yield await catalogue.documents.get(person, document_id)
            except DocumentNotFound:  # deleted meanwhile
                continue
        return
    after = None
    while page := await catalogue.documents.page(operator, after=after, limit=_PAGE):
        for document in page:
            yield document
        after = (page[-1].collection, page[-1].uri)


def _lines(rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    return (written(row) + "\n" for row in rows)


def _manifest(person: Scope | None) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": importlib.metadata.version("vademecum"),
        "tenant": COMMON.tenant,
        "principal": person.principal if person else None,
        "made_at": datetime.now(UTC),
    }
