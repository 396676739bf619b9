"""Training: from a recipe to a model, resumable at any moment with the same losses as if nothing had happened."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from msgspec import Struct

from vivant.core.errors import UsageError, VivantError
from vivant.core.paths import cache_root
from vivant.core.randomness import derive_seed
from vivant.runs.directory import RunError
from vivant.runs.log import LogError
from vivant_train.accelerator import make_accelerator, move_batch, raise_together
from vivant_train.checkpoint_store import CheckpointStore, TrainingError
from vivant_train.checkpoints import TrainingState
from vivant_train.components import TrainingComponents, load_components
from vivant_train.data.dataloader import Batch, BatchSampler, DataLoader, TrainingPosition
from vivant_train.data.frame_loader import FrameLoader, count_videos
from vivant_train.evaluation import evaluate_together
from vivant_train.feature_cache import open_feature_cache
from vivant_train.interruption import finish_step_when_stopped
from vivant_train.live_model import LiveEngine
from vivant_train.memory import check_memory
from vivant_train.metrics import MetricsWriter
from vivant_train.optimization import find_resting_parts, set_learning_rates
from vivant_train.output_folder import prepare_together
from vivant_train.parallel import make_parallel_model
from vivant_train.settings import Recipe

logger = logging.getLogger("vivant")


class TrainingResult(Struct, frozen=True, kw_only=True):
    """What a training wrote."""

    model: Path
    """The weights of the last step."""
    best: Path | None
    """Those that did best on the held-out slice, where there is one."""
    steps: int
    accuracy: float | None
    finished: bool


def train(recipe: Recipe, base: Path = Path(), *, resume: bool = False) -> TrainingResult:
    """Train, or continue a training. Messages go to the logger `vivant`.

    Args:
        recipe: the model, its data and how it learns.
        base: the folder that the paths of the recipe's data are relative to.
        resume: continue from the last checkpoint in the recipe's `out`.
    """
    accelerator = make_accelerator(recipe)
    out = Path(recipe.out).expanduser()
    prepare_together(out, recipe, base, accelerator, resume=resume)
    if accelerator.device.type == "cuda":
        card = torch.cuda.get_device_properties(accelerator.device).total_memory / 1e9
        check_memory(recipe, card, accelerator.num_processes)
    components = load_components(recipe, base, out, accelerator)
    data = recipe.data
    with closing(
        FrameLoader(
            components.processor,
            data.frames,
            cache_root(),
            workers=data.workers,
            megabytes=data.memory,
            features=open_feature_cache(
                components.model.settings,
                data.frames,
                str(accelerator.mixed_precision),
                components.model.trained,
            ),
        )
    ) as frame_loader:
        return Trainer(recipe, base, out, accelerator, components, frame_loader).run(resume)


class Trainer:
    """One training at work."""

    def __init__(
        self,
        recipe: Recipe,
        base: Path,
        out: Path,
        accelerator: Any,
        components: TrainingComponents,
        frame_loader: FrameLoader,
    ) -> None:
        self.recipe, self.base, self.out = recipe, base, out
        self.accelerator, self.frame_loader = accelerator, frame_loader
        self.processor, self.base_model = components.processor, components.model
        self.tokenizer = self.processor.tokenizer
        if recipe.train.gradient_checkpointing:
            self.base_model.enable_checkpointing()
        self.parallel = make_parallel_model(self.base_model, recipe, accelerator)
        self.model = self.parallel.model
        self.examples = components.examples
        frame_loader.limit_failures(
            None if self.examples.streams else count_videos(self.examples.fixed), recipe.data.max_failed
        )
        train = recipe.train
        self.sampler = BatchSampler(
            self.examples,
            components.processor,
            seed=recipe.seed,
            steps=train.steps,
            batch_tokens=train.batch_tokens,
            row_tokens=train.row_tokens,
            per_video=train.per_video,
            packed=train.packing,
        )
        self.best: float | None = None
        self.best_step = -1
        self._stop_asked = self._stop = False
        self.store = CheckpointStore(
            out,
            recipe,
            self.parallel,
            self.base_model,
            self.tokenizer,
            is_main=accelerator.is_main_process,
        )

    # ── the loop ──

    def run(self, resume: bool) -> TrainingResult:
        """Take all remaining steps."""
        start = self._load_checkpoint() if resume else TrainingPosition()
        metrics = None
        if set(self.recipe.train.trackers) - {"tensorboard"}:
            self.accelerator.init_trackers("vivant", config={"out": str(self.out), "seed": self.recipe.seed})
        if self.accelerator.is_main_process:
            recipe, log = self.recipe, self.accelerator.log
            with self.store.writing("metrics.csv"):
                metrics = MetricsWriter(self.out, start.step, recipe.log_every, recipe.train.trackers, log)
        self._meet()
        train = self.recipe.train
        last_step = train.steps
        dataloader = DataLoader(
            self.sampler,
            self.frame_loader,
            start,
            last_step=last_step,
            pad_token_id=self.tokenizer.pad_token_id,
            rank=self.accelerator.process_index,
            world_size=self.accelerator.num_processes,
            micro_rows=train.micro_rows,
            answers_alike=train.answers_alike,
        )
        position = start
        self.model.train()
        waited = 0.0
        try:
            with finish_step_when_stopped(self.stop):
                for batch in self._receive_batches(dataloader):
                    started = time.perf_counter()
                    row = self.train_step(batch)
                    wait = dataloader.waited - waited
                    seconds = time.perf_counter() - started + wait
                    if metrics is not None:
                        with self.store.writing("metrics.csv"):
                            metrics.write_step(
                                {**row, "seconds": round(seconds, 4), "waited": round(wait, 4)}
                            )
                    waited = dataloader.waited
                    done = batch.plan.position
                    position = TrainingPosition(done.step + 1, done.epoch, done.index + 1)
                    self._after_step(position, metrics, last_step)
                    if self._stop or (self._stop_asked and self.accelerator.num_processes == 1):
                        self._stop = True
                        break
            self._meet(self._find_long_examples())
            if position.step >= last_step or self._stop:
                self._save_checkpoint(position)
            result = self._finish(position, metrics, last_step)
        finally:
            if metrics is not None:
                with self.store.writing("The last curves"):
                    metrics.close()
            if set(self.recipe.train.trackers) - {"tensorboard"}:
                self.accelerator.end_training()
        self._meet()
        return result

    def _receive_batches(self, dataloader: DataLoader) -> Iterator[Batch]:
        """Batches, until one process has none or cannot go on, or all together lost too many videos."""
        with closing(iter(dataloader)) as batches:
            while True:
                batch = failed = None
                try:
                    batch = next(batches, None)
                except VivantError as error:
                    failed = error
                self.frame_loader.share_failures(self.accelerator)
                self._meet(failed or self.frame_loader.find_excess())
                if batch is None:
                    return
                yield batch

    def _meet(self, error: VivantError | None = None) -> None:
        """Wait for all processes; end all where one has failed, or could not write."""
        raise_together(error or self.store.error, self.accelerator)

    def _after_step(self, position: TrainingPosition, metrics: MetricsWriter | None, last_step: int) -> None:
        if position.step >= last_step:
            return
        evaluation = self.recipe.evaluation
        if evaluation and evaluation.every and position.step % evaluation.every == 0:
            self._evaluate(position, metrics)
        if position.step % self.recipe.checkpoint_every == 0:
            self._meet(self._find_long_examples())
            self._save_checkpoint(position)

    def _find_long_examples(self) -> UsageError | None:
        """The error that too many examples are, which processes read ahead to at different times."""
        lost, max_failed = len(self.sampler.too_long), self.recipe.data.max_failed
        total = len(self.sampler.seen) if self.examples.streams else len(self.examples.fixed)
        if lost <= max_failed * total:
            return None
        return UsageError(
            f"{lost} of {total} examples are longer than train.row_tokens "
            f"({self.recipe.train.row_tokens}), more than the share of {max_failed:g} that data.max_failed allows; "
            f"one of them: {min(self.sampler.too_long)}"
        )

    def train_step(self, batch: Batch) -> dict[str, Any]:
        """One update. The loss is a mean over tokens of answers, or over answers, however many processes share them."""
        accelerator, plan = self.accelerator, batch.plan
        step = plan.position.step
        rank, world_size = accelerator.process_index, accelerator.num_processes
        torch.manual_seed(derive_seed(self.recipe.seed, "step", str(step), str(rank)))
        total_loss = 0.0
        items = plan.answer_count if self.recipe.train.answers_alike else plan.answer_tokens
        self.parallel.start_step(find_resting_parts(self.recipe, step))
        last_micro_step = len(batch.micro_batches) - 1
        for micro_step, micro_batch in enumerate(batch.micro_batches):
            with self.parallel.accumulate(last=micro_step == last_micro_step):
                inputs = move_batch(micro_batch, accelerator.device)
                with accelerator.autocast():
                    loss = self.model(**inputs, num_items_in_batch=items).loss
                total_loss += float(loss.detach())
                self.parallel.backward(loss * world_size)
        if world_size > 1:
            figures = [total_loss, self._stop_asked]
            sums = torch.tensor(figures, device=accelerator.device, dtype=torch.float64)
            sums = accelerator.reduce(sums, "sum")
            total_loss = float(sums[0])
            self._stop = bool(sums[1])  # all processes after the same step, whichever was asked, and when
        if not math.isfinite(total_loss):
            raise self._make_nonfinite_error(batch, "loss")
        learning_rate = set_learning_rates(self.parallel.optimizer, self.recipe, step)
        grad_norm = self.parallel.update(self.recipe.train.clip)
        # The scaler of fp16 skips steps whose gradients overflow.
        if not math.isfinite(grad_norm) and accelerator.mixed_precision != "fp16":
            raise self._make_nonfinite_error(batch, "gradient")
        return {
            "step": step,
            "epoch": plan.position.epoch,
            "loss": total_loss,
            "learning_rate": learning_rate,
            "gradient_norm": grad_norm,
            "tokens": sum(example.length for row in plan.rows for example in row),
            "answer_tokens": plan.answer_tokens,
            "skipped": len(self.frame_loader.failed),
        }

    def _make_nonfinite_error(self, batch: Batch, what: str) -> TrainingError:
        position, names = batch.plan.position, batch.plan.sample_names
        return TrainingError(
            f"The {what} of step {position.step} (epoch {position.epoch}) is not a finite number; "
            f"{self.store.describe_last()}. The step held {len(names)} samples, {', '.join(names[:3])} …; "
            "try a lower train.learning_rate"
        )

    # ── checkpoints and evaluation ──

    def _save_checkpoint(self, position: TrainingPosition) -> None:
        self.store.save(
            TrainingState(
                position=position,
                fingerprint=self.recipe.fingerprint(),
                best=self.best,
                best_step=self.best_step,
            )
        )
        self._meet()

    def _load_checkpoint(self) -> TrainingPosition:
        loaded = self.store.load()
        if loaded is None:
            self._log(f"{self.out} has no checkpoint yet: beginning anew.")
            return TrainingPosition()
        folder, state = loaded
        self.best, self.best_step = state.best, state.best_step
        self._log(f"Going on from {folder}.")
        return state.position

    def _evaluate(self, position: TrainingPosition, metrics: MetricsWriter | None) -> None:
        self.store.save_last_model()
        self._meet()
        self.base_model.eval()
        engine = LiveEngine(
            self.base_model, self.processor, self.accelerator, sharded=self.parallel.is_sharded
        )
        try:
            row = evaluate_together(self.recipe, self.base, self.out, position.step, engine, self.accelerator)
        except (RunError, LogError, OSError) as error:
            raise TrainingError(
                f"The evaluation of step {position.step} cannot be written: {error}; {self.store.describe_last()}. "
                "Make room and --resume"
            ) from error
        if metrics is not None and row is not None:
            with self.store.writing("evaluations.csv"):
                metrics.write_evaluation(row)
            if self.best is None or row["accuracy"] > self.best:
                self.best, self.best_step = row["accuracy"], position.step
                self.store.keep_best_model()
        self._meet()
        self.model.train()

    def _finish(
        self, position: TrainingPosition, metrics: MetricsWriter | None, last_step: int
    ) -> TrainingResult:
        finished = position.step >= last_step
        if self.frame_loader.failed and self.accelerator.is_main_process:
            logger.warning(
                "%d videos cannot be used; their questions are left out.", len(self.frame_loader.failed)
            )
        if finished and self.recipe.evaluation is not None:
            self._evaluate(position, metrics)
        else:
            self.store.save_last_model()
            self._meet()
        best = self.store.best_model
        return TrainingResult(
            model=self.store.last_model,
            best=best if best.is_dir() else None,
            steps=position.step,
            accuracy=self.best,
            finished=finished,
        )

    def stop(self) -> None:
        """Finish the current step, save a checkpoint, end."""
        self._log("Stopping after this step or the next; --resume goes on from it.")
        self._stop_asked = True

    def _log(self, message: str) -> None:
        if self.accelerator.is_main_process:
            logger.info("%s", message)
