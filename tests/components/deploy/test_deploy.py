from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from towpath.components.core.backends.local import backend
from towpath.components.core.errors import ConfigError
from towpath.components.core.release import environments, registry
from towpath.components.core.release.registry import Version
from towpath.components.deploy.config import DeployConfig
from towpath.components.deploy.deploy import deploy

pytestmark = pytest.mark.usefixtures("running")
RULES = environments.read()


def versions(url: str) -> dict[str, str]:
    models = httpx.get(f"{url}/v1/models", trust_env=False).json()["models"]
    return {model["name"]: model["version"] for model in models}


def test_a_candidate_holds_what_the_environment_holds_too(add_classifier: Callable[..., Version]) -> None:
    add_classifier("other")
    # Recorded, but nothing serves: another machine, or a cleared folder.
    registry.set_deployed_version("other", "1", "demo")
    add_classifier()
    url = deploy("colours", "1", "demo", RULES, DeployConfig())
    assert versions(url) == {"colours": "1", "other": "1"}
    assert backend.live("demo") is None

    live = backend.promote_candidate("demo", "colours", "1").url
    assert deploy("colours", "1", "demo", RULES, DeployConfig()) == live
    assert backend.candidate("demo") is None
    backend.stop("demo")
    assert deploy("colours", "1", "demo", RULES, DeployConfig()) == live  # stopped, or the machine was restarted
    assert versions(live) == {"colours": "1", "other": "1"}


def test_what_cannot_be_deployed_is_refused(add_classifier: Callable[..., Version]) -> None:
    add_classifier()
    with pytest.raises(ConfigError, match="no version '2'"):
        deploy("colours", "2", "demo", RULES, DeployConfig())
    with pytest.raises(ConfigError, match=r"no environment 'dmeo'.*'demo'"):
        deploy("colours", "1", "dmeo", RULES, DeployConfig())
    with pytest.raises(ConfigError, match=r"no backend 'lokal'.*'local'"):
        deploy("colours", "1", "demo", environments.parse("demo: {backend: lokal}"), DeployConfig())
