"""Conditions of If, Elif and Else: a small tree, evaluated on a task's inputs.

KFP's compiler writes them in a small part of CEL (kfp/compiler/pipeline_spec_builder.py,
_single_binary_operation_to_cel_condition), and the cluster's driver evaluates them with cel-go
(kubeflow/pipelines, backend/src/v2/expression/expression.go, Condition). The rules here are CEL's: numbers compare
across int and double, values of different types are never equal, ordering them is an error, and `&&` and `||` may
be decided by one side although the other fails.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ...components.core.errors import DataError
from .values import Json, text


class ConditionError(DataError):
    """A condition that cannot be parsed, or not evaluated with these inputs."""


@dataclass(frozen=True)
class Literal:
    value: bool | int | float | str | None


@dataclass(frozen=True)
class Parameter:
    name: str


@dataclass(frozen=True)
class Call:
    function: str
    argument: Expression


@dataclass(frozen=True)
class Compare:
    symbol: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Logic:
    symbol: str
    left: Expression
    right: Expression


Expression: TypeAlias = Literal | Parameter | Call | Compare | Logic


@dataclass(frozen=True)
class Condition:
    """A parsed condition.

    Attributes:
        source: the condition as text.
        tree: its syntax tree.
        notes: how a cluster would treat it differently.
    """

    source: str
    tree: Expression
    notes: tuple[str, ...] = ()

    def holds(self, parameters: Mapping[str, Json]) -> bool:
        """Evaluates the condition.

        Raises:
            ConditionError: an input is missing, or values are compared that have no order.
        """
        result = _evaluate(self.tree, parameters)
        if not isinstance(result, bool):
            raise ConditionError(f"condition {self.source!r} evaluates to {result!r}: it must be true or false.")
        return result


_ORDER: dict[str, Callable[[Json, Json], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _evaluate(tree: Expression, parameters: Mapping[str, Json]) -> Json:
    if isinstance(tree, Literal):
        return tree.value
    if isinstance(tree, Parameter):
        if tree.name not in parameters:
            raise ConditionError(f"input {tree.name!r} of a condition has no value.")
        return parameters[tree.name]
    if isinstance(tree, Call):
        return _call(tree.function, _evaluate(tree.argument, parameters))
    if isinstance(tree, Logic):
        return _decide(tree, parameters)
    return _compare(tree.symbol, _evaluate(tree.left, parameters), _evaluate(tree.right, parameters))


def _decide(tree: Logic, parameters: Mapping[str, Json]) -> bool:
    decisive = tree.symbol == "||"
    failure: ConditionError | None = None
    for side in (tree.left, tree.right):
        try:
            value = _evaluate(side, parameters)
            if not isinstance(value, bool):
                raise ConditionError(f"{tree.symbol} needs true or false, not {value!r}.")
        except ConditionError as error:
            failure = error
            continue
        if value is decisive:
            return decisive
    if failure is not None:
        raise failure
    return not decisive


def _compare(symbol: str, left: Json, right: Json) -> bool:
    same = _family(left) == _family(right)
    if symbol == "==":
        return same and bool(left == right)
    if symbol == "!=":
        return not same or bool(left != right)
    if not same or _family(left) == "other":
        raise ConditionError(f"{left!r} {symbol} {right!r} cannot be evaluated: the types differ or have no order.")
    return _ORDER[symbol](left, right)


def _family(value: Json) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "other"


def _call(function: str, value: Json) -> Json:
    family = _family(value)
    try:
        if function == "!" and family == "bool":
            return not value
        if function == "-" and family == "number":
            return -value
        if function == "int" and family in ("number", "string"):
            return int(value)
        if function == "double" and family in ("number", "string"):
            return float(value)
        if function == "string" and family != "other":
            return text(value)
    except (ValueError, OverflowError):
        pass
    raise ConditionError(f"{function}({value!r}) is not defined.")
