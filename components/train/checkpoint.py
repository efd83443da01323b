"""Checkpoints, from which an interrupted training resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras

from ..core import files

STATE = "state.json"


class Checkpoints(keras.callbacks.Callback):  # type: ignore[misc]  # keras has no types
    """Saves weights and optimizer at the end of each epoch.

    The weights are written to a temporary file and renamed, then state.json names them: whenever the process is killed,
    state.json names a complete file.

    Args:
        folder: where checkpoints are written.
        fingerprint: identifies the data and the config; checkpoints of another fingerprint are not resumed.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        super().__init__()
        self._folder = folder
        self._fingerprint = fingerprint
        self.history: list[dict[str, float]] = []

    def resume(self, model: Any) -> int:
        """Loads the newest checkpoint into a compiled model.

        Returns:
            The number of finished epochs, 0 without a checkpoint.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        if not (self._folder / STATE).is_file():
            return 0
        state = files.read_json(self._folder / STATE, "the checkpoint")
        if state["fingerprint"] != self._fingerprint:
            return 0
        model.optimizer.build(model.trainable_variables)
        model.load_weights(self._folder / state["weights"])
        for seed, value in zip(_seeds(model), state["seeds"], strict=True):
            seed.assign(value)
        self.history = state["history"]
        return len(self.history)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Saves a checkpoint; Keras calls it after each epoch, validation included."""
        self.history.append({name: float(value) for name, value in (logs or {}).items()})
        name = f"epoch-{epoch + 1:04d}.weights.h5"
        with files.translate_os_errors(self._folder / name):
            temporary = self._folder / f"writing-{name}"
            self.model.save_weights(temporary)
            temporary.replace(self._folder / name)
        seeds = [seed.numpy().tolist() for seed in _seeds(self.model)]
        state = {"fingerprint": self._fingerprint, "weights": name, "seeds": seeds, "history": self.history}
        files.write_json(self._folder / STATE, state)
        for old in self._folder.glob("*.weights.h5"):
            if old.name != name:
                old.unlink()


def _seeds(model: Any) -> list[Any]:
    """Returns the random states of dropout, which Keras does not save with the weights."""
    return [layer.seed_generator.state for layer in model.layers if hasattr(layer, "seed_generator")]
