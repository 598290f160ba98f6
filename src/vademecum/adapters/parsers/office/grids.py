"""Which tables stand on a sheet? What blank rows part, with the names above them."""

from collections.abc import Iterable, Mapping

from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.tables import header_rows

_LARGE_AREA = 100_000
_LEAST_SHARE = 20  # of how many cells one must be filled

Row = Mapping[int, str]  # from column to what stands there; blank cells are not in it


def place_grid(rows: Iterable[tuple[int, Row]], composer: Composer) -> None:
    """Put a sheet's rows, each with its number, into the composer: a line alone is a paragraph,
    rows of one cell are lines, all others are tables."""
    for group in _groups(rows):
        if max(map(len, group)) == 1:
            if len(group) == 1:
                composer.paragraph(next(iter(group[0].values())))
            else:
                for row in group:
                    composer.item(next(iter(row.values())), marker="")
            continue
        while len(group[0]) == 1:  # what is written above a table
            composer.paragraph(next(iter(group.pop(0).values())))
        if _is_scattered(group):
            for row in group:
                composer.item("; ".join(text for _, text in sorted(row.items())), marker="")
            continue
        grid = _dense(group)
        composer.table(grid, header_rows=header_rows(grid))


def _is_scattered(rows: list[Row]) -> bool:
    """Tell whether nearly all cells of a table of these rows would be blank, and very many."""
    columns = {column for row in rows for column in row}
    area = len(columns) * len(rows)
    return area > _LARGE_AREA and area > _LEAST_SHARE * sum(map(len, rows))


def _groups(rows: Iterable[tuple[int, Row]]) -> list[list[Row]]:
    """Return the rows that belong together. A blank row parts them, unless what follows goes on
    in the same columns without names of its own."""
    groups: list[list[Row]] = []
    last = 0
    for number, row in rows:
        if groups and number == last + 1:
            groups[-1].append(row)
        else:
            groups.append([row])
        last = number
    joined: list[list[Row]] = []
    for group in groups:
        if joined and _goes_on(joined[-1], group):
            joined[-1].extend(group)
        else:
            joined.append(group)
    return joined


def _goes_on(above: list[Row], group: list[Row]) -> bool:
    if max(map(len, group)) < 2 or len(above) < 2 or len(group[0]) < 2:
        return False
    known = {column for row in above for column in row}
    if not {column for row in group for column in row} <= known:
        return False
    return header_rows(_dense(group)) == 0


def _dense(rows: list[Row]) -> list[list[str]]:
    columns = sorted({column for row in rows for column in row})
    return [[row.get(column, "") for column in columns] for row in rows]
