"""`towpath run`: what it shows of a run, in words and as JSON, and how it ends."""

from __future__ import annotations

import functools
import json
import signal
import subprocess
import sys
from pathlib import Path

import cli_steps
import pytest
from cli_result import Cli
from kfp import compiler
from PIL import Image


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of compiled pipelines."""
    for component in (cli_steps.gate, cli_steps.fail, cli_steps.wait):
        compiler.Compiler().compile(component, str(tmp_path / f"{component.name}.yaml"))
    return tmp_path


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Twelve images of two classes, a folder each."""
    for number in range(12):
        folder = tmp_path / "images" / ("dark" if number % 2 else "light")
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (10 * number, 20, 0)).save(folder / f"{number}.png")
    return tmp_path / "images"


def test_a_run_is_told_as_a_table(cli: Cli, files: Path) -> None:
    result = cli("run", "gate.yaml")
    assert result.code == 0
    assert "evaluate" in result.out
    assert "accuracy 0.900" in result.out
    assert "promoted" in result.out
    assert "▸ demo · promote" in result.err
    assert (files / "runs" / "latest" / "report.html").read_text() == "<p>a page</p>"
    assert "report.html" in result.out


def test_a_second_run_is_cached(cli: Cli, files: Path) -> None:
    cli("run", "gate.yaml")
    tasks = {task["task"]: task for task in json.loads(cli("run", "gate.yaml", "--json").out)["tasks"]}
    assert tasks["evaluate"]["cached"]
    assert not tasks["promote"]["cached"]
    tasks = {task["task"]: task for task in json.loads(cli("run", "gate.yaml", "--json", "--no-cache").out)["tasks"]}
    assert not tasks["evaluate"]["cached"]


def test_a_gate_that_holds_is_a_result(cli: Cli, files: Path) -> None:
    result = cli("run", "gate.yaml", "-a", "accuracy=0.5")
    assert result.code == 0
    assert "digits version 1 was not promoted to demo: accuracy 0.5 is below 0.7" in result.out
    found = json.loads(cli("run", "gate.yaml", "-a", "accuracy=0.5", "--json").out)
    assert found["state"] == "succeeded"
    assert found["urls"] == {}
    assert found["gates"] == [
        {
            "environment": "demo",
            "model": "digits version 1",
            "outcome": "reject",
            "reasons": "accuracy 0.5 is below 0.7",
        }
    ]


@pytest.mark.parametrize(("how", "code", "message"), [("data", 3, "Error: images/a.xml: box 3"), ("other", 5, "Zero")])
def test_a_failed_step_is_one_message(cli: Cli, files: Path, how: str, code: int, message: str) -> None:
    result = cli("run", "fail.yaml", "-a", f"how={how}", "--json")
    assert result.code == code
    assert message in result.err
    assert "Traceback" not in result.err
    assert "its log: runs/" in result.err
    found = json.loads(result.out)
    assert found["state"] == "failed"
    assert found["error"]
    assert "Traceback" in cli("--debug", "run", "fail.yaml", "-a", f"how={how}").err
    assert "Traceback" in cli("run", "fail.yaml", "-a", f"how={how}", "--debug").err


def test_a_component_alone_and_its_output_as_input(cli: Cli, images: Path) -> None:
    result = cli("run", "prepare", "--data", "images", "--set", "prepare.min_shards=1", "--out", "prepared", "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["pipeline"] == "prepare"
    assert found["tasks"][0]["figure"] == "12 images, 2 classes"
    assert (Path(found["tasks"][0]["outputs"]["records"]) / "manifest.json").is_file()
    result = cli(
        "run", "components/train", "--input", "records=prepared/latest/prepare/records", "--set", "train.epoch=1"
    )
    assert (result.code, result.out) == (2, "")
    assert "Did you mean 'epochs'?" in result.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run", "trian"], 2, "Did you mean 'train'?"),
        (["run", "train", "--set", "train.epoch=1"], 2, "Did you mean 'epochs'?"),
        (["run", "prepare"], 2, "Give --data FOLDER."),
        (["run", "nowhere.yaml"], 3, "there is no such pipeline file"),
        (["run", "prepare", "--data", "nowhere"], 3, "nowhere"),
        (["run"], 2, "Missing argument"),
        (["rum", "train"], 2, "No such command"),
        (["serve", "nowhere"], 3, "nowhere"),
        (["services", "stop"], 2, "Give an environment, or --all."),
    ],
)
def test_a_wrong_command_is_one_message(cli: Cli, words: list[str], code: int, message: str) -> None:
    result = cli(*words)
    assert result.code == code
    assert message in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def test_a_bug_of_ours_says_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder of runs should be")
    result = cli("run", "prepare", "--data", "digits")
    assert result.code == 1
    assert "This is a bug in Towpath. Run the command again with --debug" in result.err
    assert "Traceback" not in result.err


def test_interrupted_from_the_keyboard(files: Path) -> None:
    command = [sys.executable, "-m", "towpath.pipelines.cli", "run", "wait.yaml", "-a", "seconds=60"]
    # Whoever runs the tests in the background may have had the signal ignored; a terminal's user has not.
    heeding = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, cwd=files, stderr=subprocess.PIPE, text=True, preexec_fn=heeding) as process:
        assert process.stderr is not None
        result = ""
        for line in process.stderr:
            result += line
            if "waiting" in line:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    assert "Error: Interrupted. The same command resumes where it stopped." in result
    assert "Traceback" not in result


def test_help_has_examples_and_exit_codes(cli: Cli) -> None:
    result = cli("--help")
    assert result.code == 0
    assert "75 trying again can help" in " ".join(result.out.replace("│", " ").split())
    for command in ("run", "compile", "submit", "serve", "promote"):
        assert f"towpath {command} " in cli(command, "--help").out
    assert cli("--version").out.startswith("towpath ")


def test_names_complete(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TOWPATH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "towpath run components/tr")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert cli().out.split() == ["components/train"]
