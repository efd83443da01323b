"""Detects the devices that this process trains on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Devices:
    """The devices to train on.

    Attributes:
        strategy: a tf.distribute.Strategy.
        replicas: number of model replicas that train together.
        what: description for the log ("2 GPUs", "8 TPU cores", "CPU, 2 cores").
    """

    strategy: Any
    replicas: int
    what: str


def devices() -> Devices:
    """Returns the best available devices: a TPU, several workers (TF_CONFIG), GPUs, or the CPU.

    A TPU is used where the TPU_NAME variable names one, as on a TPU VM or a GKE TPU node.
    """
    import tensorflow as tf

    if tpu := os.environ.get("TPU_NAME"):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu)
        strategy = tf.distribute.TPUStrategy(resolver)
        return Devices(strategy, strategy.num_replicas_in_sync, f"{strategy.num_replicas_in_sync} TPU cores")
    gpus = tf.config.list_physical_devices("GPU")
    if os.environ.get("TF_CONFIG"):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        return Devices(strategy, strategy.num_replicas_in_sync, f"{strategy.num_replicas_in_sync} replicas on workers")
    if len(gpus) > 1:
        return Devices(tf.distribute.MirroredStrategy(), len(gpus), f"{len(gpus)} GPUs")
    if gpus:
        return Devices(tf.distribute.OneDeviceStrategy("/gpu:0"), 1, "1 GPU")
    return Devices(tf.distribute.get_strategy(), 1, f"CPU, {os.cpu_count()} cores")
