"""How are records of CSV and TSV read? Each with the names of its columns, however it is parted."""

import csv
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

import regex

from vademecum.adapters.parsers.compose import Composer, one_line
from vademecum.adapters.parsers.decode import decode
from vademecum.adapters.parsers.tables import header_rows
from vademecum.adapters.parsers.uris import name_of
from vademecum.model.document import ParsedDocument
from vademecum.text.normalise import clean

DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS = 1 << 16
_SAMPLE_RECORDS = 200
_MOST_FIELD = 1 << 24
# A quote that nobody closes makes one field of all the rest.
_LONG_FIELD, _LONG_LINES = 20_000, 50
_TOLD = regex.compile(r"sep=(.)\n", regex.I)


def parse_delimited(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read CSV or TSV: a block a record, as `name: value; name: value`."""
    names, rows = table_of(clean(decode(content)))
    composer = Composer()
    names = list(map(one_line, names))
    for row in rows:
        composer.item(record(names, row), marker="")
    return composer.document(title=name_of(uri), media_type=media_type)


def table_of(text: str) -> tuple[list[str], Iterator[list[str]]]:
    """Return the names of the columns (empty where the first record names none) and the rows."""
    text = text.lstrip("\ufeff").lstrip("\n")
    told = _TOLD.match(text)
    if told:
        text = text[told.end() :]
    delimiter = told[1] if told else delimiter_of(text) or ","
    rows = _records(text, delimiter, csv.QUOTE_MINIMAL)
    head = list(itertools.islice(rows, _SAMPLE_RECORDS))
    if any(
        len(cell) > _LONG_FIELD and cell.count("\n") > _LONG_LINES for row in head for cell in row
    ):
        rows = _records(text, delimiter, csv.QUOTE_NONE)
        head = list(itertools.islice(rows, _SAMPLE_RECORDS))
    named = _names_columns(head)
    return (head[0] if named else []), itertools.chain(head[1:] if named else head, rows)


def delimiter_of(text: str) -> str | None:
    """Return the sign that parts the same number of fields in nearly every record, or None."""
    sample = text[:_SAMPLE_CHARACTERS]
    if len(text) > len(sample):
        sample = sample.rpartition("\n")[0]
    best, best_score = None, (0.0, 0)
    for delimiter in DELIMITERS:
        widths = [
            len(row)
            for row in itertools.islice(
                _records(sample, delimiter, csv.QUOTE_MINIMAL), _SAMPLE_RECORDS
            )
        ]
        if not widths:
            continue
        width, times = Counter(widths).most_common(1)[0]
        score = (round(times / len(widths), 1), width)
        if width > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def is_delimited(text: str) -> bool:
    """Tell whether a text without a telling name is a table all the same: at least three records
    of at least three short fields, with names above them."""
    sample = text[:_SAMPLE_CHARACTERS]
    delimiter = delimiter_of(sample)
    if delimiter is None or sample.lstrip().startswith("|"):
        return False
    rows = list(itertools.islice(_records(sample, delimiter, csv.QUOTE_MINIMAL), _SAMPLE_RECORDS))
    if len(text) > len(sample):
        rows = rows[:-1]
    widths = Counter(map(len, rows))
    width, times = widths.most_common(1)[0]
    if len(rows) < 3 or width < 3 or times < 0.95 * len(rows):
        return False
    # Prose has a blank after its commas, and ends in a full stop.
    prose = sum(cell.startswith(" ") or cell.endswith(".") for row in rows for cell in row[1:])
    return header_rows(rows) == 1 and prose * 5 < sum(map(len, rows))


def record(names: Sequence[str], row: Sequence[str]) -> str:
    """Return one record with its names; empty values are left out, line breaks stay."""
    fields = []
    for position, cell in enumerate(row):
        value = cell.strip()
        if value:
            name = names[position] if position < len(names) else ""
            fields.append(f"{name}: {value}" if name else value)
    return "; ".join(fields)


def _records(text: str, delimiter: str, quoting: int) -> Iterator[list[str]]:
    """Yield the records that are not blank. A damaged end is left as far as it can be read."""
    csv.field_size_limit(_MOST_FIELD)
    reader = csv.reader(_lines(text), delimiter=delimiter, quoting=quoting)  # type: ignore[arg-type]
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue  # one field over the limit
        if any(cell.strip() for cell in row):
            yield row


def _lines(text: str) -> Iterator[str]:
    """Yield lines with their ends; only `\\n` parts them, as other signs may stand in a value."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _names_columns(rows: list[list[str]]) -> bool:
    if not rows:
        return False
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width > 1:
        return bool(header_rows(rows, usual=True))
    # One column has a name where what follows is of another kind.
    first = rows[0][0].strip()
    values = [row[0].strip() for row in rows[1:] if row]
    return (
        bool(values)
        and not any(letter.isdigit() for letter in first)
        and all(any(letter.isdigit() for letter in value) for value in values)
    )
