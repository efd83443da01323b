"""`towpath compile`, `doctor`, `services` and `status`: what they write and say."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from cli_result import Cli


def test_compile_writes_what_is_named(cli: Cli, tmp_path: Path) -> None:
    result = cli(
        "compile", "train_to_prod", "components/train", "--image-prefix", "registry.example.com/ml", "--tag", "9"
    )
    assert result.code == 0, result.err
    folder = tmp_path / "compiled"
    assert {path.name for path in folder.iterdir()} == {"train-to-prod.yaml", "components"}
    spec = yaml.safe_load((folder / "components" / "train.yaml").read_text())
    (executor,) = spec["deploymentSpec"]["executors"].values()
    assert executor["container"]["image"] == "registry.example.com/ml/train-cpu:9"
    assert "compiled/train-to-prod.yaml" in result.out


def test_compile_says_what_it_does_not_know(cli: Cli, tmp_path: Path) -> None:
    result = cli("compile", "train", "evalute")
    assert result.code == 2
    assert "Did you mean 'evaluate'?" in result.err
    assert not (tmp_path / "compiled").exists()


def test_doctor_says_what_this_machine_has(cli: Cli, own_home: Path) -> None:
    found = json.loads(cli("doctor", "--json").out)
    assert found["cores"] >= 1
    assert found["packages"]["kfp"]
    assert found["home"] == str(own_home)
    assert set(found["extras"]) >= {"prepare", "train", "serve", "registry"}
    result = cli("doctor")
    assert result.code == 0
    assert "accelerators" in result.out


def test_doctor_tells_an_engine_that_does_not_answer(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("docker", "kubectl", "nvidia-smi"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/bin")
    found = json.loads(cli("doctor", "--json").out)
    assert found["engine"] == "docker is installed, but no engine answers"
    assert found["cluster"] == "kubectl is installed, but no cluster is chosen"
    assert found["accelerators"][0] == "nvidia-smi is there, but does not answer"


def test_services_where_none_run(cli: Cli) -> None:
    assert "No services are running." in cli("services").out
    assert json.loads(cli("services", "list", "--json").out) == []
    assert cli("services", "stop", "--all").out == "Nothing was running.\n"
    result = cli("services", "start", "demo")
    assert result.code == 2
    assert "Nothing serves in 'demo'" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["promote", "digits", "--to", "dmeo"], "There is no environment 'dmeo'. Did you mean 'demo'?"),
        (["promote", "digits@", "--to", "demo"], "'digits@' is not NAME@VERSION."),
        (["rollback", "prd"], "There is no environment 'prd'. Did you mean 'prod'?"),
    ],
)
def test_what_is_no_environment_or_version_is_named(cli: Cli, words: list[str], message: str) -> None:
    result = cli(*words)
    assert result.code == 2
    assert message in result.err


@pytest.mark.slow
def test_an_empty_registry(cli: Cli) -> None:
    assert "Nothing is deployed." in cli("status").out
    assert json.loads(cli("status", "--json").out) == []
    result = cli("promote", "digits", "--to", "demo")
    assert result.code == 2
    assert "The registry has no model 'digits'." in result.err
    assert cli("rollback", "prod").code == 2
