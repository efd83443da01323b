"""Docstrings follow the Google style, and texts are in the standard English of the field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PATHS = sorted(path for top in ("components", "pipelines") for path in (ROOT / top).rglob("*"))
NAMES = [path.relative_to(ROOT).as_posix() for path in PATHS if path.suffix in (".py", ".md")]

SECTIONS = "Args|Attributes|Returns|Yields|Raises"
INLINE = re.compile(rf"\S.*\b({SECTIONS}): |^({SECTIONS}): ")
BANNED = re.compile(
    "|".join(
        (
            r"(?<![Tt]here )\bis no (setting|value|image|plain|number|tf\.train)\b",
            r"\b(are|this is|of) no (image|prices|readable|folder)\b",
            r"\bThere are: ",
            r"\b(can be told|user may set)\b",
            r"\bas (KFP|Kubeflow Pipelines) sees it",
            r"\b(goes|going|go) on\b",
            r"\blearned by heart\b",
            r"\btrains from nothing\b",
            r"\bsmall letters\b",
            r"\ba fault (of|in) Towpath\b",
            r"\bsteps? speaks?\b",
            r"\bLook whether\b",
            r"\bAsk it\b",
            r"\bNot there yet\b",
            r"\bWhat lies where\b",
            r"\bis not there\b",
            r"\bcut short\b",
            r"\b(folder|XML file|reader|dataclass|copy of each model) a (class|image|format|step|thread)\b",
            r"\b(line|images?|objects?|one|labels|predictions|examples), ?(one )?an image\b",
            r"\b(line|object|objects|one|recall) an image\b",
            r"\bimages a (step|second|dollar)\b",
            r"\b(steps|batches) an epoch\b",
            r"\b(one|One) a core\b",
            r"\b(score|probability) a class\b",
            r"\bdollars an hour\b",
        )
    )
)


def violations(name: str, text: str) -> list[str]:
    """The rules that a file breaks."""
    if name.endswith(".md"):
        return _banned(name, text)
    tree = ast.parse(text)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            where = f"{name}: {getattr(node, 'name', 'the module')}"
            lines = [line.strip() for line in (ast.get_docstring(node) or "").splitlines()]
            if isinstance(node, ast.ClassDef) and _is_dataclass(node) and "Args:" in lines:
                found.append(f"{where}: the fields of a dataclass belong under 'Attributes:'")
            found += [f"{where}: '{line}': a section starts a line of its own" for line in lines if INLINE.search(line)]
    return found + [problem for part in _texts(tree) for problem in _banned(name, part)]


def _banned(name: str, text: str) -> list[str]:
    return [f"{name}: '{match[0]}' is not standard English here" for match in BANNED.finditer(" ".join(text.split()))]


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def _texts(tree: ast.Module) -> Iterator[str]:
    """String literals, docstrings included; the literal parts of f-strings are joined."""
    parts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
            parts.update(node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.value


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_and_texts_follow_the_conventions(name: str) -> None:
    assert violations(name, (ROOT / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", '@dataclass(frozen=True)\nclass A:\n    """A.\n\n    Args:\n        b: of it.\n    """'),
        ("a.py", 'def f():\n    """Does x. Returns: its URL."""'),
        ("a.py", 'def f():\n    """Returns: its URL."""'),
        ("a.py", 'def f():\n    """Does x.\n\n    Raises:\n        A: one. B: two. Raises: C.\n    """'),
        ("a.py", 'def f(a):\n    """Does x. Args: a of it."""'),
        ("a.py", "raise ConfigError(f\"'{name}' is no setting of {step}.\")"),
        ("a.py", 'hint = f"There are: {names}."'),
        ("a.py", '"""The train step as KFP\nsees it."""'),
        ("README.md", "The same command goes\non from the checkpoint."),
        ("README.md", "one folder a class"),
    ],
)
def test_the_rules_catch(name: str, text: str) -> None:
    assert len(violations(name, text)) == 1


def test_the_rules_pass_what_is_right() -> None:
    text = (
        "@dataclass\nclass A:\n"
        '    """Settings of x.\n\n    Attributes:\n        b: one per image.\n    """\n'
        'def f(c):\n    """Reads x.\n\n    Args:\n        c: of it.\n\n    Returns:\n        Its URL.\n    """\n'
    )
    assert violations("a.py", text) == []
