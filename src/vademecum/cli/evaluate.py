"""`vade eval`: how good is it?"""

from pathlib import Path
from typing import Annotated

import typer

from vademecum.cli.eval import calibrate as eval_calibrate
from vademecum.cli.eval import compare as eval_compare
from vademecum.cli.eval import generate as eval_generate
from vademecum.cli.eval import run as eval_run
from vademecum.cli.lab import render
from vademecum.cli.options import COMMON, command
from vademecum.cli.output import out, print_json
from vademecum.errors import InvalidSetting, SourceNotFound
from vademecum.evaluate.lab import as_json, run_lab
from vademecum.evaluate.lab_file import load_lab

evaluate = typer.Typer(no_args_is_help=True, help="How good is it?")
evaluate.command("run")(command(eval_run.run))
evaluate.command("compare")(command(eval_compare.compare))
evaluate.command("list")(command(eval_compare.list_runs))
evaluate.command("calibrate")(command(eval_calibrate.calibrate_collection))
evaluate.command("generate")(command(eval_generate.generate))


@evaluate.command("lab")
@command
def lab(file: Annotated[Path, typer.Argument(metavar="FILE", help="chunks and questions")]) -> None:
    """Run a small lab of given vectors through the product's own ranking and metrics."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SourceNotFound(f"there is no file {file}", hint="check the path") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{file} cannot be read as text", hint="give a JSON file") from error
    result = run_lab(load_lab(text))
    if COMMON.json:
        print_json(as_json(result))
    else:
        render(result, out)
