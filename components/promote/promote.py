"""Decides whether a candidate enters an environment, carries the decision out, and records it with its evidence.

On a promotion the record is begun, then the servers change, then the alias, then the record is ended. Killed at any
point, the record says "unfinished" or is true, and the same call again goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..core import config as configs
from ..core.backends.base import Backend, backend
from ..core.errors import ConfigError, TowpathError
from ..core.release import check_results, decisions, environments, registry
from ..core.release.check_results import Results
from ..core.release.environments import Rules
from ..core.release.registry import Version
from .config import PromoteConfig
from .decide import Finding, decide
from .page import decision_page


@dataclass(frozen=True)
class Decision:
    """What was decided.

    Args:
        outcome: "promote": the version serves the environment; "hold": nothing there has changed.
        reasons: on hold, every rule that is not met, with figures; else those that are.
        url: of the environment's live server; None where nothing serves.
        page: the decision for readers, as Markdown.
    """

    outcome: Literal["promote", "hold"]
    reasons: tuple[str, ...]
    url: str | None
    page: str


def promote(
    name: str, version: str, environment: str, results: Results, approvals: Iterable[str], config: PromoteConfig
) -> Decision:
    """Decides by the environment's rules and carries it out. The same call again changes and records nothing new.

    Args:
        name, version: in the registry.
        results: of the check step.
        approvals: given now; they are recorded with who gave them. Those recorded earlier count too.

    Raises:
        ConfigError: no such environment, version or approval.
        RetryError: the new live server does not come up; the old one goes on serving, and the record says so.
    """
    rules = environments.read(config.environments)
    entry = environments.find(rules, environment)
    model = _approved(registry.get(name, version), approvals, rules)
    servers = backend(config.backend)
    before = decisions.history(entry.previous, name) if entry.previous else []
    findings = decide(entry, model, results, model.approvals, before)
    if not (_candidate_holds(servers, model, environment) or _serves(servers, model, environment)):
        findings.append(
            Finding("candidate", False, f"version {model.version} is not deployed to {environment} any more")
        )
    if all(finding.met for finding in findings):
        return _promote(model, environment, results, findings, servers, config)
    return _hold(model, environment, results, findings, servers)


def _approved(model: Version, approvals: Iterable[str], rules: Rules) -> Version:
    known = {what for entry in rules.values() for what in entry.approvals}
    for what in approvals:
        if what not in known:
            raise ConfigError(f"No environment asks for the approval '{what}'.", configs.nearest(what, known))
        registry.approve(model.name, model.version, what)
    return registry.get(model.name, model.version)


def _promote(
    model: Version,
    environment: str,
    results: Results,
    findings: list[Finding],
    servers: Backend,
    config: PromoteConfig,
) -> Decision:
    held = registry.held(model.name, environment)
    reasons = [finding.text for finding in findings]
    turns = decisions.deployment_history(decisions.history(environment, model.name))
    recorded = held == model.version and turns[-1:] == [held]
    run = None
    if not (recorded and _serves(servers, model, environment)):
        run = decisions.begin("promote", model.name, model.version, environment, held, reasons)
    try:
        url = servers.promote_candidate(environment, model.name, model.version, config.port)
    except TowpathError as error:
        if run:
            decisions.fail(run, str(error))
        raise
    page = decision_page("promote", model, environment, held, url, findings, results)
    if run:
        registry.set_deployed_version(model.name, model.version, environment)
        decisions.end(run, results.flat(), {"decision.md": page, "results.json": check_results.to_json(results)})
    return Decision("promote", tuple(reasons), url, page)


def _hold(model: Version, environment: str, results: Results, findings: list[Finding], servers: Backend) -> Decision:
    reasons = [finding.text for finding in findings if not finding.met]
    held = registry.held(model.name, environment)
    live = servers.live(environment)
    url = live.url if live else None
    page = decision_page("hold", model, environment, held, url, findings, results)
    run = decisions.begin("hold", model.name, model.version, environment, held, reasons)
    if _candidate_holds(servers, model, environment):
        servers.stop_candidate(environment)
    decisions.end(run, results.flat(), {"decision.md": page, "results.json": check_results.to_json(results)})
    return Decision("hold", tuple(reasons), url, page)


def _candidate_holds(servers: Backend, model: Version, environment: str) -> bool:
    wanted = servers.wanted(environment).candidate
    return any(one.name == model.name and one.version == model.version for one in wanted)


def _serves(servers: Backend, model: Version, environment: str) -> bool:
    wanted = servers.wanted(environment)
    return wanted.running and any(one.name == model.name and one.version == model.version for one in wanted.live)
