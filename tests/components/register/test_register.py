from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.components.core.errors import BundleError
from towpath.components.register.config import RegisterConfig
from towpath.components.register.register import register


def test_a_bundle_with_its_report_becomes_a_version(
    make_classifier: Callable[..., Path], fresh_registry: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    report.write_text("<html>good</html>")
    metrics = {"accuracy": 0.93, "display_name": "metrics", "cached": True}
    made = register(make_classifier(), metrics, report, RegisterConfig(note="the first"))
    assert (made.name, made.version, made.metrics) == ("colours", "1", {"accuracy": 0.93})
    assert (made.bundle.parent / "report" / "report.html").read_text() == "<html>good</html>"
    assert register(made.bundle, metrics, None, RegisterConfig()).version == "1"


def test_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"there is no model\.json"):
        register(tmp_path, {}, None, RegisterConfig())
