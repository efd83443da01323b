"""Decides whether a candidate is promoted to an environment, carries the decision out, and records it.

On a promotion the record is begun, then the servers change, then the alias, then the record is ended. Killed at any
point, the record says "unfinished" or is true, and the same call again continues from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..core import config as configs
from ..core.backends.base import Backend, backend, holds
from ..core.errors import ConfigError, TowpathError
from ..core.release import check_results, decisions, environments, registry
from ..core.release.check_results import Results
from ..core.release.environments import Environment, Rules
from ..core.release.registry import Version
from .config import PromoteConfig
from .decide import Finding, decide
from .page import decision_page


@dataclass(frozen=True)
class Decision:
    """What was decided.

    Attributes:
        outcome: "promote": the version serves the environment; "reject": nothing there has changed.
        reasons: on a rejection, every rule that is not met, with figures; else those that are.
        url: of the environment's live server; None where nothing serves.
        page: the decision for readers, as Markdown.
    """

    outcome: Literal["promote", "reject"]
    reasons: tuple[str, ...]
    url: str | None
    page: str


def promote(
    name: str,
    version: str,
    environment: str,
    results: Results,
    approvals: Iterable[str],
    rules: Rules,
    config: PromoteConfig,
) -> Decision:
    """Decides by the environment's rules and carries it out. The same call again changes and records nothing new.

    Args:
        name: of the model in the registry.
        version: of the model.
        environment: that it is to be promoted to.
        results: of the check step.
        approvals: given now; they are recorded with who gave them. Those recorded earlier count too.
        rules: of all environments.
        config: see PromoteConfig.

    Raises:
        ConfigError: no such environment, version or approval.
        RetryError: the new live server does not come up; the old one keeps serving, and the record says so.
    """
    entry = environments.find(rules, environment)
    with decisions.transaction(environment):
        return _decide(name, version, entry, results, approvals, rules, config)


def _decide(
    name: str,
    version: str,
    entry: Environment,
    results: Results,
    approvals: Iterable[str],
    rules: Rules,
    config: PromoteConfig,
) -> Decision:
    environment = entry.name
    model = _approved(registry.get(name, version), approvals, rules)
    servers = backend(entry.backend)
    before = decisions.history(entry.previous, name) if entry.previous else []
    findings = decide(entry, model, results, model.approvals, before)
    if not (_is_candidate(servers, model, environment) or _is_served(servers, model, environment)):
        findings.append(
            Finding("candidate", False, f"version {model.version} is not deployed to {environment} any more")
        )
    if all(finding.met for finding in findings):
        return _promote(model, environment, results, findings, servers, config)
    return _reject(model, environment, results, findings, servers)


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
    deployed = registry.deployed_version(model.name, environment)
    reasons = [finding.text for finding in findings]
    versions = decisions.deployment_history(decisions.history(environment, model.name))
    recorded = deployed == model.version and versions[-1:] == [deployed]
    run = None
    if not (recorded and _is_served(servers, model, environment)):
        run = decisions.begin("promote", model.name, model.version, environment, deployed, reasons)
    try:
        url = servers.promote_candidate(environment, model.name, model.version, config.port).url
    except TowpathError as error:
        if run:
            decisions.fail(run, str(error))
        raise
    page = decision_page("promote", model, environment, deployed, url, findings, results)
    if run:
        registry.set_deployed_version(model.name, model.version, environment)
        decisions.end(run, results.flat(), {"decision.md": page, "results.json": check_results.to_json(results)})
    return Decision("promote", tuple(reasons), url, page)


def _reject(model: Version, environment: str, results: Results, findings: list[Finding], servers: Backend) -> Decision:
    reasons = [finding.text for finding in findings if not finding.met]
    deployed = registry.deployed_version(model.name, environment)
    live = servers.live(environment)
    url = live.url if live else None
    page = decision_page("reject", model, environment, deployed, url, findings, results)
    run = decisions.begin("reject", model.name, model.version, environment, deployed, reasons)
    if _is_candidate(servers, model, environment):
        servers.stop_candidate(environment)
    decisions.end(run, results.flat(), {"decision.md": page, "results.json": check_results.to_json(results)})
    return Decision("reject", tuple(reasons), url, page)


def _is_candidate(servers: Backend, model: Version, environment: str) -> bool:
    return holds(servers.desired(environment).candidate, model.name, model.version)


def _is_served(servers: Backend, model: Version, environment: str) -> bool:
    desired = servers.desired(environment)
    return desired.running and holds(desired.live, model.name, model.version)
