"""Which documents and questions do the public evaluation sets hold, and what is known of them?

The sets are read from a folder of the reader's (`ret-scifact`, `ret-xquad`, `ret-pira` inside it);
nothing of them is kept here.
"""

import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vademecum.model.document import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and the uris of the documents that answer it: none where nothing does.
    `development` ones may be fitted on; the rest is for looking."""

    text: str
    relevant: frozenset[str]
    development: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """nDCG@10 to compare with: of a prototype with the same parts, and what is aimed at."""

    reached: float
    goal: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Questions of one language over one collection."""

    name: str
    questions: Sequence[Question]
    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Documents that are searched together, one passage each, with the tasks over them."""

    name: str
    documents: Sequence[Source]
    tasks: Sequence[Task]


Read = Callable[[Path], Collection]


def collections() -> dict[str, Read]:
    """Return how to read each collection of the table, by its name, in the table's order."""
    return {
        "scifact": scifact,
        "xquad-en": lambda data: xquad(data, "en", ("en", "es", "hi")),
        "xquad-es": lambda data: xquad(data, "es", ("es", "en")),
        "xquad-hi": lambda data: xquad(data, "hi", ("hi",)),
        "pira-pt": lambda data: pira(data, "pt", ("pt", "en")),
        "pira-en": lambda data: pira(data, "en", ("en", "pt")),
        "mixed-en-es": mixed,
    }


_TARGETS = {
    "scifact": Target(reached=0.738, goal=0.75),
    "xquad en": Target(reached=0.987, goal=0.99),
    "xquad es": Target(reached=0.984, goal=0.985),
    "xquad hi": Target(reached=0.975, goal=0.98),
    "xquad es to en": Target(reached=0.960, goal=0.97),
    "xquad en to es": Target(reached=0.962, goal=0.97),
    "xquad hi to en": Target(reached=0.926, goal=0.94),
    "pira pt": Target(reached=0.895, goal=0.91),
    "pira en": Target(reached=0.916, goal=0.92),
    "pira pt to en": Target(reached=0.783, goal=0.83),
    "pira en to pt": Target(reached=0.827, goal=0.86),
    "mixed en+es, es": Target(reached=0.962, goal=0.97),
}


def scifact(data: Path) -> Collection:
    """The claims of the test part over all abstracts."""
    folder = data / "ret-scifact"
    relevant: dict[str, set[str]] = {}
    with (folder / "qrels.test.tsv").open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            if int(row["score"]) > 0:
                relevant.setdefault(row["query-id"], set()).add(_uri(row["corpus-id"]))
    questions = [
        Question(text=claim["text"], relevant=frozenset(relevant[claim["_id"]]))
        for claim in _lines(folder / "queries.test.jsonl")
        if claim["_id"] in relevant
    ]
    documents = [
        document(_uri(abstract["_id"]), abstract["text"], "en", title=abstract["title"])
        for abstract in _lines(folder / "corpus.jsonl")
    ]
    return Collection(name="scifact", documents=documents, tasks=[_task("scifact", questions)])


def xquad(data: Path, language: str, asked: Sequence[str]) -> Collection:
    """The paragraphs in one language, with all questions in each of the languages `asked`."""
    paragraphs = _paragraphs(data, language)
    return Collection(
        name=f"xquad-{language}",
        documents=[
            document(_uri(number), paragraph["context"], language)
            for number, (_, paragraph) in enumerate(paragraphs)
        ],
        tasks=[
            _task(_between("xquad", own, language), _paragraph_questions(data, own))
            for own in asked
        ],
    )


def mixed(data: Path) -> Collection:
    """The paragraphs of every second article in English and of the others in Spanish, each in one
    language only, with all questions in Spanish."""
    both = {language: _paragraphs(data, language) for language in ("en", "es")}
    documents = []
    for number, (article, _) in enumerate(both["en"]):
        language = ("en", "es")[article % 2]
        documents.append(document(_uri(number), both[language][number][1]["context"], language))
    questions = _paragraph_questions(data, "es")
    return Collection(
        name="mixed-en-es", documents=documents, tasks=[_task("mixed en+es, es", questions)]
    )


def pira(data: Path, language: str, asked: Sequence[str]) -> Collection:
    """The abstracts of both parts in one language, with the questions in each of the languages
    `asked`. An abstract is known by its English text."""
    rows = [
        dict(row) | {"part": part}
        for part in ("validation", "test")
        for row in _pira_rows(data, part)
    ]
    numbers: dict[str, int] = {}
    for row in rows:
        numbers.setdefault(row["abstract"].strip(), len(numbers))
    column = {"en": "abstract", "pt": "abstract_translated_pt"}[language]
    texts = {numbers[row["abstract"].strip()]: row[column].strip() for row in reversed(rows)}
    return Collection(
        name=f"pira-{language}",
        documents=[document(_uri(n), texts[n], language) for n in sorted(texts)],
        tasks=[
            _task(
                _between("pira", own, language),
                [
                    Question(
                        text=row[f"question_{own}_origin"].strip(),
                        relevant=frozenset([_uri(numbers[row["abstract"].strip()])]),
                        development=row["part"] == "validation",
                    )
                    for row in rows
                ],
            )
            for own in asked
        ],
    )


def clapnq(data: Path) -> tuple[Sequence[Source], Sequence[Question]]:
    """All passages, with the questions that they answer and those that they do not, though they
    are about them. Half of the questions are for development, by a hash of their ids."""
    documents: dict[str, Source] = {}
    questions = []
    for part in ("answerable", "unanswerable"):
        for line in _lines(data / "ret-clapnq" / f"dev_{part}.jsonl"):
            (passage,) = line["passages"]
            name = _uri(hashlib.blake2b(passage["text"].encode(), digest_size=8).hexdigest())
            documents[name] = document(name, passage["text"], "en", title=passage["title"])
            questions.append(
                Question(
                    text=line["input"],
                    relevant=frozenset([name] if part == "answerable" else []),
                    development=hashlib.blake2b(line["id"].encode()).digest()[0] % 2 == 0,
                )
            )
    return list(documents.values()), questions


def document(uri: str, text: str, language: str, *, title: str | None = None) -> Source:
    return Source(
        uri=uri,
        content=text.encode(),
        collection="default",
        access=("tenant",),
        metadata={},
        language=language,
        title=title,
    )


def _task(name: str, questions: Sequence[Question]) -> Task:
    return Task(name=name, questions=questions, target=_TARGETS[name])


def _between(name: str, asked: str, held: str) -> str:
    return f"{name} {held}" if asked == held else f"{name} {asked} to {held}"


def _uri(name: object) -> str:
    return f"{name}.txt"


def _paragraphs(data: Path, language: str) -> list[tuple[int, Mapping[str, Any]]]:
    """Return each paragraph with its article's number."""
    path = data / "ret-xquad" / f"xquad.{language}.json"
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    return [
        (n, paragraph) for n, article in enumerate(articles) for paragraph in article["paragraphs"]
    ]


def _paragraph_questions(data: Path, language: str) -> list[Question]:
    return [
        Question(text=asked["question"], relevant=frozenset([_uri(number)]))
        for number, (_, paragraph) in enumerate(_paragraphs(data, language))
        for asked in paragraph["qas"]
    ]


def _pira_rows(data: Path, part: str) -> Iterator[Mapping[str, str]]:
    with (data / "ret-pira" / f"{part}.csv").open(encoding="utf-8", newline="") as rows:
        yield from csv.DictReader(rows)


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
