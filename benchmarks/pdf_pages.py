"""How many pages a second does the PDF reader read, beside the library under it?

    python benchmarks/pdf_pages.py [FILE.pdf ...] [--pages 240] [--repeats 3]

Each file, and a generated text-heavy one, is read by bare pypdfium2 (all text of each page), by
the product's reader in this process, and by the child process that the product uses. Runs
alternate; medians are printed.
"""

import argparse
import asyncio
import io
import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdfium2
from bench_support import report, sentences, vocabulary
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

from vademecum.adapters.parsers.jail import ChildParser
from vademecum.adapters.parsers.pdf import parse_pdf

PDF = "application/pdf"


def generated(pages: int) -> bytes:
    """Return a PDF of full pages of set paragraphs under headings, with nothing else on them."""
    rng, words, styles = random.Random(5), vocabulary(), getSampleStyleSheet()
    story = []
    for number in range(pages):
        story.append(Paragraph(f"Section {number + 1}", styles["Heading2"]))
        story += [Paragraph(sentences(words, rng, 110), styles["BodyText"]) for _ in range(6)]
        story.append(PageBreak())
    buffer = io.BytesIO()
    SimpleDocTemplate(buffer, pagesize=A4).build(story)
    return buffer.getvalue()


def bare(content: bytes) -> int:
    document = pypdfium2.PdfDocument(content)
    characters = 0
    for page in document:
        text = page.get_textpage()
        characters += len(text.get_text_range())
        text.close()
        page.close()
    document.close()
    return characters


def measured(name: str, content: bytes, repeats: int) -> dict[str, Any]:
    pages = len(pypdfium2.PdfDocument(content))
    runs: dict[str, list[float]] = {"bare": [], "reader": [], "child": []}

    async def by_child() -> None:
        parser = ChildParser()
        await parser.parse(b"the first document also starts the nursery", "first.txt")
        for _ in range(repeats):
            runs["bare"].append(spent(lambda: bare(content)))
            runs["reader"].append(spent(lambda: parse_pdf(content, name, PDF)))
            began = time.perf_counter()
            await parser.parse(content, name)
            runs["child"].append(time.perf_counter() - began)
        await parser.aclose()

    asyncio.run(by_child())
    middle = {way: statistics.median(seconds) for way, seconds in runs.items()}
    return {
        "file": name,
        "pages": pages,
        "characters": bare(content),
        **{f"{way}_pages_s": pages / seconds for way, seconds in middle.items()},
        "reader_times_bare": middle["reader"] / middle["bare"],
        "child_times_bare": middle["child"] / middle["bare"],
        "load1": os.getloadavg()[0],
    }


def spent(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("files", nargs="*", type=Path)
    arguments.add_argument("--pages", type=int, default=240)
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    contents = {"generated": generated(options.pages)}
    contents |= {path.name: path.read_bytes() for path in options.files}
    report([measured(name, content, options.repeats) for name, content in contents.items()])


if __name__ == "__main__":
    main()
