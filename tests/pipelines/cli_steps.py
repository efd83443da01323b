"""A pipeline of small components with the real steps' names, to see how the command line tells of a run."""

from typing import NamedTuple

from kfp import dsl
from kfp.dsl import HTML, Input, Metrics, Output

from towpath import __version__

IMAGE = f"towpath/core:{__version__}"


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def evaluate(metrics: Output[Metrics], report: Output[HTML], accuracy: float):
    """Says what it is told, and leaves a page."""
    from pathlib import Path

    metrics.log_metric("accuracy", accuracy)
    Path(report.path).write_text("<p>a page</p>")


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def promote(name: str, version: str, environment: str, results: Input[Metrics]) -> NamedTuple(
    "Decision", outcome=str, reasons=str
):
    """Lets in what is accurate enough."""
    from collections import namedtuple

    accuracy = results.metadata["accuracy"]
    decision = namedtuple("Decision", ["outcome", "reasons"])
    return decision("promote", "") if accuracy >= 0.7 else decision("reject", f"accuracy {accuracy} is below 0.7")


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def wait(seconds: float):
    """Takes a while, and says when it has begun."""
    import sys
    import time

    print("waiting", file=sys.stderr, flush=True)
    time.sleep(seconds)


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def fail(how: str):
    """Raises an error: one of Towpath's, or another."""
    from towpath.components.core.errors import DataError

    if how == "data":
        raise DataError("images/a.xml: box 3 has no area.", "Fix the file.")
    raise ZeroDivisionError("division by zero")


@dsl.pipeline(name="gate")
def gate(accuracy: float = 0.9):
    """Evaluates, then decides."""
    scored = evaluate(accuracy=accuracy)
    promote(name="digits", version="1", environment="demo", results=scored.outputs["metrics"]).set_caching_options(
        False
    )
