"""`vade demo`: the box office example, from nothing to six answers."""

import asyncio
import os
import shutil
import sys
import time
import tomllib
from dataclasses import replace
from importlib import resources
from pathlib import Path

from vademecum.adapters.sources.files import Facts, find, read
from vademecum.app import App
from vademecum.cli.ask import show_answer
from vademecum.cli.ingest import show_results
from vademecum.cli.options import COMMON
from vademecum.cli.output import escape, out, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import SourceNotFound
from vademecum.ingest.deliver import Count
from vademecum.interface import answer_json
from vademecum.model.answer import Answer
from vademecum.model.document import IngestResult, Source
from vademecum.model.principal import TENANT_LABEL, Scope

COLLECTION = "boxoffice"


def example_folder() -> Path:
    """Return the example's folder: in the installed package, or beside it in a checkout."""
    installed = Path(str(resources.files("vademecum"))) / "examples" / "boxoffice"
    checkout = Path(str(resources.files("vademecum"))).parent.parent / "examples" / "boxoffice"
    for folder in (installed, checkout):
        if (folder / "questions.toml").is_file():
            return folder
    raise SourceNotFound("the example is not installed", hint="install vademecum again")


def demo() -> None:
    """Ingest a ticket seller's documents and ask them six questions."""
    folder = example_folder()
    listed = tomllib.loads((folder / "questions.toml").read_text(encoding="utf-8"))["question"]
    questions = [question["text"] for question in listed if question.get("demo")]
    if not COMMON.json:
        out.print("[bold]Vademecum[/]: a ticket seller's documents, and six questions about them\n")

    async def run() -> tuple[list[IngestResult], list[Answer], float]:
        started = time.monotonic()
        with working("opening", quiet=COMMON.json, counted="reading documents") as work:
            async with open_app(COMMON.settings(), tell=work.tell) as app:
                results = await _ingest(app, folder, work.count)
                seconds = time.monotonic() - started
                work.stop()
                if not COMMON.json:
                    show_results(results, seconds)
                return results, [await _ask(app, question) for question in questions], seconds

    results, answers, seconds = asyncio.run(run())
    if COMMON.json:
        print_json(
            {
                "documents": len(results),
                "seconds": seconds,
                "answers": [
                    {"question": answer.question} | answer_json(answer) for answer in answers
                ],
            }
        )
        return
    _show_next_steps(written=any(answer.mode == "generated" for answer in answers))


async def _ingest(app: App, folder: Path, count: Count) -> list[IngestResult]:
    facts = Facts(
        collection=COLLECTION, access=(TENANT_LABEL,), metadata={"example": True}, language=None
    )
    known = tomllib.loads((folder / "metadata.toml").read_text(encoding="utf-8"))
    documents = folder / "documents"
    return await app.ingest(
        (
            replace(source, metadata={**source.metadata, **known.get(source.uri, {})})
            if isinstance(source, Source)
            else source
            for source in read(find([str(documents)]), facts, base=documents)
        ),
        scope=Scope.for_operator(COMMON.tenant),
        on_progress=count,
    )


async def _ask(app: App, question: str) -> Answer:
    scope = replace(Scope.for_operator(COMMON.tenant), collections=frozenset({COLLECTION}))
    answer = await app.ask(question, scope=scope)
    if not COMMON.json:
        out.print(f"\n[bold cyan]? {escape(question)}[/]")
        show_answer(answer)
    return answer


def _show_next_steps(*, written: bool) -> None:
    vade = escape(_command())
    if home := os.environ.get("VADE_HOME"):
        out.print(
            f"\n[bold]Go on[/] (its data is in {escape(home)})\n  export VADE_HOME={escape(home)}"
        )
    else:
        out.print("\n[bold]Go on[/]")
    out.print(
        f'  {vade} ask "Quanto custa a chapelaria da Casa Mangue Alto?"\n'
        f"  {vade} ingest PATH       put your own documents in\n"
        f"  {vade} documents list    see what is in, and what was read from it\n"
        f"  {vade} status            see what runs; `stop` ends the database server"
    )
    if not written:
        out.print(
            "\nNo language model is set, so answers are quotations. To have them written, set\n"
            "  VADE_MODELS__LANGUAGE=openai:NAME (with OPENAI_API_KEY), anthropic:NAME, ollama:NAME"
        )


def _command() -> str:
    """Return how this program is called from here."""
    called = Path(sys.argv[0])
    if shutil.which("vade") or not called.is_file():
        return "vade"
    return os.path.relpath(called)
