"""How is something said: one JSON document, or text and colour for a person?"""

import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import regex
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from vademecum.errors import VademecumError
from vademecum.jsontext import written

if TYPE_CHECKING:
    from vademecum.ingest.deliver import Count
    from vademecum.opening import Tell

# What reads a pipe wants whole lines.
_PIPED = not sys.stdout.isatty()
out = Console(highlight=False, soft_wrap=_PIPED, emoji=False, width=200 if _PIPED else None)
err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
# Controls move the cursor, half characters cannot be written, and marks of direction make a text
# look like another. What only joins or spaces letters (Cf, Zs) is part of many languages.
_UNSHOWN = frozenset(["Cc", "Cs", "Zl", "Zp"])
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BRACKET = regex.compile(r"(\\*)\[(?P<tag>[a-z#/@][^\[]*?\])?|(\\+)$")


def print_json(value: Any, *, compact: bool = False) -> None:
    """Print one JSON document on stdout."""
    indent = None if compact else 2
    text = written(value, indent=indent) + "\n"
    sys.stdout.flush()
    # UTF-8 whatever the terminal speaks; half a character of a file's name becomes its escape.
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def say_error(error: VademecumError) -> None:
    """Print one line: what happened, what to do, the code."""
    err.print(f"[red]error:[/] {escape(str(error))} [dim]\\[{error.code}][/]")


def visible(text: str) -> str:
    """Return text of the same length without what would steer a terminal; `\\n` and tabs stay."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if c not in "\n\t" and (unicodedata.category(c) in _UNSHOWN or c in _DIRECTIONS)
        else c
        for c in text
    )


def escape(text: str) -> str:
    """Return text that is printed as it is: no markup, no control characters."""
    return _BRACKET.sub(_literal, visible(text))


def _literal(match: regex.Match[str]) -> str:
    """Double the backslashes that would be read as escapes, and escape the bracket."""
    if ending := match[3]:
        return f"{ending * 2}[none][/none]"  # or the last one would escape the tag that follows
    backslashes = match[1]
    if match["tag"]:
        return f"{backslashes * 2}\\[{match['tag']}"
    return f"{backslashes}\\["


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a long piece of work may say meanwhile. After `stop`, other output may be printed."""

    tell: "Tell"
    count: "Count"
    stop: Callable[[], None]


@contextmanager
def working(text: str, *, quiet: bool, counted: str = "working") -> Iterator[Work]:
    """Show what takes time: on a terminal in one line that goes away, with a bar while things of
    the kind `counted` are counted; elsewhere a line each."""
    if quiet or not err.is_terminal:
        yield Work(
            tell=(lambda _: None) if quiet else (lambda line: err.print(escape(line))),
            count=lambda _done, _total: None,
            stop=lambda: None,
        )
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
    )
    # On one screen the bar must know of what is printed meanwhile, or both stand on one line.
    screen = out if out.is_terminal else err
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task(text, total=None, count="")

        def count(done: int, total: int) -> None:
            # A total of 0 is not known yet: the bar then only shows that something goes on.
            shown = f"{done}/{total}" if total else ""
            progress.update(
                task, description=counted, completed=done, total=total or None, count=shown
            )

        yield Work(
            tell=lambda line: progress.update(task, description=escape(line)),
            count=count,
            stop=progress.stop,
        )


def page_text(start: int | None, end: int | None) -> str:
    """Return ", p. 3" or ", pp. 3-4", or nothing where there are no pages."""
    if start is None:
        return ""
    return f", p. {start}" if end in (None, start) else f", pp. {start}-{end}"
