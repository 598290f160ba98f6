"""`vade eval generate`: propose questions for a golden set, for a person to confirm."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from vademecum.cli.options import COMMON, Collection
from vademecum.cli.output import err, escape, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import InvalidSetting, UsageError
from vademecum.evaluating import candidates_from_corpus, candidates_from_thumbs
from vademecum.model.principal import Scope


def generate(
    origin: Annotated[
        str, typer.Option("--from", metavar="WHERE", help="thumbs, or corpus (needs a model)")
    ] = "thumbs",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="at most so many")] = 30,
    collection: Collection = None,
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="write there, not on stdout")
    ] = None,
) -> None:
    """Propose questions as JSON lines; `eval run` skips each until you set confirmed to true."""
    if origin not in ("thumbs", "corpus"):
        raise UsageError(f"there is no origin {origin!r}", hint="use thumbs or corpus")

    async def work() -> list[dict[str, Any]]:
        with working("opening", quiet=COMMON.json, counted="reading") as shown:
            async with open_app(COMMON.settings(), tell=shown.tell) as app:
                scope = Scope.for_operator(COMMON.tenant)
                if origin == "thumbs":
                    return await candidates_from_thumbs(app, scope=scope, limit=limit)
                return await candidates_from_corpus(
                    app,
                    scope=scope,
                    collections=frozenset(collection) if collection else None,
                    limit=limit,
                    count=shown.count,
                )

    made = asyncio.run(work())
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made)
    if file is not None:
        try:
            file.write_text(lines, encoding="utf-8")
        except OSError as error:
            raise InvalidSetting(f"{file} cannot be written", hint="give another place") from error
    if COMMON.json:
        print_json({"candidates": made})
    elif file is None:
        typer.echo(lines, nl=False)
    told = f"{len(made)} questions to confirm" + (f" in {file}" if file else "")
    err.print(escape(told) if made else "nothing to propose: no thumb down has a trace")
