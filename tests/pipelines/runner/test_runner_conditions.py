"""Conditions as KFP's compiler writes them, and as CEL reads them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.pipelines.runner.conditions import (
    Call,
    Compare,
    Condition,
    ConditionError,
    Literal,
    Logic,
    Parameter,
)
from towpath.pipelines.runner.parser import parse


@pytest.mark.parametrize(
    ("source", "inputs", "holds"),
    [
        ("int(inputs.parameter_values['x']) == 3", {"x": 3}, True),
        ("int(inputs.parameter_values['x']) > 3", {"x": 3}, False),
        ("inputs.parameter_values['x'] == 3", {"x": 3.0}, True),
        ("inputs.parameter_values['x'] >= 1e-05", {"x": 2.5}, True),
        ("inputs.parameter_values['x'] < -1.5", {"x": -2}, True),
        ("double(int(inputs.parameter_values['x'])) < 3.5", {"x": 3}, True),
        ("inputs.parameter_values['x'] == true", {"x": True}, True),
        ("inputs.parameter_values['x'] == '1'", {"x": 1}, False),
        ("inputs.parameter_values['x'] != '1'", {"x": 1}, True),
        ("inputs.parameter_values['x'] == 1", {"x": True}, False),
        ("inputs.parameter_values['x'] == 'a'", {"x": "a"}, True),
        ('inputs.parameter_values["x"] == "a"', {"x": "a"}, True),
        ("'b' > 'a'", {}, True),
        ("!(1 == 2) && 'x' == 'x'", {}, True),
        ("!(1 == 2) && !('x' == 'x')", {}, False),
        ("1 == 2 || 2 == 2 && 3 == 4", {}, False),
        ("(1 == 2 || 2 == 2) && 3 == 3", {}, True),
        (r"inputs.parameter_values['x'] == 'a\'b\\c\u00e9\x41\101\n'", {"x": "a'b\\céAA\n"}, True),
        ("inputs.parameter_values['x'] == ''", {"x": ""}, True),
        # One side decides although the other cannot be evaluated.
        ("1 < 'a' || true", {}, True),
        ("false && 1 < 'a'", {}, False),
        ("1 < 'a' && false", {}, False),
    ],
)
def test_it_decides_as_cel_does(source: str, inputs: dict[str, object], holds: bool) -> None:
    condition = parse(source)
    assert condition.holds(inputs) is holds
    assert condition.notes == ()


@pytest.mark.parametrize("value", ["it's", "'", "a'b'c", "''", "don't (ever"])
def test_a_quote_that_the_compiler_left_unescaped_is_read_as_meant(value: str) -> None:
    condition = parse(f"!(inputs.parameter_values['x'] == '{value}') && 1 == 1")
    assert condition.holds({"x": value}) is False
    assert condition.holds({"x": "other"}) is True
    assert "a cluster rejects" in condition.notes[0]


def test_an_integer_compared_with_a_string_is_refused() -> None:
    with pytest.raises(ConditionError, match="a string is compared with an input that is not a string"):
        parse("'int(inputs.parameter_values['pipelinechannel--x'])' == '3'")


@pytest.mark.parametrize(
    "source",
    [
        "",
        "1 ==",
        "(1 == 1",
        "1 = 1",
        "'a",
        "inputs.parameter_values[x]",
        "__import__('os')",
        "1 == 1 1",
        r"'\d' == 'd'",
        "a.b",
    ],
)
def test_what_is_not_the_language_is_refused(source: str) -> None:
    with pytest.raises(ConditionError):
        parse(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("inputs.parameter_values['x'] == 1", "'x' of a condition has no value"),
        ("1 < 'a'", "cannot be evaluated"),
        ("int('a') == 1", "is not defined"),
        ("3", "must be true or false"),
        ("!3 == true", "is not defined"),
        ("1 && true", "needs true or false"),
    ],
)
def test_what_cannot_be_decided_is_an_error(source: str, message: str) -> None:
    with pytest.raises(ConditionError, match=message):
        parse(source).holds({})


def test_deep_nesting_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(ConditionError, match="nested too deeply"):
        parse("(" * 100_000 + "true" + ")" * 100_000)


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
names = st.sampled_from(["x", "pipelinechannel--a-Output"])
leaves = st.builds(Literal, st.booleans() | texts | numbers) | st.builds(Parameter, names)
comparisons = st.builds(Compare, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), leaves, leaves)
trees = st.recursive(
    comparisons,
    lambda inner: st.builds(Logic, st.sampled_from(["&&", "||"]), inner, inner) | st.builds(Call, st.just("!"), inner),
    max_leaves=6,
)


def written(tree: object) -> str:
    """A tree in the compiler's notation, with every string escaped and every operator in brackets."""
    match tree:
        case Literal(bool(value)):
            return str(value).lower()
        case Literal(str(value)):
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case Literal(value):
            return str(value)
        case Parameter(name):
            return f"inputs.parameter_values['{name}']"
        case Call(function, argument):
            return f"{function}({written(argument)})"
        case Compare(symbol, left, right) | Logic(symbol, left, right):
            return f"({written(left)} {symbol} {written(right)})"
    raise AssertionError(tree)


def outcome(condition: Condition, inputs: dict[str, object]) -> bool | str:
    try:
        return condition.holds(inputs)
    except ConditionError:
        return "error"


@given(trees, st.booleans() | texts | numbers)
def test_writing_a_tree_and_parsing_it_changes_no_decision(tree: Compare | Logic | Call, value: object) -> None:
    source = written(tree)
    inputs = {"x": value}
    assert outcome(parse(source), inputs) == outcome(Condition(source, tree), inputs)
    assert parse(source).notes == ()


@given(st.text(max_size=30))
def test_any_text_is_parsed_or_refused(source: str) -> None:
    with contextlib.suppress(ConditionError):
        assert parse(source).source == source


@given(texts.filter(lambda text: "\\" not in text), texts)
def test_two_texts_are_equal_just_when_they_are_the_same(left: str, right: str) -> None:
    if "'" in left:
        return
    assert parse(f"inputs.parameter_values['x'] == '{left}'").holds({"x": right}) is (left == right)
