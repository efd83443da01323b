"""The losses of RetinaNet, in numerically stable form."""

from __future__ import annotations

from typing import Any

from keras import ops


def sigmoid_focal(logits: Any, targets: Any, alpha: float = 0.25, gamma: float = 2.0) -> Any:
    """Computes the focal loss of independent classes.

    Args:
        logits: [...] float32, before the sigmoid.
        targets: [...] float32, 0 or 1.
        alpha: weight of positives; negatives weigh 1 - alpha.
        gamma: how much well-classified examples are down-weighted.

    Returns:
        [...] float32, the loss of each logit.

    Source: Lin et al. 2017, equation 5; the closed form is its appendix B with log(1 + e^x) as softplus.
    """
    signed = (1 - 2 * targets) * logits  # -z where the target is 1, z where it is 0: the loss grows with it
    weight = alpha * targets + (1 - alpha) * (1 - targets)
    return weight * ops.exp(gamma * ops.log_sigmoid(signed)) * ops.softplus(signed)


def smooth_l1(difference: Any, beta: float = 0.1) -> Any:
    """Computes the smooth L1 loss: quadratic below `beta`, linear above.

    Args:
        difference: [...] float32.
        beta: where the two meet.

    Returns:
        [...] float32.

    Source: Girshick 2015, Fast R-CNN, equation 3, scaled as in Detectron.
    """
    size = ops.abs(difference)
    return ops.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta)


class RetinaNetLoss:
    """Class and box loss of a batch, each summed and divided by the number of positive anchors.

    Targets, per anchor: `labels` [N, A] int32, class index, BACKGROUND or IGNORED; `box_deltas` [N, A, 4] float32.
    """

    BACKGROUND = -1
    IGNORED = -2

    def __call__(self, targets: Any, outputs: Any) -> tuple[Any, Any]:
        """Computes the losses of a batch.

        Returns:
            The class loss and the box loss, two scalars.
        """
        labels = targets["labels"]
        positive = ops.cast(labels >= 0, "float32")
        counted = ops.cast(labels != self.IGNORED, "float32")
        count = ops.maximum(ops.sum(positive), 1.0)
        # one_hot gives all zeros for a negative index: background.
        one_hot = ops.one_hot(labels, outputs["logits"].shape[-1])
        focal = ops.sum(sigmoid_focal(outputs["logits"], one_hot), axis=-1)
        box = ops.sum(smooth_l1(outputs["box_deltas"] - targets["box_deltas"]), axis=-1)
        return ops.sum(focal * counted) / count, ops.sum(box * positive) / count
