"""KFP component for the evaluate step."""

from kfp import dsl
from kfp.dsl import HTML, Artifact, ClassificationMetrics, Dataset, Input, Metrics, Model, Output

from ... import __version__


@dsl.component(base_image=f"towpath/train-cpu:{__version__}", install_kfp_package=False)
def evaluate(
    records: Input[Dataset],
    model: Input[Model],
    metrics: Output[Metrics],
    predictions: Output[Artifact],
    confusion: Output[ClassificationMetrics],
    report: Output[HTML],
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> None:
    """Scores a bundle on the test split and writes a report page.

    Args:
        records: from the prepare step.
        model: the bundle.
        metrics: COCO's 12 metrics, or accuracy and top 5.
        predictions: one JSON line per image.
        confusion: of classes; empty for detectors.
        report: a self-contained page.
        config: fields of EvaluateConfig.
    """
    from pathlib import Path

    from towpath.components.core.config import load
    from towpath.components.evaluate.config import EvaluateConfig
    from towpath.components.evaluate.evaluate import PREDICTIONS, REPORT, evaluate

    out = Path(report.path + ".folder")
    found = evaluate(Path(records.path), Path(model.path), out, load(EvaluateConfig, config, "evaluate"))
    for name, value in found.scores.metrics.items():
        metrics.log_metric(name, value)
    if found.scores.confusion is not None:
        confusion.log_confusion_matrix(list(found.classes), found.scores.confusion.tolist())
    (out / PREDICTIONS).replace(predictions.path)
    (out / REPORT).replace(report.path)
    out.rmdir()
