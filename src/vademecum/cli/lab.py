"""How does a lab's result look in a terminal?"""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from vademecum.evaluate.lab import RECALL_AT, LabAnswer, LabResult, LabScore

_NONE = "-"


def render(result: LabResult, console: Console) -> None:
    """Print a table of candidates for each question, then recall@2 and MRR of each mode.

    Metrics have 2 decimals, cosine and BM25 3, RRF 5; a chunk that is relevant is marked `*`.
    """
    for answer in result.answers:
        console.print(_candidates(answer))
    console.print(_summary(result.scores))
    console.print("* relevant", style="dim", markup=False, highlight=False)


def _candidates(answer: LabAnswer) -> Table:
    # Text objects, since a question may hold what would be read as markup.
    table = Table(title=Text(answer.question), title_justify="left")
    table.add_column("rank", justify="right")
    table.add_column("chunk")
    for name in ("cosine", "bm25", "rrf"):
        table.add_column(name, justify="right")
    for row in answer.rows:
        table.add_row(
            str(row.rank),
            Text(f"{row.chunk} *" if row.relevant else row.chunk),
            f"{row.cosine:.3f}",
            f"{row.bm25:.3f}",
            f"{row.rrf:.5f}",
        )
    return table


def _summary(scores: tuple[LabScore, ...]) -> Table:
    table = Table()
    table.add_column("mode")
    table.add_column(f"recall@{RECALL_AT}", justify="right")
    table.add_column("MRR", justify="right")
    for score in scores:
        table.add_row(score.mode, _metric(score.recall), _metric(score.mrr))
    return table


def _metric(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"
