"""Is the example knowledge base of the ticket seller whole, consistent and rebuildable?"""

import importlib.util
import json
import math
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pypdfium2  # type: ignore[import-untyped]
import pytest

BOXOFFICE = Path(__file__).resolve().parents[2] / "examples" / "boxoffice"
DOCUMENTS = BOXOFFICE / "documents"
QUESTIONS: list[dict[str, Any]] = tomllib.loads((BOXOFFICE / "questions.toml").read_text("utf-8"))[
    "question"
]
NAMES = sorted(
    path.relative_to(DOCUMENTS).as_posix() for path in DOCUMENTS.rglob("*") if path.is_file()
)
PDFS = [name for name in NAMES if name.endswith(".pdf")]
TWO_COLUMNS = "venues/casa-mangue-alto-regras.pdf"


def plain(text: str) -> str:
    return " ".join(text.split())


def pages_of(name: str) -> list[str]:
    """The text of each page; one page for a document that is not a PDF."""
    path = DOCUMENTS / name
    if path.suffix != ".pdf":
        return [plain(path.read_text("utf-8"))]
    with pypdfium2.PdfDocument(path) as pdf:
        return [plain(page.get_textpage().get_text_range()) for page in pdf]


def text_of(name: str) -> str:
    return " ".join(pages_of(name))


def answerable() -> list[dict[str, Any]]:
    return [question for question in QUESTIONS if question["kind"] != "unanswerable"]


def test_there_are_enough_documents_and_they_stay_small() -> None:
    kinds = Counter(name.rpartition(".")[2] for name in NAMES)
    assert len(NAMES) >= 34
    assert kinds["json"] >= 14
    assert kinds["pdf"] >= 10
    assert kinds["txt"] >= 6
    assert sum((DOCUMENTS / name).stat().st_size for name in NAMES) < 600_000


def test_committed_pdfs_are_byte_equal_to_a_rebuild() -> None:
    pytest.importorskip("reportlab", reason="reportlab builds the PDFs")
    spec = importlib.util.spec_from_file_location("make_pdfs", BOXOFFICE / "make_pdfs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # a dataclass looks its own module up by name while it is being defined
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "make_pdfs", module)
        spec.loader.exec_module(module)
        built = module.make_all()
    assert sorted(built) == PDFS
    differing = [name for name in PDFS if built[name] != (DOCUMENTS / name).read_bytes()]
    assert differing == []


@pytest.mark.parametrize("name", PDFS)
def test_a_pdf_has_a_title_an_outline_and_numbered_pages(name: str) -> None:
    with pypdfium2.PdfDocument(DOCUMENTS / name) as pdf:
        title = pdf.get_metadata_dict()["Title"]
        outline = [entry.get_title() for entry in pdf.get_toc()]
    source = (BOXOFFICE / "sources" / f"{Path(name).stem}.md").read_text("utf-8")
    pages = pages_of(name)
    assert outline[0] == title
    assert outline == re.findall(r"(?m)^#{1,3} (.+)$", source)
    assert all(heading in text_of(name) for heading in outline)
    for number, text in enumerate(pages, start=1):
        assert f"Página {number} de {len(pages)}" in text


def test_pdf_lengths_and_the_running_header() -> None:
    assert len(pages_of("venues/arena-paulista-regras.pdf")) >= 4
    fair = pages_of("venues/centro-baia-norte-regulamento.pdf")
    header = "Centro de Convenções Baía Norte — Regulamento de visitantes"
    assert len(fair) >= 5
    assert all(page.startswith(header) for page in fair)


def test_the_two_columns_are_read_left_then_right() -> None:
    last_on_the_left, first_on_the_right = "aviso MA-44", "Chapelaria"
    with pypdfium2.PdfDocument(DOCUMENTS / TWO_COLUMNS) as pdf:
        text = pdf[0].get_textpage()
        places = [
            text.search(words, match_case=True).get_next()
            for words in (last_on_the_left, first_on_the_right)
        ]
        (left, _), (right, _) = places
        left_box, right_box = text.get_charbox(left), text.get_charbox(right)
        middle = pdf[0].get_width() / 2
    # the right heading stands beside the top of the page, the left words near its foot
    assert left_box[0] < middle < right_box[0]
    assert left_box[1] < right_box[1]
    assert left < right
    assert (
        "A fila começa no portão da rua e não pode ser marcada com cadeiras ou barracas."
        in pages_of(TWO_COLUMNS)[0]
    )


def test_the_price_table_is_read_row_by_row() -> None:
    page = pages_of("venues/estadio-serra-verde-regras.pdf")[0]
    rows = re.findall(r"[A-Z]{2}-\d+ Portão \d+ [\d.]+ R\$ (\d+) R\$ (\d+)", page)
    assert len(rows) == 11
    assert all(int(full) == 2 * int(half) for full, half in rows)


