"""What a training keeps on its disk: checkpoints to go on from, and finished models.

Only the main process writes. Where something cannot be written, it keeps that in mind: the processes end when they next
meet, none waiting for another, and the last good checkpoint is intact.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from torch import Tensor

from vivant.core.errors import UsageError, VivantError
from vivant_train.checkpoints import (
    CheckpointError,
    TrainingState,
    copy_model,
    list_checkpoints,
    load_state,
    save_model,
    save_state,
)
from vivant_train.parallel import ParallelModel, select_trainable
from vivant_train.settings import Recipe


class TrainingError(VivantError):
    """A training cannot continue."""


class CheckpointStore:
    """The checkpoints and models of one training.

    Args:
        out: the training's folder.
        recipe: what it is.
        parallel: the model as its processes share it.
        base_model: the same, not wrapped.
        tokenizer: is kept with finished models.
        is_main: whether this process writes.
    """

    def __init__(
        self,
        out: Path,
        recipe: Recipe,
        parallel: ParallelModel,
        base_model: Any,
        tokenizer: Any,
        *,
        is_main: bool,
    ) -> None:
        self.last_model, self.best_model = out / "last", out / "best"
        self._out, self._recipe, self._is_main = out, recipe, is_main
        self._parallel, self._base_model, self._tokenizer = parallel, base_model, tokenizer
        self.error: TrainingError | None = None
        """Why something could not be written."""

    @contextmanager
    def writing(self, label: str) -> Iterator[None]:
        """Keep it in mind where something cannot be written."""
        try:
            yield
        except (OSError, SafetensorError) as error:
            self.error = TrainingError(
                f"{label} cannot be written: {error}; {self.describe_last()}. Make room and --resume"
            )

    def describe_last(self) -> str:
        """What a training that ends now can go on from, for a message."""
        saved = list_checkpoints(self._out)
        return f"the last good checkpoint is {saved[-1]}" if saved else "there is no checkpoint yet"

    def save(self, state: TrainingState) -> None:
        """Write a checkpoint and remove those that are too old. All processes must call it."""
        folder = self._out / "checkpoints" / f"step-{state.position.step:08d}"
        weights = self._parallel.gather_weights()
        optimizer_state = self._parallel.gather_optimizer_state()
        if not self._is_main:
            return
        with self.writing(f"The checkpoint {folder}"):
            save_state(folder, state, select_trainable(weights, self._base_model), optimizer_state)
        for old in list_checkpoints(self._out)[: -self._recipe.keep]:
            shutil.rmtree(old)

    def load(self) -> tuple[Path, TrainingState] | None:
        """Take up the last checkpoint, where there is one."""
        saved = list_checkpoints(self._out)
        if not saved:
            return None
        state, weights, optimizer_state = load_state(saved[-1])
        if state.fingerprint != self._recipe.fingerprint():
            raise CheckpointError(f"{saved[-1]} is a checkpoint of another recipe")
        learning = {name for name, weight in self._base_model.named_parameters() if weight.requires_grad}
        learnt = {name: value for name, value in weights.items() if name in learning}
        try:
            self._parallel.restore(weights, _add_rested_weights(optimizer_state, learnt))
        except UsageError as error:
            raise CheckpointError(
                f"The checkpoint {saved[-1]} does not fit this model: {error}; begin anew with another out"
            ) from error
        return saved[-1], state

    def save_last_model(self) -> None:
        """Write the model as it is now. All processes must call it."""
        weights = self._parallel.gather_weights()
        if not self._is_main:
            return
        settings = self._base_model.settings
        complete = not (settings.vision_source and settings.language_source)
        lora: Literal["merged", "apart"] = "merged" if complete else "apart"
        with self.writing(f"The model {self.last_model}"):
            save_model(
                self.last_model,
                self._base_model,
                self._tokenizer,
                state=weights,
                lora=lora,
                complete=complete,
            )

    def keep_best_model(self) -> None:
        """Keep the last model as the best one. Only the main process calls it."""
        with self.writing(f"The model {self.best_model}"):
            copy_model(self.last_model, self.best_model)


def _add_rested_weights(
    optimizer_state: Mapping[str, Tensor], learning: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The optimizer's tensors by `weight|quantity`, also of weights that rested until now and have none: zeros.

    That is what they begin with, so that a training resumed during an alignment takes the steps of one undisturbed.
    """
    complete = dict(optimizer_state)
    names = {name.rpartition("|")[0] for name in optimizer_state}
    first = min(names, default="")
    scalars = {
        name.rpartition("|")[2]: value.dim() == 0
        for name, value in optimizer_state.items()
        if name.startswith(f"{first}|")
    }
    for name in learning.keys() - names:
        for quantity, is_scalar in scalars.items():
            complete[f"{name}|{quantity}"] = (
                torch.zeros(()) if is_scalar else torch.zeros_like(learning[name])
            )
    return complete
