"""`vade backup`, `vade restore`: all of it in one file, and back without what was forgotten."""

from pathlib import Path
from typing import Annotated

import typer

from vademecum.cli.options import COMMON
from vademecum.cli.output import escape, out, print_json, working

File = Annotated[Path, typer.Argument(metavar="FILE", help="the backup")]


def backup(
    file: File,
    ledger: Annotated[
        bool,
        typer.Option(
            "--ledger", help="only who was forgotten, what was deleted, which keys were ended"
        ),
    ] = False,
) -> None:
    """Write everything into one new file: the database, the originals, the ledger of erasures."""
    # Loads the database driver's blocking half, which no other command needs.
    from vademecum import safekeeping

    loaded = COMMON.settings()
    with working("writing the backup", quiet=COMMON.json) as work:
        if ledger:
            written = safekeeping.keep_ledger(loaded, file, tell=work.tell)
            told = {
                "path": file,
                "erasures": len(written.erasures),
                "deletions": len(written.deletions),
                "keys": len(written.revoked),
            }
        else:
            kept = safekeeping.keep(loaded, file, tell=work.tell)
            told = {
                "path": kept.path,
                "bytes": kept.bytes,
                "blobs": kept.blobs,
                "erasures": kept.erasures,
            }
    if COMMON.json:
        print_json(told)
        return
    counts = ", ".join(f"{value} {name}" for name, value in told.items() if name != "path")
    out.print(f"[green]written[/] {escape(str(file))} ({counts})")


def restore(
    file: File,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="FILE", help="a newer ledger, of `vade backup --ledger`"),
    ] = None,
    without_ledger: Annotated[
        bool, typer.Option("--without-ledger", help="there is none: end every key, and go on")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="in the place of what is in the data folder")
    ] = False,
) -> None:
    """Bring a backup back, without who was forgotten and what was deleted since it was made."""
    from vademecum import safekeeping

    with working("restoring", quiet=COMMON.json) as work:
        done = safekeeping.restore(
            COMMON.settings(),
            file,
            ledger=ledger,
            without_ledger=without_ledger,
            replace=replace,
            tell=work.tell,
        )
    if COMMON.json:
        print_json(
            {
                "made_at": done.made_at,
                "blobs": done.blobs,
                "migrated": list(done.migrated),
                "forgotten": done.forgotten,
                "deleted": done.deleted,
                "keys_ended": done.keys_ended,
            }
        )
        return
    out.print(f"[green]restored[/] what was there at {done.made_at:%Y-%m-%d %H:%M} UTC")
    out.print(
        f"[dim]{done.blobs} originals · {done.forgotten} forgotten again ·"
        f" {done.deleted} deleted again · {done.keys_ended} keys ended[/]"
    )
