"""The decision as a page for readers."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.release.check_results import Results
from ..core.release.registry import Version
from .decide import Finding


def decision_page(
    outcome: str,
    model: Version,
    environment: str,
    deployed: str | None,
    url: str | None,
    findings: Sequence[Finding],
    results: Results,
) -> str:
    """Markdown: the outcome in a line, every rule with what was found, approvals with who gave them, the checks."""
    what = f"{model.name} {model.version}"
    if outcome == "promote":
        head, first = f"# {what} is promoted to {environment}", f"It serves at {url}."
    else:
        head = f"# {what} is not promoted to {environment}"
        first = f"{environment} keeps serving version {deployed}." if deployed else f"{environment} has not changed."
    lines = [head, "", first, "", "| rule | met | found |", "|---|---|---|"]
    lines += [f"| {one.rule} | {'yes' if one.met else '**no**'} | {_cell(one.text)} |" for one in findings]
    if model.approvals:
        lines += ["", "| approval | by | on | note |", "|---|---|---|---|"]
        lines += [
            f"| {one.what} | {_cell(one.who)} | {one.when} | {_cell(one.note)} |" for one in model.approvals.values()
        ]
    return "\n".join(lines) + "\n\n" + results.markdown()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
