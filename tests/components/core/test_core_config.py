"""Configs filled from plain values: what fits is taken in its type, what does not is named."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.components.core import config
from towpath.components.core.errors import ConfigError


@dataclass(frozen=True)
class BakeConfig:
    minutes: int = 30
    heat: float = 180.0
    fan: bool = False
    name: str = "bread"
    rack: int | None = None
    mode: Literal["slow", "fast"] = "slow"
    layers: tuple[int, ...] = (1, 2)
    note: Literal["a", "b"] | None = None

    def __post_init__(self) -> None:
        config.at_least("minutes", self.minutes, 1)


def load(**values: Any) -> BakeConfig:
    return config.load(BakeConfig, values, "bake")


@pytest.mark.parametrize("values", [None, {}])
def test_nothing_given_is_all_defaults(values: dict[str, Any] | None) -> None:
    assert config.load(BakeConfig, values, "bake") == BakeConfig()


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("minutes", 45, 45),
        ("minutes", 45.0, 45),
        ("heat", 200, 200.0),
        ("heat", 0.5, 0.5),
        ("fan", True, True),
        ("name", "cake", "cake"),
        ("rack", None, None),
        ("rack", 2.0, 2),
        ("mode", "fast", "fast"),
        ("layers", [3.0, 4], (3, 4)),
        ("layers", (), ()),
        ("note", None, None),
        ("note", "b", "b"),
    ],
)
def test_what_fits_is_taken_in_the_fields_own_type(field: str, value: Any, expected: Any) -> None:
    found = getattr(load(**{field: value}), field)
    assert found == expected
    assert type(found) is type(expected)


def test_the_items_of_a_list_become_whole_too() -> None:
    assert [type(item) for item in load(layers=[3.0, 4]).layers] == [int, int]


@given(st.integers(-(2**53), 2**53))
def test_any_whole_number_survives_the_float_that_kfp_makes_of_it(number: int) -> None:
    found = load(rack=float(number)).rack
    assert found == number
    assert type(found) is int


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("minutes", 4.5),
        ("minutes", True),
        ("minutes", "45"),
        ("minutes", None),
        ("heat", "hot"),
        ("heat", False),
        ("fan", 1),
        ("fan", "true"),
        ("name", 7),
        ("rack", "top"),
        ("mode", "medium"),
        ("mode", None),
        ("layers", 3),
        ("layers", "12"),
        ("layers", [1, 2.5]),
        ("note", "c"),
    ],
)
def test_what_does_not_fit_is_named_with_its_value(field: str, value: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        load(**{field: value})
    wrong = 2.5 if value == [1, 2.5] else value
    assert f"bake.{field}" in str(raised.value)
    assert repr(wrong) in str(raised.value)


def test_a_wrong_choice_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"slow.*fast"):
        load(mode="medium")


def test_an_unknown_field_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as raised:
        load(minuts=3)
    assert "bake.minuts" in raised.value.message
    assert "'minutes'" in str(raised.value.hint)


def test_a_field_like_no_other_names_them_all() -> None:
    with pytest.raises(ConfigError) as raised:
        load(zzzzzz=3)
    assert "fan, heat, layers, minutes, mode, name, note, rack" in str(raised.value.hint)


def test_what_the_config_itself_refuses_is_said_with_the_step() -> None:
    with pytest.raises(ConfigError, match=r"bake.*'minutes' is 0.*1"):
        load(minutes=0)


def test_a_dumped_config_is_json_that_loads_again() -> None:
    made = BakeConfig(layers=(5,), rack=1)
    values = json.loads(json.dumps(config.dump(made)))
    assert values["layers"] == [5]
    assert config.load(BakeConfig, values, "bake") == made


def test_the_nearest_name_must_be_near() -> None:
    assert "'int8'" in config.nearest("int", ["float32", "int8"])
    assert "float32, int8" in config.nearest("zzz", ["int8", "float32"])


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("field", ["minutes", "heat"])
def test_what_is_not_finite_is_refused(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"bake.{field}.*finite"):
        load(**{field: value})
    with pytest.raises(ValueError, match="finite"):
        config.at_least("minutes", value, 1)
