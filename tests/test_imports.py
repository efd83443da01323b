"""The design's rules of the tree: imports run one way, and every step's folder reads the same way."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from towpath.pipelines.commands.targets import STEPS

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for top in ("components", "pipelines") for path in (ROOT / top).rglob("*.py"))
NAMES = [path.relative_to(ROOT).as_posix() for path in FILES]
COMPONENTS = [name for name in NAMES if name.endswith("/component.py")]
LONGEST_FILE = 330
LONGEST_COMPONENT = 45
# The rooms of core: what each may import beside itself and the base, which are the modules right under core.
ROOMS: dict[str, set[str]] = {
    "data": set(),
    "models": {"data"},
    "scoring": {"data", "models"},
    "release": {"data", "models"},
    "backends": set(),
}


def violations(name: str, source: str) -> list[str]:
    """The rules that a file of the package breaks."""
    path = PurePosixPath(name)
    tree = ast.parse(source)
    inside = {node for function in _components(tree) for node in ast.walk(function) if _is_import(node)}
    found = [f"{name}: reads the environment at import" for _ in _environment_reads(tree)]
    for node in ast.walk(tree):
        if not _is_import(node):
            continue
        for module, level in _imported(node):
            where = f"{name}:{node.lineno}: imports {'.' * level}{module}"
            if node in inside:
                reason = _wrong_in_component(path, module, level)
            elif level == 0:
                reason = _wrong_absolute(path, module, top=node in tree.body)
            else:
                reason = _wrong_relative(path, module, level)
            if reason:
                found.append(f"{where}: {reason}")
    return found


def _wrong_in_component(path: PurePosixPath, module: str, level: int) -> str | None:
    if level:
        return "KFP ships a component's body alone: it needs full names"
    parts = module.split(".")
    if parts[0] == "towpath" and (
        len(parts) < 4 or parts[1] != "components" or parts[2] not in ("core", path.parts[1])
    ):
        return "a component calls its own step and core"
    return "nobody imports `components`" if parts[0] in ("components", "pipelines") else None


def _wrong_absolute(path: PurePosixPath, module: str, top: bool) -> str | None:
    first = module.split(".")[0]
    if first in ("towpath", "components", "pipelines"):
        return "inside the package imports are relative"
    if path.name == "component.py" and top and first != "kfp" and first not in sys.stdlib_module_names:
        return "at its top a component file imports the standard library and kfp"
    return None


def _wrong_relative(path: PurePosixPath, module: str, level: int) -> str | None:
    package = path.parent.parts[: len(path.parent.parts) - (level - 1)]
    target = (*package, *module.split(".")) if module else package
    if not target or target == ("__version__",):
        return None
    if target[:2] == ("components", "core"):
        return _wrong_room(_room(path.parts[:-1]), _room(target)) if path.parts[:2] == target[:2] else None
    if path.name == "component.py":
        return "a component file imports nothing of the package at its top"
    if path.parts[0] == "components":
        return None if target[:2] == path.parts[:2] else "a step imports core and its own folder"
    area = path.parts[1]
    if area in ("cli.py", "commands"):
        return None
    if area == "runner":
        return None if target[:2] == ("pipelines", "runner") else "the runner imports core and itself"
    wiring = target[0] == "pipelines" and target[1] not in ("runner", "commands", "cli")
    component = target[0] == "components" and len(target) > 2 and target[2] == "component"
    return None if wiring or component else "a pipeline imports components and other pipelines"


def _room(place: tuple[str, ...]) -> str:
    """The room of core that a module lies in; "" for the base."""
    return place[2] if len(place) > 2 and place[2] in ROOMS else ""


def _wrong_room(room: str, target: str) -> str | None:
    if target in ("", room) or target in ROOMS.get(room, set()):
        return None
    return f"core's {room or 'base'} may import {', '.join(sorted(ROOMS.get(room, set()))) or 'the base alone'}"


def _imported(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Modules that an import names. `from . import a, b` names a and b."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, 0) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        if node.level and (node.module is None or node.module in ("components", "pipelines")):
            before = f"{node.module}." if node.module else ""
            yield from ((f"{before}{alias.name}", node.level) for alias in node.names)
        else:
            yield node.module or "", node.level


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _components(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions under @dsl.component."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [node for node in functions if any("dsl.component" in ast.unparse(one) for one in node.decorator_list)]


def _environment_reads(tree: ast.Module) -> Iterator[ast.AST]:
    """Reads of the environment outside the bodies of functions."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv"):
            yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting += [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        elif not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)


