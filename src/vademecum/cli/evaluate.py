"""`vade eval`: how good is it?"""

import typer

evaluate = typer.Typer(no_args_is_help=True, help="How good is it?")
