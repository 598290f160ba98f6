"""Do the labs print, digit for digit, the figures that were worked out for them?"""

from pathlib import Path

from vademecum.evaluate.lab import LabResult, LabRow, load_lab, run_lab

ROOT = Path(__file__).resolve().parents[2]
BOXOFFICE = ROOT / "examples" / "boxoffice" / "lab.json"


def run(path: Path) -> LabResult:
    return run_lab(load_lab(path.read_text("utf-8")))


def shown(row: LabRow) -> tuple[str, str, str, str]:
    return row.chunk, f"{row.cosine:.3f}", f"{row.bm25:.3f}", f"{row.rrf:.5f}"


def summary(result: LabResult) -> list[tuple[str, str, str]]:
    return [(s.mode, f"{s.recall:.2f}", f"{s.mrr:.2f}") for s in result.scores]


def test_the_bookshop_lab(shared_data: Path) -> None:
    result = run(shared_data / "lab-bookshop.json")
    assert summary(result) == [
        ("dense", "0.50", "0.67"),
        ("bm25", "0.50", "0.50"),
        ("hybrid", "0.75", "0.75"),
    ]
    money_back, error = result.answers
    assert shown(money_back.rows[0]) == ("damaged-books", "0.788", "3.364", "0.03227")
    assert shown(error.rows[0]) == ("error-kh402", "0.737", "5.046", "0.03227")
    # The only chunk with a word of the question: first by BM25, third by cosine.
    assert money_back.found["bm25"] == ("damaged-books",)
    assert (money_back.rows[0].dense_rank, money_back.rows[0].bm25_rank) == (3, 1)
    assert error.found["bm25"] == ("error-kh402",)
    assert (error.rows[0].dense_rank, error.rows[0].bm25_rank) == (3, 1)


def test_the_box_office_lab() -> None:
    result = run(BOXOFFICE)
    assert [(s.mode, s.recall, s.mrr) for s in result.scores] == [
        ("dense", 1.0, 0.75),
        ("bm25", 1.0, 0.875),
        ("hybrid", 1.0, 1.0),
    ]
    assert [shown(answer.rows[0]) for answer in result.answers] == [
        ("companion-seat", "0.966", "3.903", "0.03252"),
        ("error-bx217", "0.851", "3.443", "0.03252"),
        ("change-of-mind", "0.991", "1.721", "0.03252"),
        ("cancelled-show", "0.996", "1.101", "0.03252"),
    ]
