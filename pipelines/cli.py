"""The `towpath` command: its options, its help and how its errors are reported."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from .. import __version__
from ..components.core.errors import TowpathError
from .commands import compile, console, doctor, environments, run, serve, services, submit

EPILOG = (
    "Exit codes: 0 done (a gate that rejects a model is a result, not an error) · 1 a bug in Towpath · 2 a wrong "
    "argument or setting · 3 input that cannot be used · 4 something this machine lacks · 5 a step of a pipeline "
    "failed · 75 trying again can help · 130 interrupted"
)


class Interrupted(TowpathError):
    """The user pressed Ctrl-C."""

    exit_code = 130


class _Group(TyperGroup):
    """Tells an interruption from an error; what typer makes of it depends on its version."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted.", "The same command resumes where it stopped.") from error


app = typer.Typer(
    name="towpath",
    cls=_Group,
    help="From labelled images to a production API, one gate at a time.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for module in (run, compile, submit, serve, services, environments, doctor):
    module.add(app)


def _version(asked: bool) -> None:
    if asked:
        print(f"towpath {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error. It may appear anywhere on the line.")
    ] = False,
) -> None:
    """From labelled images to a production API, one gate at a time."""


def main() -> None:
    """Runs the command line: an error is one message on stderr and an exit code, see `core.errors`."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(args=arguments, prog_name="towpath")
    except TowpathError as error:
        code = _report_error(str(error), error, error.exit_code, debug)
    except Exception as error:
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        text = f"{what}. This is a bug in Towpath."
        code = _report_error(
            text if debug else f"{text} Run the command again with --debug for the traceback.", error, 1, debug
        )
    else:
        return
    sys.exit(code)


def _report_error(message: str, error: BaseException, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    console.stderr().print(Text.assemble(("Error: ", "bold red"), message))
    return code


if __name__ == "__main__":
    main()
