"""Results of checks: written by the check step, decided on by the promote step."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path

from .. import files
from ..errors import DataError


@dataclass(frozen=True)
class CheckResult:
    """What one check found.

    Attributes:
        check: its name ("predictions").
        passed: within its limits.
        figures: what was measured, and the limits it was held to.
        notes: in words: what failed, or what a figure does not tell.
        seconds: that it took.
    """

    check: str
    passed: bool
    figures: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Results:
    """What all checks found about one version in one environment, asked at `url`."""

    name: str
    version: str
    environment: str
    url: str
    checks: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every check did."""
        return all(result.passed for result in self.checks)

    def flat(self) -> dict[str, float]:
        """Every figure by "check.figure", and "check.passed" as 1 or 0: what Kubeflow shows and MLflow keeps."""
        numbers: dict[str, float] = {}
        for result in self.checks:
            numbers[f"{result.check}.passed"] = float(result.passed)
            numbers |= {f"{result.check}.{name}": value for name, value in result.figures.items()}
        return numbers

    def markdown(self) -> str:
        """A table for readers."""
        lines = [
            f"# {self.name} {self.version}: checks for {self.environment}",
            "",
            "| check | | figures | notes | seconds |",
            "|---|---|---|---|---:|",
        ]
        for result in self.checks:
            figures = ", ".join(f"{name} {value:.4g}" for name, value in result.figures.items())
            notes = "; ".join(result.notes).replace("|", "\\|").replace("\n", " ")
            sign = "passed" if result.passed else "**failed**"
            lines.append(f"| {result.check} | {sign} | {figures} | {notes} | {result.seconds:.1f} |")
        return "\n".join(lines) + "\n"


def to_json(results: Results) -> str:
    """The text that `read` reads."""
    return json.dumps(dataclasses.asdict(results), indent=1, allow_nan=False) + "\n"


def write(results: Results, path: Path) -> None:
    """Writes results as JSON."""
    files.write_text(path, to_json(results))


def read(path: Path) -> Results:
    """Reads what `write` wrote.

    Raises:
        DataError: the file is something else.
    """
    value = files.read_json(path, "the results of checks")
    try:
        checks = tuple(CheckResult(**{**item, "notes": tuple(item["notes"])}) for item in value["checks"])
        return Results(**{**value, "checks": checks})
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: these are not results of checks ({error}).") from error
