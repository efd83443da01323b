"""The evaluate step as KFP sees it."""

from kfp import dsl
from kfp.dsl import HTML, Artifact, ClassificationMetrics, Dataset, Input, Metrics, Model, Output


@dsl.component(base_image="towpath/train-cpu:0.1.0", install_kfp_package=False)
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
        records: what the prepare step wrote.
        model: the bundle.
        metrics: COCO's 12 numbers, or accuracy and top 5.
        predictions: one JSON line a picture.
        confusion: of classes; empty for detectors.
        report: a self-contained page.
        config: fields of EvaluateConfig.
    """
    import json
    import shutil
    from pathlib import Path

    from towpath.components.evaluate.config import EvaluateConfig
    from towpath.components.evaluate.evaluate import evaluate

    from towpath.components.core.config import load

    out = Path(metrics.path + ".files")
    figures = evaluate(Path(records.path), Path(model.path), out, load(EvaluateConfig, config, "evaluate"))
    for name, value in figures.items():
        metrics.log_metric(name, value)
    shutil.copyfile(out / "predictions.jsonl", predictions.path)
    shutil.copyfile(out / "report.html", report.path)
    matrix = json.loads((out / "confusion.json").read_text())
    if matrix["matrix"]:
        confusion.log_confusion_matrix(matrix["classes"], matrix["matrix"])