def test_only_the_two_seasons_differ() -> None:
    old = text_of("venues/teatro-do-porto-regras-2025.pdf")
    new = text_of("venues/teatro-do-porto-regras-2026.pdf")
    assert "de 1º de fevereiro de 2025 a 31 de janeiro de 2026" in old
    assert "a partir de 1º de fevereiro de 2026" in new
    for before, after in [
        ("40 x 30 x 20 cm", "30 x 25 x 15 cm"),
        ("abre 60 minutos antes", "abre 90 minutos antes"),
        ("cobra R$ 10 por volume", "cobra R$ 15 por volume"),
    ]:
        assert before in old
        assert before not in new
        assert after in new
        assert after not in old


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".json")])
def test_an_event_parses_and_its_prices_are_numbers(name: str) -> None:
    event = json.loads((DOCUMENTS / name).read_text("utf-8"))
    assert {"title", "venue", "date", "doors", "age_rating", "description", "notes"} <= set(event)
    assert event["language"] in {"pt", "es", "en"}
    for sector in event["sectors"]:
        assert sector["price_brl"] > 0
        assert sector["half_price_brl"] in {sector["price_brl"] / 2, sector["price_brl"]}


@pytest.mark.parametrize("language", ["pt", "es", "en"])
def test_each_faq_has_a_dozen_questions(language: str) -> None:
    text = (DOCUMENTS / f"faq/faq-{language}.md").read_text("utf-8")
    assert len(re.findall(r"(?m)^### ", text)) >= 12


@pytest.mark.parametrize("name", NAMES)
def test_mail_addresses_lead_nowhere(name: str) -> None:
    domains = re.findall(r"@([\w.-]+\w)", text_of(name))
    assert all(domain.endswith(".example") for domain in domains)


def test_the_six_demo_questions_come_first_and_in_order() -> None:
    assert [question["id"] for question in QUESTIONS if question.get("demo")] == [
        "demo-camera-and-access",
        "demo-pcd-notice",
        "demo-error-bx-217",
        "demo-water-bottle",
        "demo-bag-size-this-season",
        "demo-parking-price",
    ]
    assert all(question.get("demo") for question in QUESTIONS[:6])


def test_kinds_and_languages_are_balanced() -> None:
    kinds = Counter(question["kind"] for question in QUESTIONS)
    assert set(kinds) == {"concept", "code", "multi_part", "unanswerable"}
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS) >= 26
    assert kinds["unanswerable"] >= 0.3 * len(QUESTIONS)
    assert kinds["code"] >= 0.3 * len(QUESTIONS)
    assert min(Counter(question["language"] for question in QUESTIONS).values()) >= 5


@pytest.mark.parametrize("question", answerable(), ids=lambda question: question["id"])
def test_every_quote_stands_in_its_document(question: dict[str, Any]) -> None:
    for evidence in question["evidence"]:
        name, quote = evidence["document"], plain(evidence["quote"])
        pages = pages_of(name)
        assert name.endswith(".pdf") == ("page" in evidence)
        assert quote in pages[evidence.get("page", 1) - 1]
    parts = {evidence["part"] for evidence in question["evidence"]}
    assert (len(parts) > 1) == (question["kind"] == "multi_part")
    for name in question.get("superseded", []):
        assert not any(plain(item["quote"]) in text_of(name) for item in question["evidence"])


@pytest.mark.parametrize(
    "question",
    [question for question in QUESTIONS if question["kind"] == "unanswerable"],
    ids=lambda question: question["id"],
)
def test_no_document_answers_an_unanswerable_question(question: dict[str, Any]) -> None:
    assert "evidence" not in question
    assert set(question["near"]) <= set(NAMES)
    names = question.get("absent_from", NAMES)
    found = [name for name in names if re.search(question["absent"], text_of(name))]
    assert found == []


def test_the_club_says_nothing_about_parking() -> None:
    club = text_of("venues/clube-estacao-onze-regras.pdf") + text_of("events/granizo-club.json")
    assert not re.search(r"(?i)estacionamento|parking|vagas?\b", club)


def test_the_lab_is_well_formed_and_its_vectors_alone_do_not_suffice() -> None:
    lab = json.loads((BOXOFFICE / "lab.json").read_text("utf-8"))
    chunks, questions = lab["chunks"], lab["questions"]
    assert (len(chunks), len(questions), len(lab["dimensions"])) == (8, 4, 5)
    vectors = [entry["vector"] for entry in (*chunks.values(), *questions)]
    assert all(len(vector) == 5 for vector in vectors)
    assert all(set(question["relevant"]) <= set(chunks) for question in questions)

    def cosine(left: list[float], right: list[float]) -> float:
        product = sum(x * y for x, y in zip(left, right, strict=True))
        return product / math.hypot(*left) / math.hypot(*right)

    reciprocal_ranks = []
    for question in questions:
        order = sorted(chunks, key=lambda name: -cosine(question["vector"], chunks[name]["vector"]))
        first = min(order.index(name) for name in question["relevant"])
        reciprocal_ranks.append(1 / (1 + first))
    assert sum(reciprocal_ranks) / len(reciprocal_ranks) == pytest.approx(0.75)