@pytest.mark.parametrize("name", NAMES)
def test_imports_run_one_way(name: str) -> None:
    assert violations(name, (ROOT / name).read_text()) == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("components/core/data/boxes.py", "from ...train import losses"),
        ("components/core/data/boxes.py", "from .... import pipelines"),
        ("components/core/files.py", "from .data import manifest"),
        ("components/core/files.py", "from . import data"),
        ("components/core/data/boxes.py", "from ..models.anchors import AnchorSpec"),
        ("components/core/data/boxes.py", "from ..models import anchors"),
        ("components/core/data/boxes.py", "from .. import models"),
        ("components/core/models/engines/litert.py", "from ...release import registry"),
        ("components/core/scoring/score.py", "from ..release import registry"),
        ("components/core/release/registry.py", "from ..scoring import score"),
        ("components/core/release/registry.py", "from ..backends.base import Backend"),
        ("components/core/backends/local/services.py", "from ...data import manifest"),
        ("components/core/backends/base.py", "def live():\n    from ..release import registry"),
        ("components/train/train.py", "from ..prepare.shards import write"),
        ("components/train/train.py", "def f():\n    from .. import evaluate"),
        ("components/train/train.py", "from towpath.components.core import files"),
        ("components/train/train.py", "import components.core"),
        ("components/train/component.py", "import numpy"),
        ("components/train/component.py", "from .train import train"),
        ("components/train/component.py", "@dsl.component()\ndef train():\n    from .train import train"),
        (
            "components/train/component.py",
            "@dsl.component\ndef train():\n    from towpath.components.prepare.prepare import prepare",
        ),
        ("pipelines/train.py", "from ..components.train.train import train"),
        ("pipelines/train.py", "from .runner import run"),
        ("pipelines/train.py", "from . import cli"),
        ("pipelines/runner/run.py", "from ..train import train"),
        ("pipelines/runner/run.py", "from ...components.train.config import TrainConfig"),
        ("components/core/home.py", "import os\nHOME = os.environ['HOME']"),
        ("components/core/home.py", "import os\ndef home(path=os.getenv('HOME')): ..."),
    ],
)
def test_the_rules_catch(name: str, source: str) -> None:
    assert len(violations(name, source)) == 1


def test_the_order_names_every_room_of_core() -> None:
    folders = {path.parent.name for path in (ROOT / "components" / "core").glob("*/__init__.py")}
    assert folders == set(ROOMS)


def test_core_names_no_step_but_the_server_that_the_local_backend_starts() -> None:
    """A module or a file that is named in a string is an import that no linter sees."""
    found = {
        (name, node.value)
        for name in NAMES
        if name.startswith("components/core/")
        for node in ast.walk(ast.parse((ROOT / name).read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and any(f"components.{step}" in node.value or node.value == f"../{step}" for step in (*STEPS, "serve"))
    }
    assert found == {("components/core/backends/local/store.py", "towpath.components.serve")}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_reads_like_every_other(step: str) -> None:
    folder = ROOT / "components" / step
    there = {path.name for path in folder.iterdir()}
    assert {"__init__.py", "config.py", f"{step}.py", "component.py", "README.md"} <= there


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_is_a_thin_face(name: str) -> None:
    found = _components(ast.parse((ROOT / name).read_text()))
    assert [node.name for node in found] == [name.split("/")[1]]
    for node in found:
        assert (node.end_lineno or 0) - node.lineno < LONGEST_COMPONENT
        decorator = ast.unparse(node.decorator_list[0])
        assert ":{__version__}'" in decorator
        assert "install_kfp_package=False" in decorator


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("/config.py") and "/core/" not in name])
def test_a_config_is_frozen_and_explains_every_field(name: str) -> None:
    classes = [node for node in ast.parse((ROOT / name).read_text()).body if isinstance(node, ast.ClassDef)]
    config = next(node for node in classes if node.name == f"{name.split('/')[1].capitalize()}Config")
    fields = [
        node.target.id for node in config.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    result = ast.get_docstring(config) or ""
    assert [field for field in fields if field not in result] == []
    assert "frozen=True" in ast.unparse(config.decorator_list[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_read_in_one_sitting(name: str) -> None:
    assert len((ROOT / name).read_text().splitlines()) <= LONGEST_FILE
