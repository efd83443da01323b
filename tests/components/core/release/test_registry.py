from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.components.core.errors import BundleError, ConfigError
from towpath.components.core.models import bundle
from towpath.components.core.release import decisions, mlflow_client, registry
from towpath.components.core.release.decisions import Event
from towpath.components.core.release.registry import Version


def test_a_version_comes_back_as_it_was_registered(add_classifier: Callable[..., Version], own_home: Path) -> None:
    made = add_classifier(accuracy=0.91)
    found = registry.get("colours")
    assert found == made
    assert (found.version, found.task, found.metrics) == ("1", "classification", {"accuracy": 0.91})
    assert bundle.read(found.bundle).digest == found.digest
    assert own_home in found.bundle.parents


def test_the_same_bundle_again_is_the_same_version(make_classifier: Callable[..., Path], fresh_registry: Path) -> None:
    found = bundle.read(make_classifier())
    first = registry.register(found, {"accuracy": 0.9})
    again = registry.register(found, {"accuracy": 0.95, "odd": float("nan")})
    other = registry.register(bundle.read(make_classifier(note="second")), {"accuracy": 0.9})
    assert (first.version, again.version, other.version) == ("1", "1", "2")
    assert again.metrics == {"accuracy": 0.95}
    assert registry.names() == ["colours"]


def test_killed_before_the_version_is_made_leaves_none(
    make_classifier: Callable[..., Path], fresh_registry: Path
) -> None:
    folder = make_classifier()
    # Real code in a real process, which is killed when the bundle's copy is done.
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from towpath.components.core.models import bundle\n"
        "from towpath.components.core.release import registry\n"
        "registry.files.tree_digest = lambda path: os.kill(os.getpid(), signal.SIGKILL)\n"
        "found = bundle.Bundle(Path(sys.argv[1]), bundle.read(sys.argv[1]).card)\n"
        "type(found).digest = property(lambda self: sys.argv[2])\n"
        "registry.register(found, {'accuracy': 0.9})\n"
    )
    digest = bundle.read(folder).digest
    died = subprocess.run([sys.executable, "-c", script, str(folder), digest], env=os.environ, check=False)
    assert died.returncode == -signal.SIGKILL
    assert registry.names() == []
    made = registry.register(bundle.read(folder), {"accuracy": 0.9})
    assert made.version == "1"
    assert bundle.read(made.bundle).digest == digest
    assert len(list((fresh_registry / "artifacts" / "colours").iterdir())) == 1  # the same run went on


def test_environments_and_approvals(add_classifier: Callable[..., Version]) -> None:
    add_classifier()
    add_classifier(note="second")
    registry.set_deployed_version("colours", "1", "app-demo")
    registry.set_deployed_version("colours", "2", "demo")
    assert registry.environments() == {"app-demo": {"colours": "1"}, "demo": {"colours": "2"}}
    assert registry.deployed_version("colours", "prod") is None
    assert registry.get("colours", "app-demo").version == "1"

    first = registry.approve("colours", "1", "legal", "Ann", "patents looked at")
    assert registry.approve("colours", "1", "legal", "Bob") == first
    assert registry.get("colours", "1").approvals == {"legal": first}
    assert registry.get("colours", "2").approvals == {}


def test_what_is_not_there_is_named_with_the_nearest(add_classifier: Callable[..., Version], own_home: Path) -> None:
    with pytest.raises(ConfigError, match="no model 'colors'"):
        registry.get("colors")
    add_classifier()
    with pytest.raises(ConfigError, match="Did you mean 'colours'"):
        registry.get("colors")
    with pytest.raises(ConfigError, match="'colours' has no version '7'"):
        registry.get("colours", "7")
    with pytest.raises(ConfigError, match="letters, digits"):
        add_classifier(name="what is it?")


def test_history_counts_what_was_ended(fresh_registry: Path) -> None:
    killed = decisions.begin("promote", "colours", "1", "demo", None, ["accuracy 0.99 >= 0.70"])
    assert decisions.history("demo") == []
    assert decisions.begin("promote", "colours", "1", "demo", None, ["accuracy 0.99 >= 0.70"]) == killed
    decisions.end(killed, {"health.passed": 1.0}, {"decision.md": "# yes\n"})
    decisions.fail(decisions.begin("promote", "colours", "2", "demo", "1", []), "it did not come up")
    decisions.end(decisions.begin("reject", "colours", "3", "demo", "1", ["too weak"]), {}, {})
    assert [(event.action, event.version) for event in decisions.history("demo", "colours")] == [
        ("promote", "1"),
        ("reject", "3"),
    ]
    assert decisions.history("prod") == []


def test_rolling_back_twice_goes_back_by_two() -> None:
    def event(action: decisions.Action, version: str) -> Event:
        return Event(action, "colours", version, None, "demo", "ann", "", (), "")

    events = [event("promote", "1"), event("promote", "2"), event("reject", "9"), event("promote", "3")]
    assert decisions.deployment_history(events) == ["1", "2", "3"]
    events.append(event("rollback", "2"))
    assert decisions.deployment_history(events) == ["1", "2"]
    events.append(event("promote", "1"))
    assert decisions.deployment_history(events) == ["2", "1"]


def test_bundles_of_two_registries_are_never_mistaken_for_each_other(
    make_classifier: Callable[..., Path], own_home: Path
) -> None:
    """A registry elsewhere gives addresses; file:// is one that MLflow fetches like any other."""
    first, second = make_classifier(note="first"), make_classifier(note="second")
    digests = [bundle.read(folder).digest for folder in (first, second)]
    fetched = [
        mlflow_client.download(folder.as_uri(), digest) for folder, digest in zip((first, second), digests, strict=True)
    ]
    assert [bundle.read(folder).digest for folder in fetched] == digests
    assert mlflow_client.download(first.as_uri(), digests[0]) == fetched[0]
    with pytest.raises(BundleError, match="not what was registered"):
        mlflow_client.download(first.as_uri(), "0" * 64)
    assert not (own_home / "models" / ("0" * 64)).exists()


def test_two_processes_fetch_a_bundle_at_once(make_classifier: Callable[..., Path], own_home: Path) -> None:
    folder = make_classifier()
    digest = bundle.read(folder).digest
    program = (
        "import sys; from towpath.components.core.release import mlflow_client\n"
        "print(mlflow_client.download(sys.argv[1], sys.argv[2]))"
    )
    command = [sys.executable, "-c", program, folder.as_uri(), digest]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    places = {process.communicate()[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert places == {str(own_home / "models" / digest)}
    assert sorted(path.name for path in (own_home / "models").iterdir()) == [digest, f"{digest}.lock"]


def test_a_bundle_that_was_changed_is_not_deployed(add_classifier: Callable[..., Version]) -> None:
    found = add_classifier()
    assert registry.verified("colours") == found
    (found.bundle / "model.json").write_bytes((found.bundle / "model.json").read_bytes() + b" ")
    with pytest.raises(BundleError, match="not what was registered"):
        registry.verified("colours")
