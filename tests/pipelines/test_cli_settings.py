"""From words to arguments: what is understood, and what is refused with the nearest right name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from towpath.components.core.errors import ConfigError, DataError
from towpath.pipelines.commands import settings, targets
from towpath.pipelines.commands.settings import CliOptions


@pytest.fixture(scope="module")
def train() -> targets.Target:
    return targets.find("train")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("-3", -3),
        ("010", 10),
        ("1e-3", 0.001),
        ("1.5E+2", 150.0),
        (".5", 0.5),
        ("true", True),
        ("no", "no"),
        ("12:30", "12:30"),
        ("2024-05-06", "2024-05-06"),
        ("null", None),
        ("", None),
        ("small", "small"),
        ("'2'", "2"),
        ("[a, 1, 2.5]", ["a", 1, 2.5]),
        ("{a: 1, b: [true]}", {"a": 1, "b": [True]}),
        ("a=b", "a=b"),
    ],
)
def test_values_are_yaml(text: str, value: Any) -> None:
    found = settings.value(text)
    assert found == value
    assert type(found) is type(value)


def test_settings_are_gathered_by_step(train: targets.Target) -> None:
    words = CliOptions(settings=("train.epochs=2", "prepare.shard_mb=1.5", "train.backbone=small", "train.epochs=3"))
    assert settings.arguments(train, words) == {
        "train": {"epochs": 3, "backbone": "small"},
        "prepare": {"shard_mb": 1.5},
    }


def test_settings_add_to_a_whole_config(train: targets.Target) -> None:
    words = CliOptions(arguments=("train={epochs: 1, backbone: small}",), settings=("train.epochs=2",))
    assert settings.arguments(train, words) == {"train": {"epochs": 2, "backbone": "small"}}


def test_a_component_alone_takes_its_config(tmp_path: Path) -> None:
    found = settings.arguments(
        targets.find("components/train"), CliOptions(settings=("train.epochs=2",), inputs=(f"records={tmp_path}",))
    )
    assert found == {"config": {"epochs": 2}, "records": str(tmp_path)}


def test_text_stays_text() -> None:
    words = CliOptions(arguments=("name=digits", "version=3", "environment=demo"), approvals=("legal,fit", "cost"))
    assert settings.arguments(targets.find("promote"), words) == {
        "name": "digits",
        "version": "3",
        "environment": "demo",
        "approvals": ["legal", "fit", "cost"],
    }


def test_a_folder_is_made_absolute(train: targets.Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").mkdir()
    assert settings.arguments(train, CliOptions(data="images"))["data"] == str(tmp_path / "images")
    for other in ("digits", "gs://bucket/images", "not-there"):
        assert settings.arguments(train, CliOptions(data=other)) == {"data": other}


def test_a_folder_that_changed_has_another_version(train: targets.Target, tmp_path: Path) -> None:
    def version() -> object:
        return settings.arguments(train, CliOptions(data=str(tmp_path)))["data_version"]

    seen = [version()]
    (tmp_path / "a.jpg").write_bytes(b"one")
    seen.append(version())
    (tmp_path / "a.jpg").write_bytes(b"other")
    seen.append(version())
    (tmp_path / "a.jpg").rename(tmp_path / "b.jpg")
    seen.append(version())
    assert len({*seen}) == 4
    assert version() == seen[-1]
    assert (
        settings.arguments(train, CliOptions(data=str(tmp_path), arguments=("data_version=mine",)))["data_version"]
        == "mine"
    )


def test_rules_of_ones_own_travel_as_text(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("lab: {checks: {health: {}}, approvals: [ethics]}\n")
    promote = targets.find("promote")
    given = ("name=digits", "version=3", "environment=lab")
    options = CliOptions(arguments=given, approvals=("ethics",), environments=file)
    assert settings.arguments(promote, options)["environments"] == file.read_text()
    assert "environments" not in settings.arguments(promote, CliOptions(arguments=(*given[:2], "environment=demo")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lab: {checks: {helth: {}}}", "rules.yaml: 'lab.checks' has no key 'helth'. Did you mean 'health'?"),
        ("lab: {backend: lokal}", "rules.yaml: There is no backend 'lokal'. Did you mean 'local'?"),
        ("lab: {approvals: [ethics]}", "No environment asks for the approval 'ethic'. Did you mean 'ethics'?"),
    ],
)
def test_rules_are_refused_before_anything_runs(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        settings.arguments(targets.find("train_to_prod"), CliOptions(approvals=("ethic",), environments=file))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (CliOptions(settings=("train.epoch=2",)), "Unknown setting 'train.epoch'. Did you mean 'epochs'?"),
        (CliOptions(settings=("tarin.epochs=2",)), "train has no step 'tarin'. Did you mean 'train'?"),
        (CliOptions(settings=("train.epochs=two",)), "'train.epochs' is 'two': it must be of type int."),
        (CliOptions(settings=("train.epochs=0",)), "'epochs' is 0: it must be at least 1."),
        (CliOptions(settings=("epochs=2",)), "it must be step.key=value"),
        (CliOptions(settings=("train.epochs",)), "it must be step.key=value"),
        (CliOptions(settings=("train.epochs=[",)), "'[' is not a valid value"),
        (CliOptions(arguments=("dat=x",)), "train has no argument 'dat'. Did you mean 'data'?"),
        (CliOptions(arguments=("train={epoch: 1}",)), "Unknown setting 'train.epoch'."),
        (CliOptions(arguments=("train=3",)), "argument 'train' is 3: it must be a map, as in -a 'train={key: value}'"),
        (CliOptions(approvals=("legal",)), "train has no argument 'approvals'."),
        (CliOptions(inputs=("records=.",)), "train has no input 'records'. It has no inputs."),
    ],
)
def test_what_is_wrong_is_named(train: targets.Target, words: CliOptions, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings.arguments(train, words)
    assert message in str(error.value)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match=r"components/evaluate needs model, records. Give --input model=FOLDER"):
        settings.arguments(targets.find("components/evaluate"), CliOptions())
    with pytest.raises(ConfigError, match=r"promote needs .*version.* -a version=VALUE"):
        settings.arguments(targets.find("promote"), CliOptions(arguments=("name=a", "environment=demo")))
    with pytest.raises(ConfigError, match=r"prepare needs data. Give --data FOLDER."):
        settings.arguments(targets.find("prepare"), CliOptions())


def test_an_input_must_be_there() -> None:
    with pytest.raises(DataError, match="'nowhere' does not exist"):
        settings.arguments(targets.find("components/train"), CliOptions(inputs=("records=nowhere",)))


@pytest.mark.parametrize("name", ["train_to_prod", "train-to-prod"])
def test_both_spellings_are_the_pipeline(name: str) -> None:
    assert targets.find(name).name == "train-to-prod"


def test_pipelines_come_before_components() -> None:
    assert targets.find("train").step is None
    assert targets.find("components/train").step == "train"
    assert targets.find("evaluate").step == "evaluate"
    with pytest.raises(ConfigError, match=r"no pipeline or component 'trian'\. Did you mean 'train'\?"):
        targets.find("trian")
    with pytest.raises(DataError, match="there is no such pipeline file"):
        targets.find("nowhere.yaml")


@pytest.mark.parametrize("step", targets.STEPS)
def test_every_step_has_a_config(step: str) -> None:
    assert settings.config_class(step)()
